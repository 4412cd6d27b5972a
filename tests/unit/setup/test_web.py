from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from roost.domain.errors import Fault
from roost.setup.carried import page_sources
from roost.setup.commands import Commands
from roost.setup.web import digest_of_sources, ensure_web, find_node, find_web, node_version

# Plays npm: `ci` says what it was given, `run build` makes pages of the sources that are there.
NPM = """#!/bin/sh
[ "$1" = --prefix ] || exit 9
cd "$2" && shift 2
echo "$*" >> "{log}"
case "$1" in
ci) [ -f package-lock.json ] && mkdir node_modules ;;
run) {body} ;;
esac
"""
BUILD = (
    "mkdir -p dist/assets && cp index.html dist/ && cat src/*.ts > dist/assets/index-1.js && printf x > dist/assets/font-1.woff2"
)


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tools"
    script(folder / "node", "#!/bin/sh\necho v22.1.0\n")
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


def npm(tools: Path, body: str = BUILD) -> Path:
    log = tools / "npm.log"
    script(tools / "npm", NPM.format(log=log, body=body))
    return log


@pytest.fixture
def source(tmp_path: Path) -> Path:
    top = tmp_path / "web"
    for name, text in {"index.html": "<p>", "package-lock.json": "{}", "src/main.ts": "main()\n"}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "node_modules").mkdir()
    (top / "node_modules" / "large").write_text("not copied")
    return top


def test_it_is_built_once_for_each_state_of_the_sources(tools: Path, source: Path, tmp_path: Path) -> None:
    log, cache = npm(tools), tmp_path / "cache"
    made = ensure_web(cache, Commands(), source=source)
    assert made == ensure_web(cache, Commands(), source=source) == find_web(cache, source)
    assert (made.path / "assets" / "index-1.js").read_text() == "main()\n"
    assert log.read_text().splitlines() == ["ci --omit=dev --ignore-scripts --no-audit --no-fund", "run build"]
    assert not any((cache / "work").iterdir()), "nothing of the work is left"

    (source / "src" / "main.ts").write_text("changed()\n")
    assert find_web(cache, source) is None
    again = ensure_web(cache, Commands(), source=source)
    assert again.path != made.path
    assert made.path.exists(), "a server may still serve the one before"


def test_what_browsers_can_take_compressed_is_there_compressed(tools: Path, source: Path, tmp_path: Path) -> None:
    npm(tools)
    assets = ensure_web(tmp_path / "cache", Commands(), source=source).path / "assets"
    assert gzip.decompress((assets / "index-1.js.gz").read_bytes()) == b"main()\n"
    assert not (assets / "font-1.woff2.gz").exists()


def test_a_half_made_one_counts_as_none(tools: Path, source: Path, tmp_path: Path) -> None:
    npm(tools)
    cache = tmp_path / "cache"
    made = ensure_web(cache, Commands(), source=source)
    (made.path.parent / "web.json").unlink()
    assert find_web(cache, source) is None
    assert ensure_web(cache, Commands(), source=source) == made


@pytest.mark.parametrize("body", ["echo cannot reach the registry; exit 3", "true"], ids=["npm fails", "npm makes nothing"])
def test_a_failed_build_says_why_and_installs_nothing(body: str, tools: Path, source: Path, tmp_path: Path) -> None:
    npm(tools, body)
    with pytest.raises(Fault) as failed:
        ensure_web(tmp_path / "cache", Commands(), source=source)
    assert failed.value.code == "web_build_failed"
    assert ("cannot reach the registry" in failed.value.message) == ("exit 3" in body)
    assert find_web(tmp_path / "cache", source) is None
    npm(tools)
    assert ensure_web(tmp_path / "cache", Commands(), source=source).path.is_dir()


def test_what_a_developer_built_is_used_until_the_sources_change(tools: Path, source: Path, tmp_path: Path) -> None:
    log = npm(tools)
    (source / "dist").mkdir()
    (source / "dist" / "index.html").write_text("built")
    assert ensure_web(tmp_path / "cache", Commands(), source=source).path == source / "dist"
    assert not log.exists()
    later = (source / "dist" / "index.html").stat().st_mtime + 1
    os.utime(source / "src" / "main.ts", (later, later))
    assert ensure_web(tmp_path / "cache", Commands(), source=source).path != source / "dist"


def test_the_digest_is_of_names_and_contents_of_the_sources_alone(source: Path) -> None:
    first = digest_of_sources(source)
    (source / "node_modules" / "large").write_text("other")
    (source / "dist").mkdir()
    (source / "dist" / "index.html").write_text("built")
    os.utime(source / "src" / "main.ts", (1, 1))
    assert digest_of_sources(source) == first
    (source / "src" / "main.ts").rename(source / "src" / "other.ts")
    assert digest_of_sources(source) != first


def test_an_old_node_is_passed_over(tools: Path) -> None:
    npm(tools)
    found = find_node(Commands())
    assert found is not None
    assert found.program == tools / "node"
    script(tools / "node", "#!/bin/sh\necho v18.20.1\n")
    other = find_node(Commands())
    # The one of PyPI's wheel, if Python has it here.
    assert other is None or (other.program != tools / "node" and other.npm[0] == str(other.program))


@pytest.mark.parametrize(("text", "version"), [("v20.19.0\n", (20, 19, 0)), ("v24.1.2-nightly", (24, 1, 2)), ("node?", ())])
def test_versions_of_node(text: str, version: tuple[int, ...]) -> None:
    assert node_version(text) == version


def test_the_sources_name_no_registry() -> None:
    lock = (page_sources() / "package-lock.json").read_text()
    assert '"resolved"' not in lock, "the lock names a registry: web/.npmrc keeps it out (omit-lockfile-registry-resolved)"
