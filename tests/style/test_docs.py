"""What the docs promise to hold is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PAGES = sorted(path for path in TOP.glob("*.md")) + sorted((TOP / "docs").rglob("*.md"))


def test_the_generated_pages_follow_the_code() -> None:
    done = subprocess.run(
        [sys.executable, TOP / "scripts/reference-pages", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_blocking_client_is_made_from_the_awaiting_one() -> None:
    done = subprocess.run(
        [sys.executable, TOP / "scripts/blocking-client", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_the_specification_names_tests_and_benchmarks_that_exist() -> None:
    named = re.findall(r"`((?:tests|bench)/[\w/.]+\.py)(?:::(\w+))?`", (TOP / "SPECIFICATION.md").read_text())
    assert named
    for file, test in named:
        text = (TOP / file).read_text()
        assert not test or f"def {test}" in text, f"{file} has no {test}"
