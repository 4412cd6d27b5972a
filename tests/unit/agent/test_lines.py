from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost_agent.status.lines import LINE_CHARACTERS, last_lines


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (b"", []),
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\r\ntwo\r\n\r\n", ["one", "two"]),
        (b"one\n\n\nfour", ["one", "", "", "four"]),
        (b"\x1b[1;32mgreen\x1b[0m and \x1b[38;5;200mpink\x1b[m\n", ["green and pink"]),
        (b" 10%\r 50%\r100%\n", ["100%"]),
        (b"downloading\rdone\x1b[K\n", ["doneloading"]),
        (b"abc\x08\x08XY\n", ["aXY"]),
        (b"\x08\x08odd\n", ["odd"]),
        (b"\x1b]0;user@host: ~\x07$ ls\r\n", ["$ ls"]),
        (b"\x1b]8;;http://a.b/\x1b\\\\link\x1b]8;;\x1b\\\\ after\n".replace(b"\\\\", b"\\"), ["link after"]),
        (b"\x1b[?2004h$ \x1b[?2004l\n", ["$"]),
        (b"before\x1b[2J\x1b[Hafter\n", ["after"]),
        (b"before\x1bcafter\n", ["after"]),
        (b"frame one\x1b[H\x1b[Jframe two\x1b[H", ["frame two"]),
        (b"\x1b[5;10Hhere\x1b[6;1Hthere", ["", "here", "there"]),
        (b"a\x1b[3Cb\n", ["a   b"]),
        (b"$ vim\r\n\x1b[?1049h~ ~ ~\x1b[?1049l$ done\r\n", ["$ vim", "$ done"]),
        (b"old\n\x1b[?1049hin the pager\n", ["in the pager"]),
        (b"~ ~\x1b[?1049l$ \n", ["$"]),
        (b"tab\there\n", ["tab    here"]),
        ("żółć 漢字 🦜\n".encode(), ["żółć 漢字 🦜"]),
        (b"\xff\xfe broken\n", ["\ufffd\ufffd broken"]),
        (b"bell\x07 nul\x00\n", ["bell nul"]),
        (b"cut off\x1b[3", ["cut off"]),
        (b"cut off\x1b", ["cut off"]),
    ],
)
def test_lines_as_a_person_would_read_them(output: bytes, lines: list[str]) -> None:
    assert last_lines(output, 10) == lines


def test_only_the_last_lines_and_none_of_them_too_long() -> None:
    assert last_lines(b"1\n2\n3\n", 2) == ["2", "3"]
    assert last_lines(b"x" * 5000, 1) == ["x" * LINE_CHARACTERS]
    assert last_lines(b"f a line\nwhole\n", 5, whole=False) == ["whole"]
    assert last_lines(b"all that there is", 5, whole=False) == ["all that there is"]


@given(st.binary(max_size=400), st.integers(1, 20))
def test_no_output_is_too_strange(output: bytes, count: int) -> None:
    lines = last_lines(output, count)
    assert len(lines) <= count
    assert all(len(line) <= LINE_CHARACTERS and "\x1b" not in line for line in lines)


@given(st.text(alphabet="ab\x1b[]?;0129hlmHJKc\r\n\x08\x07\\\\", max_size=200))
def test_no_escape_is_left(text: str) -> None:
    for line in last_lines(text.encode(), 50):
        assert not any(character < " " or character == "\x7f" for character in line), line
