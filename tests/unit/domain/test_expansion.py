"""Variables are replaced as Docker replaces them. Every row was asked of BuildKit's own word processing."""

from __future__ import annotations

import contextlib
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain.expansion import LONGEST, BadWord, RequiredVariable, expand, expand_document, expand_words, literal

VARIABLES = {
    "A": "foo",
    "EMPTY": "",
    "FILE": "a.tar.gz",
    "DIR": "/usr/lib/a/b",
    "SPACED": "x y  z",
    "STARS": "*b?",
    "LINES": "l1\nl2b",
    "ä": "umlaut",
    "1": "one",
    "12": "twelve",
}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("plain", "plain"),
        ("$A", "foo"),
        ("${A}", "foo"),
        ("$A$A", "foofoo"),
        ("$A.txt", "foo.txt"),
        ("$A_x", ""),
        ("${A}_x", "foo_x"),
        ("$MISSING", ""),
        ("[$MISSING]", "[]"),
        ("$ä", "umlaut"),
        ("$1", "one"),
        ("$12x", "twelvex"),
        ("$@$*$?", ""),
        ("$", "$"),
        ("a$", "a$"),
        ("$.", "$."),
        ("$$A", "A"),
        # defaults and alternatives
        ("${A:-d}", "foo"),
        ("${EMPTY:-d}", "d"),
        ("${EMPTY-d}", ""),
        ("${MISSING-d}", "d"),
        ("${MISSING:-}", ""),
        ("${MISSING:-$A}", "foo"),
        ("${MISSING:-${ALSO:-deep}}", "deep"),
        ("${MISSING:-'a b'}", "a b"),
        ("${A:+x}", "x"),
        ("${EMPTY:+x}", ""),
        ("${EMPTY+x}", "x"),
        ("${MISSING+x}", ""),
        ("${A:?never}", "foo"),
        ("${EMPTY?never}", ""),
        # trimmed
        ("${FILE%.*}", "a.tar"),
        ("${FILE%%.*}", "a"),
        ("${FILE#*.}", "tar.gz"),
        ("${FILE##*.}", "gz"),
        ("${DIR##*/}", "b"),
        ("${DIR%/*}", "/usr/lib/a"),
        ("${DIR%/?}", "/usr/lib/a"),
        ("${FILE%nothing}", "a.tar.gz"),
        ("${STARS#\\*}", "b?"),
        ("${STARS%\\?}", "*b"),
        ("${LINES#*}", "l1\nl2b"),
        ("${LINES##*}", "\nl2b"),
        # replaced
        ("${FILE/a/o}", "o.tar.gz"),
        ("${FILE//a/o}", "o.tor.gz"),
        ("${FILE//./-}", "a-tar-gz"),
        ("${FILE//a/}", ".tr.gz"),
        ("${DIR//\\//-}", "-usr-lib-a-b"),
        ("${FILE/*/x}", "x"),
        ("${A//o*/x}", "fx"),
        ("${MISSING//a/b}", ""),
        # quotes and escapes
        ("'$A'", "$A"),
        ('"$A"', "foo"),
        ("\\$A", "$A"),
        ("\\${A}", "${A}"),
        ("a\\ b", "a b"),
        ("a\\\\b", "a\\b"),
        ('"it\'s $A"', "it's foo"),
        ('"a\\"b"', 'a"b'),
        ('"a\\nb"', "a\\nb"),
        ('"a\\$A"', "a$A"),
        ("'a\\b'", "a\\b"),
        ("''", ""),
        ("end\\", "end"),
        ("<<EOF", "<<EOF"),
    ],
)
def test_a_word_expands_as_in_docker(word: str, expected: str) -> None:
    assert expand(word, VARIABLES) == expected


@pytest.mark.parametrize(
    "word",
    [
        "${",
        "${}",
        "${A",
        "${:-x}",
        "${{A}}",
        "${A:-x",
        "${A!}",
        "${A:#x}",
        "${A/x",
        "${A/x/y",
        "'open",
        '"open',
        "${A#\\z}",
        "${.}",
    ],
)
def test_what_cannot_be_read_is_said(word: str) -> None:
    with pytest.raises(BadWord, match=re.escape(word)):
        expand(word, VARIABLES)


@pytest.mark.parametrize("word", ["${MISSING?}", "${MISSING:?say it}", "${EMPTY:?}"])
def test_a_variable_can_be_required(word: str) -> None:
    with pytest.raises(RequiredVariable):
        expand(word, VARIABLES)


def test_the_message_of_a_required_variable_is_told() -> None:
    with pytest.raises(RequiredVariable, match=r"^MISSING: say which$"):
        expand("${MISSING:?say which}", VARIABLES)


def test_another_character_may_escape() -> None:
    assert expand("C:\\dir\\`$A `\\$A", VARIABLES, escape="`") == "C:\\dir\\$A \\foo"


def test_words_are_split_where_nothing_is_quoted() -> None:
    assert expand_words('$SPACED "p q" r\\ s', VARIABLES) == ("x", "y", "z", "p q", "r s")
    assert expand_words("$MISSING", VARIABLES) == ()


def test_a_document_keeps_its_quotes() -> None:
    assert expand_document("say \"$A\" '$A' \\$A\n", VARIABLES, longest=LONGEST) == "say \"foo\" 'foo' $A\n"


@given(st.text())
def test_a_literal_is_itself(text: str) -> None:
    assert expand(literal(text), {}) == text
    assert expand(literal(text), {}, escape="`") == text


@given(st.text(alphabet="ab/.*?\\\"'${}#%:-+ A"))
def test_any_word_gives_text_or_an_error_of_ours(word: str) -> None:
    with contextlib.suppress(BadWord, RequiredVariable):
        assert isinstance(expand(word, VARIABLES), str)


@given(st.text(alphabet="ab.", max_size=12), st.text(alphabet="ab.", min_size=1, max_size=3))
def test_what_is_trimmed_and_what_is_left_make_the_value(value: str, end: str) -> None:
    left = expand("${V%$END}", {"V": value, "END": end})
    assert left + end == value if value.endswith(end) else left == value


def test_no_word_grows_without_end() -> None:
    variables = {"A": "a" * 1000}
    with pytest.raises(BadWord, match="grows beyond"):
        expand("$A" * 200, variables)
    with pytest.raises(BadWord, match="grows beyond"):
        expand("${A//a/$A}", variables)


def test_substitutions_are_not_nested_without_end() -> None:
    with pytest.raises(BadWord, match="inside of each other"):
        expand("${X:-" * 5000, {})


def test_no_pattern_takes_long() -> None:
    """A stranger's definition is read by the server: backtracking would let it stand still for hours."""
    variables = {"A": "a" * 100_000}
    began = time.process_time()
    pattern = "*a" * 30 + "b"
    for word in (f"${{A#{pattern}}}", f"${{A%%{pattern}}}", f"${{A//{pattern}/x}}", f"${{A##{'a*' * 30}b}}"):
        assert expand(word, variables) == variables["A"]
    assert time.process_time() - began < 2
