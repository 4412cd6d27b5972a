from __future__ import annotations

from pathlib import Path

from roost.setup.carried import carried_pages, carried_templates, page_sources
from roost.setup.web import find_web


def test_a_clone_has_folders_at_its_top(tmp_path: Path) -> None:
    package = tmp_path / "src" / "roost"
    assert carried_templates(package, tmp_path) == tmp_path / "templates"
    assert carried_pages(package) is None
    assert page_sources(tmp_path) == tmp_path / "web"


def test_a_wheel_has_them_in_the_package(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "roost"
    (package / "templates").mkdir(parents=True)
    (package / "pages" / "0123abcd").mkdir(parents=True)
    assert carried_templates(package, tmp_path) == package / "templates"
    assert carried_pages(package) is None, "without its first page it is not whole"
    (package / "pages" / "0123abcd" / "index.html").write_text("<p>")
    assert carried_pages(package) == package / "pages" / "0123abcd"


def test_these_tests_run_in_a_clone(tmp_path: Path) -> None:
    assert (carried_templates() / "base" / "template.toml").is_file()
    assert (page_sources() / "package-lock.json").is_file()
    assert find_web(tmp_path, page_sources()) == find_web(tmp_path)
