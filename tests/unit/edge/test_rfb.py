from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.edge.screens.rfb import LONGEST_MESSAGE_BYTES, Viewer

HELLO = b"RFB 003.008\n\x01\x00"
GREETED = b"RFB 003.008\n\x01\x01"  # as it goes on: shared

KEY_A = struct.pack(">BBHI", 4, 1, 0, 0x61)
KEY_A_UP = struct.pack(">BBHI", 4, 0, 0, 0x61)
QEMU_A = struct.pack(">BBHII", 255, 0, 1, 0x61, 30)
QEMU_A_UP = struct.pack(">BBHII", 255, 0, 0, 0x61, 30)
UPDATE = struct.pack(">BBHHHH", 3, 1, 0, 0, 640, 480)
PIXELS = bytes(20)
ENCODINGS = struct.pack(">BBH3i", 2, 0, 3, 16, 0, -223)
EXTENDED_MOUSE = struct.pack(">BBH2i", 2, 0, 2, 16, -316)
CONTINUOUS = struct.pack(">BBHHHH", 150, 1, 0, 0, 640, 480)
FENCE = struct.pack(">BxxxIB", 248, 1 << 31, 5) + b"fence"
CAPS = struct.pack(">BxxxiI", 6, -8, 1 << 24 | 1) + bytes(4)
ASKS = struct.pack(">BxxxiI", 6, -4, 1 << 25 | 1)
GII_DEVICE = struct.pack(">BBH", 253, 0x82, 3) + b"dev"


def pointer(buttons: int, x: int = 7, y: int = 9) -> bytes:
    return struct.pack(">BBHH", 5, buttons, x, y)


def extended_pointer(low: int, high: int, x: int = 7, y: int = 9) -> bytes:
    return struct.pack(">BBHHB", 5, low | 0x80, x, y, high)


PASSES = [PIXELS, ENCODINGS, UPDATE, CONTINUOUS, FENCE, CAPS, ASKS, GII_DEVICE]
INPUT = [
    KEY_A,
    KEY_A_UP,
    QEMU_A,
    QEMU_A_UP,
    pointer(0),
    pointer(5),
    pointer(0x80),  # a plain eighth button
    struct.pack(">BxxxI", 6, 5) + b"paste",
    struct.pack(">BxxxiI", 6, -9, 1 << 28 | 1) + b"paste",
    struct.pack(">BxxxiI", 6, -4, 1 << 27 | 1),
    struct.pack(">BxHHBx", 251, 800, 600, 1) + bytes(16),
    struct.pack(">BxHHBx", 251, 800, 600, 0),
    struct.pack(">BxBB", 250, 1, 2),
    struct.pack(">BBH", 253, 0x80, 4) + b"move",
    struct.pack("<BBH", 253, 0x00, 4) + b"move",
]


def viewer() -> Viewer:
    fresh = Viewer()
    assert fresh.take(HELLO, drives=False).passed == GREETED
    return fresh


@pytest.mark.parametrize("message", PASSES, ids=lambda message: message[:2].hex())
def test_what_is_no_input_always_passes(message: bytes) -> None:
    for drives in (False, True):
        said = viewer().take(message + UPDATE, drives=drives)
        assert (said.passed, said.has_input, said.refusal) == (message + UPDATE, False, None)


@pytest.mark.parametrize("message", INPUT, ids=lambda message: message[:2].hex())
def test_input_passes_only_while_its_link_drives(message: bytes) -> None:
    assert viewer().take(message + UPDATE, drives=False).passed == UPDATE
    said = viewer().take(message + UPDATE, drives=True)
    assert (said.passed, said.has_input, said.refusal) == (message + UPDATE, True, None)


@pytest.mark.parametrize("version", [b"RFB 003.007\n", b"RFB 003.008\n"])
def test_a_viewer_is_made_to_share(version: bytes) -> None:
    assert Viewer().take(version + b"\x01\x00", drives=False).passed == version + b"\x01\x01"


def test_in_the_oldest_version_the_viewer_chooses_no_security() -> None:
    said = Viewer().take(b"RFB 003.003\n\x00" + UPDATE, drives=False)
    assert said.passed == b"RFB 003.003\n\x01" + UPDATE


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        (b"GET / HTTP/1.1\r\n", b""),
        (b"RFB 004.000\n", b""),
        (b"RFB 003.008\n\x02", b"RFB 003.008\n"),  # a password
        (HELLO + UPDATE + b"\x07" + UPDATE, GREETED + UPDATE),  # unknown
        (HELLO + b"\xff\x01\x00\x00", GREETED),  # QEMU audio
        (HELLO + struct.pack(">BxxxI", 6, LONGEST_MESSAGE_BYTES), GREETED),
        (HELLO + struct.pack(">Bxxxi", 6, -(1 << 31)) + bytes(4), GREETED),
        (HELLO + struct.pack(">Bxxxi", 6, -3), GREETED),
        (HELLO + struct.pack(">BxxxIB", 248, 0, 65), GREETED),
    ],
)
def test_what_cannot_be_followed_is_refused_and_what_came_before_is_not(words: bytes, passed: bytes) -> None:
    said = Viewer().take(words, drives=True)
    assert said.refusal is not None and said.refusal.startswith("This viewer cannot be followed")
    assert said.passed == passed


def test_a_pointer_event_is_longer_only_for_those_who_said_they_might_send_such() -> None:
    plain = viewer()
    assert plain.take(pointer(0x81) + UPDATE, drives=True).passed == pointer(0x81) + UPDATE
    extended = viewer()
    words = EXTENDED_MOUSE + extended_pointer(1, 1) + UPDATE + pointer(0) + UPDATE
    assert extended.take(words, drives=True).passed == words
    assert extended.take(extended_pointer(0, 2) + UPDATE, drives=False).passed == UPDATE


def test_what_is_down_is_let_go_once() -> None:
    pressed = viewer()
    pressed.take(KEY_A + QEMU_A + pointer(1, 30, 40), drives=True)
    assert pressed.let_go() == KEY_A_UP + QEMU_A_UP + pointer(0, 30, 40)
    assert pressed.let_go() == b""


def test_what_was_released_or_never_passed_is_not_let_go() -> None:
    released = viewer()
    released.take(KEY_A + KEY_A_UP + QEMU_A + QEMU_A_UP + pointer(4) + pointer(0), drives=True)
    assert released.let_go() == b""
    watching = viewer()
    watching.take(KEY_A + QEMU_A + pointer(1), drives=False)
    assert watching.let_go() == b""


def test_a_key_is_let_go_whatever_it_means_by_then() -> None:
    """Shift went up in between: the same key tells of another letter."""
    pressed = viewer()
    pressed.take(struct.pack(">BBHII", 255, 0, 1, 0x41, 30) + QEMU_A_UP, drives=True)
    assert pressed.let_go() == b""


def test_extended_buttons_are_let_go_too() -> None:
    pressed = viewer()
    pressed.take(EXTENDED_MOUSE + extended_pointer(0, 1, 3, 4), drives=True)
    assert pressed.let_go() == pointer(0, 3, 4)


@dataclass
class Conversation:
    words: bytes
    cuts: list[int]

    def pieces(self) -> list[bytes]:
        edges = [0, *sorted(cut % (len(self.words) + 1) for cut in self.cuts), len(self.words)]
        return [self.words[start:end] for start, end in pairwise(edges)]


MESSAGES = st.sampled_from([*PASSES, *INPUT, EXTENDED_MOUSE, b"\x07", b"\xff\x01", b"RFB", b"\x06\x00"])
TALK = st.builds(
    lambda hello, messages, tail: hello + b"".join(messages) + tail,
    st.sampled_from([HELLO, b"RFB 003.003\n\x00", b"RFB 003.008\n\x02", b"RFB 003.0"]),
    st.lists(MESSAGES, max_size=12),
    st.binary(max_size=6),
)


@given(st.builds(Conversation, TALK, st.lists(st.integers(0, 10_000), max_size=12)), st.booleans())
def test_any_split_of_the_bytes_says_the_same(talk: Conversation, drives: bool) -> None:
    whole, cut = Viewer(), Viewer()
    expected = whole.take(talk.words, drives=drives)
    passed, has_input, refusal = b"", False, None
    for piece in talk.pieces():
        said = cut.take(piece, drives=drives)
        passed += said.passed
        has_input |= said.has_input
        if said.refusal is not None:
            refusal = said.refusal
            break
    assert (passed, has_input, refusal) == (expected.passed, expected.has_input, expected.refusal)
    assert cut.let_go() == whole.let_go()


@given(st.binary(max_size=300), st.booleans())
def test_no_bytes_break_it_and_it_invents_none(noise: bytes, drives: bool) -> None:
    said = viewer().take(noise, drives=drives)
    assert len(said.passed) <= len(noise)
    if drives:
        assert noise.startswith(said.passed)
