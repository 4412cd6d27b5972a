"""Secrets taken out of answers, however the answers are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.node.network.gate.scrub import Scrubber

SECRET = b"Bearer sk-0123456789"
PARTS = (SECRET, b"sk-0123456789")
# Few letters, so that secrets occur, overlap and nearly occur.
TEXTS = st.lists(st.sampled_from([b"a", b"b", b"ab", b"aab", b"abaabaab", b"aabaabaa", b"abab"]), max_size=30).map(b"".join)
SECRETS = st.sets(TEXTS.filter(lambda text: len(text) >= 3), min_size=1, max_size=4)


def hidden(text: bytes, secrets: set[bytes]) -> bytes:
    """Every byte that is part of an occurrence; the slow way."""
    found = {
        at + n
        for secret in secrets
        for at in range(len(text) - len(secret) + 1)
        if text.startswith(secret, at)
        for n in range(len(secret))
    }
    return bytes(ord("*") if at in found else byte for at, byte in enumerate(text))


def cut(text: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(text), *(each % (len(text) + 1) for each in cuts)})
    return [text[start:end] for start, end in pairwise(places)]


@given(TEXTS, SECRETS, st.lists(st.integers(0, 1000), max_size=20))
def test_it_makes_no_difference_how_an_answer_is_cut(text: bytes, secrets: set[bytes], cuts: list[int]) -> None:
    scrubber = Scrubber(secrets)
    text += b"|"  # so that it does not end within a secret
    assert b"".join(map(scrubber.feed, cut(text, cuts))) + scrubber.finish() == hidden(text, secrets)


@given(TEXTS, SECRETS, st.lists(st.integers(0, 1000), max_size=20))
def test_what_is_let_go_in_between_tells_less_than_half(text: bytes, secrets: set[bytes], cuts: list[int]) -> None:
    scrubber, said = Scrubber(secrets), b""
    for piece in cut(text, cuts):
        said += scrubber.feed(piece) + scrubber.release()
    said += scrubber.finish()
    assert len(said) == len(text)
    for secret in secrets:
        for at in range(len(text) - len(secret) + 1):
            if text.startswith(secret, at):
                told = said[at : at + len(secret)]
                assert 2 * len(told.replace(b"*", b"")) < len(secret)


@pytest.mark.parametrize("at", range(1, len(SECRET)))
def test_a_secret_in_two_pieces(at: int) -> None:
    scrubber = Scrubber(PARTS)
    told = scrubber.feed(b'{"key":"' + SECRET[:at])
    assert told == b'{"key":"'
    assert scrubber.feed(SECRET[at:] + b'"}') == b"*" * len(SECRET) + b'"}'
    assert scrubber.finish() == b""


def test_whoever_waits_for_a_letter_gets_it() -> None:
    scrubber = Scrubber(PARTS)
    assert scrubber.feed(b"messages") == b"message"
    assert scrubber.can_release
    assert scrubber.release() == b"s"
    assert not scrubber.can_release
    assert scrubber.feed(b"k-0123456789") == b"*" * 12, "what completes it is recognised all the same"
    scrubber.feed(SECRET[:-1])
    assert not scrubber.can_release
    assert scrubber.release() == b""
    assert scrubber.finish() == b"*" * (len(SECRET) - 1), "an answer that ends within a secret"


def test_a_short_beginning_at_the_end_is_what_it_says() -> None:
    scrubber = Scrubber(PARTS)
    assert scrubber.feed(b"Bearer") + scrubber.finish() == b"Bearer"
    assert scrubber.scrub(b"x " + SECRET) == b"x " + b"*" * len(SECRET)


def test_without_secrets_all_passes_at_once() -> None:
    assert Scrubber(()).feed(b"anything") == b"anything"
