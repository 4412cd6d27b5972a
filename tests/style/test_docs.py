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


@pytest.mark.parametrize("page", ["SPECIFICATION.md", "SECURITY.md"])
def test_promises_name_tests_and_benchmarks_that_exist(page: str) -> None:
    named = re.findall(r"`((?:tests|bench)/[\w/.]+\.py)(?:::(\w+))?`", (TOP / page).read_text())
    assert named
    for file, test in named:
        text = (TOP / file).read_text()
        assert not test or f"def {test}" in text, f"{file} has no {test}"


def test_every_promise_of_security_names_a_test() -> None:
    text = (TOP / "SECURITY.md").read_text()
    rows = text.partition("| promise | tests |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(rows) > 10
    assert [row for row in rows if "`tests/" not in row] == []


def test_attacks_are_named_as_promises() -> None:
    """Whoever adds an attack says what it shows."""
    text = (TOP / "SECURITY.md").read_text()
    attacks = {path.relative_to(TOP).as_posix() for path in (TOP / "tests/security").glob("test_*.py")}
    assert {attack for attack in attacks if f"`{attack}" not in text} == set()
