"""Patterns of paths. Every row was asked of Docker's own matchers."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain.patterns import BadPathPattern, PathFilter, compile_name, match_deep, match_path, read_ignore_file


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("a.go", "a.go", True),
        ("*.go", "a.go", True),
        ("*.go", "x/a.go", False),
        ("*/a.go", "x/a.go", True),
        ("*", ".hidden", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[a-c]x", "bx", True),
        ("[^a-c]x", "bx", False),
        ("[^a-c]x", "dx", True),
        ("[!a]x", "!x", True),
        ("[!a]x", "bx", False),
        ("\\*", "*", True),
        ("\\*", "a", False),
        ("a\\?", "a?", True),
        ("[a\\]]", "]", True),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("*é*", "café!", True),
        ("", "", True),
        ("**", "a/b", False),
    ],
)
def test_sources_are_matched_as_by_go(pattern: str, path: str, fits: bool) -> None:
    assert match_path(pattern, path) is fits


@pytest.mark.parametrize("pattern", ["[a", "[", "[]", "[a-]", "a\\", "[\\"])
def test_a_pattern_that_cannot_be_read_is_said(pattern: str) -> None:
    with pytest.raises(BadPathPattern):
        match_path(pattern, "a")


def test_no_name_takes_long_to_match() -> None:
    began = time.process_time()
    assert not compile_name("*a" * 60 + "b").fullmatch("a" * 4000)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("pattern", "path", "depth"),
    [
        ("a", "a", 1),
        ("a", "a/b/c", 1),
        ("a/b", "a", None),
        ("*/b", "a/b/c", 2),
        ("**/b", "b", 1),
        ("**/b", "x/y/b/z", 3),
        ("**", "a/b", 0),
        ("a/**", "a/b", 1),
        ("a/**/b", "a/b", 2),
        ("a/**/b", "a/x/y/b/z", 4),
        ("a/**/**/b", "a/x/c", None),
        ("**/*.txt", "x/y/a.txt", 3),
        ("\\*", "*", 1),
        ("\\*", "a", None),
    ],
)
def test_a_pattern_stands_for_a_path_or_a_directory_above_it(pattern: str, path: str, depth: int | None) -> None:
    assert match_deep(pattern.split("/"), path.split("/")) == depth


def test_no_number_of_double_stars_takes_long() -> None:
    began = time.process_time()
    assert match_deep(["**"] * 200 + ["x"], ["a"] * 200) is None
    assert match_deep([*["**", "a"] * 100, "x"], ["a"] * 200) is None
    assert time.process_time() - began < 2


@given(st.text(alphabet="ab.", min_size=1), st.integers(0, 5))
def test_a_star_takes_any_part_of_a_name(name: str, at: int) -> None:
    assert match_path(name[:at] + "*", name) and match_path("*" + name[at:], name)


@pytest.mark.parametrize(
    ("patterns", "left_out", "kept"),
    [
        ("node_modules", ["node_modules", "node_modules/a/b"], ["x/node_modules", "node_modules2"]),
        ("**/node_modules", ["node_modules/a", "x/y/node_modules/a"], ["x/node_modules2"]),
        ("/dist/", ["dist", "dist/a"], ["x/dist"]),
        ("*.md\n!README.md", ["a.md"], ["README.md", "x/a.md"]),
        ("!README.md\n*.md", ["README.md"], []),
        ("**/*.pyc", ["a.pyc", "x/y/a.pyc"], ["a.py"]),
        ("*\n!src", ["a", "b/c"], ["src", "src/x/y"]),
        ("*\n!src/keep", ["src/other", "a"], ["src/keep", "src/keep/a"]),
        ("a\n!a/b/c", ["a", "a/b", "a/b/d"], ["a/b/c"]),
        ("a/b\n!a", ["a/b"], ["a", "a/c"]),
        ("a/*\n!a/b\na/b/*.txt", ["a/c", "a/b/x.txt"], ["a/b", "a/b/x.py"]),
        ("a/**", ["a/b", "a/b/c"], ["a"]),
        ("a/**/z", ["a/z", "a/b/c/z"], ["a", "z"]),
        ("**", ["a", "a/b"], []),
        ("**.go", ["a.go", "x/a.go"], ["a.py"]),
        ("temp?", ["tempa", "tempb/x"], ["temp"]),
        ("# comment\n\n  a  \n", ["a"], ["# comment"]),
        (" # not a comment", ["# not a comment"], ["a"]),
        ("./a/../b", ["b"], ["a"]),
        ("! a\na", ["a"], []),
        ("\ufeffa", ["a"], []),
        ("a\r\nb\r\n", ["a", "b"], ["c"]),
        ("a\\*", ["a*"], ["ab"]),
        ("", [], ["a"]),
    ],
)
def test_dockerignore(patterns: str, left_out: list[str], kept: list[str]) -> None:
    chosen = PathFilter(read_ignore_file(patterns))
    assert [path for path in (*left_out, *kept) if chosen.excludes(path)] == left_out


def test_a_filter_of_a_stranger_takes_no_longer_than_ours() -> None:
    began = time.process_time()
    for pattern in ("**/" * 60 + "x", "**/a/" * 60 + "x", "*a" * 60 + "b", "a*/" * 60 + "x"):
        assert not PathFilter([pattern]).excludes("/".join(["a" * 20] * 100))
    assert time.process_time() - began < 2
    with pytest.raises(BadPathPattern, match="too many stars"):
        PathFilter(["a**b**c**d**e"])


def test_an_exception_that_names_nothing_is_said() -> None:
    with pytest.raises(BadPathPattern, match="names nothing"):
        PathFilter(["!"])


def test_a_directory_is_skipped_where_no_exception_can_be() -> None:
    assert not PathFilter(["*", "!src/keep"]).may_except_below("node_modules")
    assert PathFilter(["*", "!src/keep"]).may_except_below("src")
    assert PathFilter(["*", "!**/keep"]).may_except_below("node_modules")
