from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain.errors import Invalid
from roost.domain.hosts import best_match, host_name, host_pattern, matches


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("api.example.com", "api.example.com", True),
        ("api.example.com", "x.api.example.com", False),
        ("api.example.com", "evilapi.example.com", False),
        ("*.example.com", "a.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "evilexample.com", False),
        ("*.example.com", ".example.com", False),
        ("*", "anything.at.all", True),
    ],
)
def test_a_wildcard_covers_what_is_below_it(pattern: str, name: str, expected: bool) -> None:
    assert matches(pattern, name) is expected


@pytest.mark.parametrize("text", ["API.Example.com", "api.example.com."])
def test_names_have_one_form(text: str) -> None:
    assert host_name(text) == "api.example.com"
    assert host_pattern("allow", f"*.{text}") == "*.api.example.com"


@pytest.mark.parametrize(
    "text",
    ["", ".", "*", "*.", "a..b", "-a.example", "a b", "a/b", "203.0.113.7", "::1", "a" * 64, "ä.example", "*.*.example", "a.*.b"],
)
def test_other_texts_are_none(text: str) -> None:
    assert host_name(text) is None
    if text != "*":
        with pytest.raises(Invalid, match="neither"):
            host_pattern("allow", text)


@given(st.text(max_size=40))
def test_a_name_is_its_own_form(text: str) -> None:
    name = host_name(text)
    assert name is None or (host_name(name) == name and name == name.lower() and name.isascii())


def test_the_narrowest_pattern_counts() -> None:
    patterns = {"*": 0, "*.example.com": 1, "*.api.example.com": 2, "x.api.example.com": 3}
    assert [best_match(patterns, name) for name in ("a.example", "b.example.com", "y.api.example.com", "x.api.example.com")] == [
        0,
        1,
        2,
        3,
    ]
    assert best_match({"a.example": 1}, "b.example") is None
