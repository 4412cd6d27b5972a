"""Instructions, lines, heredocs and directives, by Docker's own parser."""

from __future__ import annotations

import pytest

from roost.dockerfile.reading import LONGEST_BYTES, Document, read
from roost.domain.build import Place
from roost.domain.build_errors import StepInvalid, StepUnsupported


def test_instructions_have_their_first_line_and_text() -> None:
    reading = read("# a comment\nFROM debian\n\nrun echo a \\\n  # inside\n  && echo b\nRUN true\n")
    assert [(each.name, each.words, each.place) for each in reading.instructions] == [
        ("FROM", ("debian",), Place(2, "FROM debian")),
        ("RUN", ("echo a   && echo b",), Place(4, "run echo a   && echo b")),
        ("RUN", ("true",), Place(7, "RUN true")),
    ]


def test_windows_lines_and_a_byte_order_mark_are_read() -> None:
    reading = read("\ufeffFROM debian\r\nRUN echo a \\\r\n  b\r\n")
    assert [each.words for each in reading.instructions] == [("debian",), ("echo a   b",)]


def test_the_json_form_is_told_apart() -> None:
    one, two = read('RUN ["a", "b c"]\nRUN ["a", b]\n').instructions
    assert (one.is_json, one.words) == (True, ("a", "b c"))
    assert (two.is_json, two.words) == (False, ('["a", b]',))


@pytest.mark.parametrize(
    ("word", "text", "expected"),
    [
        ("<<EOF", "a $B\nEOF\n", Document("EOF", "a $B\n")),
        ("<<'EOF'", "a\nEOF\n", Document("EOF", "a\n", expands=False)),
        ('<<"EOF"', "a\nEOF\n", Document("EOF", "a\n", expands=False)),
        ("<<-EOF", "\t\ta\n\tEOF\n", Document("EOF", "a\n")),
        ("<<EOF", "\ta\nEOF\n", Document("EOF", "\ta\n")),
    ],
)
def test_heredocs(word: str, text: str, expected: Document) -> None:
    (instruction,) = read(f"COPY {word} /x\n{text}").instructions
    assert instruction.document(word) == expected
    assert instruction.document("/x") is None


def test_several_heredocs_are_told_apart() -> None:
    (instruction,) = read("COPY <<a <<'b' /x/\n1\na\n2\nb\n").instructions
    assert [instruction.document(word) for word in instruction.words] == [
        Document("a", "1\n"),
        Document("b", "2\n", expands=False),
        None,
    ]


# Directives


@pytest.mark.parametrize(
    ("text", "escape"),
    [
        ("FROM a", "\\"),
        ("# escape=`\nFROM a", "`"),
        ("#escape = `\r\nFROM a", "`"),
        ("# syntax=docker/dockerfile:1\n# escape=`\nFROM a", "`"),
        ("#!/usr/bin/env tool\n# escape=`\nFROM a", "`"),
        ("# a comment\n# escape=`\nFROM a", "\\"),
        ("\n# escape=`\nFROM a", "\\"),
        ("FROM a\n# escape=`\n", "\\"),
        ("# unknown=1\n# escape=`\nFROM a", "\\"),
    ],
)
def test_the_escape_directive_stands_first(text: str, escape: str) -> None:
    assert read(text).escape == escape


@pytest.mark.parametrize(
    "syntax",
    [
        "docker/dockerfile:1",
        "docker/dockerfile",
        "docker.io/docker/dockerfile:1.7-labs",
        f"docker/dockerfile:1@sha256:{'a' * 64}",
    ],
)
def test_dockers_own_language_is_read(syntax: str) -> None:
    assert read(f"# syntax={syntax}\nFROM a").notes == ()


def test_another_language_is_refused() -> None:
    with pytest.raises(StepUnsupported, match="Line 1, `# syntax=example/other:1`: the language of 'example/other:1'"):
        read("# syntax=example/other:1\nFROM a")


def test_lint_rules_are_said_to_have_no_effect() -> None:
    assert read("# check=skip=all\nFROM a").notes == ("`# check=` has no effect: Docker's lint rules are not run.",)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("# escape=x\nFROM a", 1, r"the escape character is \\ or `"),
        ("# escape=`\n# escape=`\nFROM a", 2, "a second"),
        ("FROM a\nRUN true\n\nENV x\nRUN true\n", 4, "ENV must have two arguments"),
        ("FROM a\nENV a=1 b\n", 2, 'can\'t find = in "b"'),
        ("FROM a\nRUN cat <<EOF\nx\ny\n", 2, "the heredoc has no end"),
        ("FROM a\nRUN <<A <<B\nx\nA\n", 2, "the heredoc has no end"),
        ("", 1, "Begin with FROM"),
        ("# only a comment\n", 1, "Begin with FROM"),
        ("FROM a\nRUN a\0b\n", 2, "null character"),
    ],
)
def test_a_syntax_error_names_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(StepInvalid, match=says) as caught:
        read(text)
    assert caught.value.facts["line"] == line


def test_a_file_has_a_limit() -> None:
    with pytest.raises(StepInvalid, match="larger than 1024 KiB"):
        read("FROM a\n" + "# x\n" * (LONGEST_BYTES // 4))
