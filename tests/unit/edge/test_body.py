from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain.errors import Invalid
from roost.edge.http.body import Body, ChunkedBody, NoBody, OpenBody, SizedBody


def feed(body: Body, data: bytes, sizes: list[int]) -> int:
    """Hands data over in pieces of these sizes; returns how much of it was the body's."""
    taken = at = 0
    for size in [*sizes, len(data)]:
        piece = data[at : at + size]
        at += len(piece)
        taken += body.take(piece)
        if body.done:
            break
    return taken


chunks = st.lists(st.binary(min_size=1, max_size=50), max_size=6)
pieces = st.lists(st.integers(1, 9), max_size=60)


@given(chunks, pieces, st.binary(max_size=20), st.sampled_from([b"", b";a=b", b" ; q"]))
def test_a_chunked_body_ends_where_it_ends_however_it_arrives(
    parts: list[bytes], sizes: list[int], behind: bytes, extension: bytes
) -> None:
    wire = b"".join(b"%X%b\r\n%b\r\n" % (len(part), extension, part) for part in parts) + b"0\r\nA: b\r\n\r\n"
    body = ChunkedBody()
    assert feed(body, wire + behind, sizes) == len(wire)
    assert body.done
    assert body.take(behind) == 0


@pytest.mark.parametrize(
    "wire",
    [
        b"\r\n",
        b"g\r\n",
        b"0x3\r\nabc\r\n",
        b"+3\r\nabc\r\n",
        b" 3\r\nabc\r\n",
        b"3 \r\nabc\r\n",
        b"3\nabc\r\n",
        b"3\r\nabcd\r\n",
        b"3\r\nabc0\r\n\r\n",
        b"3;\x00\r\nabc\r\n",
        b"3;a\rb\r\nabc\r\n",
        b"1" * 16 + b"\r\n",
        b"0\r\nno colon\r\n\r\n",
        b"0\r\n folded: x\r\n\r\n",
        b"3;" + b"x" * 5000,
        b"0\r\n" + b"a: b\r\n" * 40000,
    ],
)
def test_broken_framing_is_refused(wire: bytes) -> None:
    with pytest.raises(Invalid):
        ChunkedBody().take(wire)


@given(st.binary(max_size=300))
def test_noise_is_followed_or_refused(wire: bytes) -> None:
    body = ChunkedBody()
    try:
        taken = body.take(wire)
    except Invalid:
        return
    assert taken == len(wire) or body.done


@given(st.integers(1, 100), pieces, st.binary(max_size=150))
def test_a_sized_body(length: int, sizes: list[int], data: bytes) -> None:
    body = SizedBody(length)
    assert feed(body, data, sizes) == min(length, len(data))
    assert body.done == (len(data) >= length)


def test_bodies_without_a_length() -> None:
    assert NoBody().done and NoBody().take(b"x") == 0
    assert not OpenBody().done and OpenBody().take(b"x") == 1
