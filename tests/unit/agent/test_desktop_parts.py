"""The parts of the desktop's companion that need neither X nor a picture."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost_agent.desktop.companion.chords import read_chords, read_key
from roost_agent.desktop.companion.refusals import Refusal
from roost_agent.desktop.companion.scale import Size, fitting_scale, region_within, scaled_size, to_picture, to_screen
from roost_agent.desktop.companion.strokes import (
    Stroke,
    character_of,
    keys_of_layout,
    keysym_of,
    keysyms_of,
    plan,
    runs,
    spare_keycodes,
)
from roost_agent.desktop.wire import Message, NotAMessage, Unpacker, pack

SIZES = st.builds(Size, st.integers(64, 5000), st.integers(64, 5000))
SCALES = st.floats(0.05, 1.0)
NAMES = {
    "Control_L": 0xFFE3,
    "Shift_L": 0xFFE1,
    "Alt_L": 0xFFE9,
    "Super_L": 0xFFEB,
    "Return": 0xFF0D,
    "Page_Down": 0xFF56,
    "F4": 0xFFC1,
    "Escape": 0xFF1B,
    "plus": 0x2B,
}


def named(name: str) -> int:
    return NAMES.get(name, 0)


# Messages


@given(st.lists(st.tuples(st.dictionaries(st.text(), st.integers() | st.text()), st.binary(max_size=300))), st.data())
def test_messages_come_out_as_they_went_in_however_they_are_split(
    sent: list[tuple[dict[str, object], bytes]], data: st.DataObject
) -> None:
    raw = b"".join(pack(fields, content) for fields, content in sent)
    unpacker, received = Unpacker(), list[Message]()
    while raw:
        size = data.draw(st.integers(1, len(raw)))
        received += unpacker.feed(raw[:size])
        raw = raw[size:]
    assert received == [Message(fields, content) for fields, content in sent]


@pytest.mark.parametrize("raw", [b"\xff" * 8, b"\0\0\0\x02\0\0\0\0[]", b"\0\0\0\x02\0\0\0\0{!", b"GET / HTTP/1.1\r\n\r\n"])
def test_what_is_no_message_is_told(raw: bytes) -> None:
    with pytest.raises(NotAMessage):
        Unpacker().feed(raw)


# Scale


@given(SIZES, SCALES, st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True))
def test_a_point_of_a_picture_is_shown_where_it_was_hit(screen: Size, scale: float, across: float, down: float) -> None:
    picture = scaled_size(screen, scale)
    point = (int(across * picture.width), int(down * picture.height))
    hit = to_screen(point, scale, screen)
    assert 0 <= hit[0] < screen.width
    assert 0 <= hit[1] < screen.height
    assert to_picture(hit, scale, screen) == point


@given(SIZES, SCALES)
def test_a_point_outside_of_a_picture_is_refused(screen: Size, scale: float) -> None:
    picture = scaled_size(screen, scale)
    for point in ((picture.width, 0), (0, picture.height), (-1, 0), (0, -1)):
        with pytest.raises(Refusal) as caught:
            to_screen(point, scale, screen)
        assert (caught.value.facts["width"], caught.value.facts["height"]) == picture


@given(SIZES, SCALES, SIZES)
def test_a_picture_is_never_larger_than_wanted(screen: Size, scale: float, largest: Size) -> None:
    found = fitting_scale(screen, scale, largest)
    picture = scaled_size(screen, found)
    assert found <= scale
    assert picture.width <= largest.width
    assert picture.height <= largest.height


def test_without_a_scale_points_are_the_screens() -> None:
    assert to_screen((12.9, 7), 1, Size(1280, 800)) == (12, 7)


def test_a_region_lies_on_the_screen_or_is_refused() -> None:
    screen = Size(100, 50)
    assert region_within(None, screen) == (0, 0, 100, 50)
    assert region_within([90, 40, 10, 10], screen) == (90, 40, 10, 10)
    for region in ([90, 40, 11, 10], [-1, 0, 5, 5], [0, 0, 0, 5], [0, 45, 5, 6]):
        with pytest.raises(Refusal, match="100 × 50"):
            region_within(region, screen)


# Chords


@pytest.mark.parametrize(
    ("text", "chords"),
    [
        ("ctrl+shift+t", [(0xFFE3, 0xFFE1, ord("t"))]),
        ("CTRL+C", [(0xFFE3, ord("c"))]),
        ("shift+C", [(0xFFE1, ord("C"))]),
        ("C", [(ord("C"),)]),
        ("cmd+enter", [(0xFFEB, 0xFF0D)]),
        ("Return", [(0xFF0D,)]),
        ("RETURN", [(0xFF0D,)]),
        ("pgdn", [(0xFF56,)]),
        ("Page_Down", [(0xFF56,)]),
        ("alt+f4", [(0xFFE9, 0xFFC1)]),
        ("+", [(0x2B,)]),
        ("ctrl++", [(0xFFE3, 0x2B)]),
        ("ctrl+plus", [(0xFFE3, 0x2B)]),
        ("ctrl+a  esc", [(0xFFE3, ord("a")), (0xFF1B,)]),
        (" ", [(0x20,)]),
        ("ż", [(0x0100017C,)]),
    ],
)
def test_chords(text: str, chords: list[tuple[int, ...]]) -> None:
    assert [chord.keysyms for chord in read_chords(text, named)] == chords


@pytest.mark.parametrize(
    ("text", "suggestion"), [("entr", "Return"), ("ctrl+pgdwn", "Page_Down"), ("contrl+c", "Control_L"), ("escp", "Escape")]
)
def test_a_name_that_is_no_keys_is_refused_with_a_suggestion(text: str, suggestion: str) -> None:
    with pytest.raises(Refusal, match=f"Did you mean .*{suggestion}") as caught:
        read_chords(text, named)
    assert (caught.value.status, caught.value.code) == (400, "unknown_key")


@pytest.mark.parametrize("text", ["", "ctrl+", "+a", "qqqqqq", "a " * 101])
def test_what_is_no_chord_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        read_chords(text, named)


def test_one_key_may_be_a_modifier() -> None:
    assert read_key("ctrl", named) == 0xFFE3
    assert read_key("A", named) == ord("A")


# Typing


@given(st.characters(exclude_categories=("Cc", "Cs")))
def test_a_character_is_found_again_by_its_keysym(character: str) -> None:
    assert character_of(keysym_of(character)) == character


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x7f", "\x85", "\ud83d"])
def test_what_is_no_character_cannot_be_typed(character: str) -> None:
    with pytest.raises(Refusal, match="cannot be typed"):
        keysym_of(character)


def test_line_ends_of_every_kind_are_one_enter() -> None:
    assert keysyms_of("a\r\nb\nc\rd\t") == [97, 0xFF0D, 98, 0xFF0D, 99, 0xFF0D, 100, 0xFF09]


LAYOUT = [
    (ord("a"), ord("A")),
    (ord("1"), ord("!")),
    (),
    (ord("ö"), 0),  # its capital is implied
    (0, 0),
    (0x1008FF11, 0),  # a key of a multimedia keyboard
    (ord("x"), ord("X"), 0x01000447, 0x01000427),
]


def test_the_keys_of_a_layout() -> None:
    keys = keys_of_layout(LAYOUT, 10, 0)
    assert keys[ord("a")] == Stroke(10)
    assert keys[ord("!")] == Stroke(11, shift=True)
    assert keys[ord("Ö")] == Stroke(13, shift=True)
    assert 0x01000447 not in keys
    assert keys_of_layout(LAYOUT, 10, 1)[0x01000427] == Stroke(16, shift=True)
    assert spare_keycodes(LAYOUT, 10, taken=[14]) == [12]


KEYSYMS = st.lists(st.integers(0, 20).map(lambda number: 0x01004E00 + number), max_size=80)


@given(KEYSYMS, st.integers(1, 6), st.dictionaries(st.integers(0x01004E00, 0x01004E14), st.integers(0, 5), max_size=4))
def test_a_plan_types_the_text_whatever_the_number_of_spare_keycodes(
    keysyms: list[int], spares: int, lent: dict[int, int]
) -> None:
    keys = {0x01004E00: Stroke(10), 0x01004E01: Stroke(10, shift=True)}
    spare = list(range(200, 200 + spares))
    borrowed = {keysym: 200 + code for keysym, code in lent.items() if code < spares}
    board: dict[int, int] = {code: keysym for keysym, code in borrowed.items()}
    borrowed = {keysym: code for code, keysym in board.items()}
    typed: list[int] = []
    for batch in plan(keysyms, keys, spare, borrowed):
        assert set(batch.mappings) <= set(spare)
        board |= batch.mappings
        for stroke in batch.strokes:
            known = [keysym for keysym, key in keys.items() if key == stroke]
            typed.append(known[0] if known else board[stroke.keycode])
    assert typed == keysyms


def test_few_characters_are_typed_in_one_batch_and_known_ones_need_no_mapping() -> None:
    (batch,) = plan([0x01004E05, 0x01004E06, 0x01004E05], {}, [200, 201], {0x01004E05: 201})
    assert batch.mappings == {200: 0x01004E06}
    assert batch.strokes == [Stroke(201), Stroke(200), Stroke(201)]


def test_a_keyboard_without_a_spare_keycode_says_what_to_do_before_anything_is_typed() -> None:
    with pytest.raises(Refusal, match="ctrl\\+v"):
        plan([ord("a"), keysym_of("漢")], {ord("a"): Stroke(10)}, [], {})


def test_neighbouring_keycodes_are_changed_together() -> None:
    assert runs({9: 1, 201: 5, 8: 2, 200: 4, 203: 6}) == [(8, [2, 1]), (200, [4, 5]), (203, [6])]
    assert runs({}) == []
