"""What the first bytes of a connection say. Real ClientHellos come from Python's own TLS."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.node.network.gate.opening import LARGEST_OPENING_BYTES, Opening, Protocol, read_opening


def hello(name: str | None) -> bytes:
    """As a client says it."""
    context = ssl.create_default_context()
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def in_records(message: bytes, size: int) -> bytes:
    """The same handshake in records of `size` bytes."""
    body = message[5:]
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part for part in parts)


HELLO = hello("api.example.com")


def test_a_client_names_its_host() -> None:
    assert read_opening(HELLO) == Opening(Protocol.TLS, "api.example.com")
    assert read_opening(hello("API.Example.COM")) == Opening(Protocol.TLS, "api.example.com")
    assert read_opening(hello(None)) == Opening(Protocol.TLS, None)
    assert read_opening(HELLO + b"more") == Opening(Protocol.TLS, "api.example.com")


@given(st.integers(1, 600), st.integers(0, 2000))
def test_pieces_and_records_make_no_difference(size: int, cut: int) -> None:
    said = in_records(HELLO, size)
    opening = read_opening(said[:cut])
    assert opening == (Opening(Protocol.TLS, "api.example.com") if cut >= len(said) else None)
    assert read_opening(said) == Opening(Protocol.TLS, "api.example.com")


@given(st.binary(max_size=300))
def test_any_bytes_have_an_answer(data: bytes) -> None:
    opening = read_opening(data)
    assert opening is None or opening.kind in Protocol


@given(st.integers(0, len(HELLO) - 1), st.integers(0, 255))
def test_a_changed_byte_never_names_another_host_unnoticed(at: int, byte: int) -> None:
    """A name is what stands in the bytes, or none: never something made up."""
    changed = HELLO[:at] + bytes([byte]) + HELLO[at + 1 :]
    opening = read_opening(changed)
    if opening is not None and opening.name is not None:
        assert opening.name.encode() in changed.lower()


@given(st.binary(max_size=2000))
def test_any_handshake_has_an_answer(body: bytes) -> None:
    framed = b"\x01" + len(body).to_bytes(3, "big") + body
    record = b"\x16\x03\x01" + len(framed).to_bytes(2, "big") + framed
    assert read_opening(record) is not None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"GET / HTTP/1.1\r\n", Opening(Protocol.HTTP)),
        (b"PROPFIND /", Opening(Protocol.HTTP)),
        (b"GE", None),
        (b"PRI", None),
        (b"PRI * HTTP/2", Opening(Protocol.OTHER)),  # has no Host that could be read in passing
        (b"SSH-2.0-x", Opening(Protocol.OTHER)),
        (b"\x05\x01\x00", Opening(Protocol.OTHER)),
        (b"", None),
        (b"\x16\x03\x01\x40\x01" + b"x" * 10, Opening(Protocol.OTHER)),  # a record too long
        (b"\x16\x03\x01\x00\x04\x02\x00\x00\x00", Opening(Protocol.OTHER)),  # a ServerHello
        (b"\x16\x03\x01\x00\x00" * (LARGEST_OPENING_BYTES // 5), Opening(Protocol.OTHER)),  # empty records for ever
    ],
)
def test_openings(data: bytes, expected: Opening | None) -> None:
    assert read_opening(data) == expected


def test_two_names_are_none() -> None:
    """Whoever reads the other one would serve another host."""

    def extension(*names: bytes) -> bytes:
        entries = b"".join(b"\0" + len(name).to_bytes(2, "big") + name for name in names)
        content = len(entries).to_bytes(2, "big") + entries
        return b"\0\0" + len(content).to_bytes(2, "big") + content

    def said(extensions: bytes) -> bytes:
        body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\x01" + b"\1\0" + len(extensions).to_bytes(2, "big") + extensions
        framed = b"\1" + len(body).to_bytes(3, "big") + body
        return b"\x16\3\1" + len(framed).to_bytes(2, "big") + framed

    assert read_opening(said(extension(b"a.example"))) == Opening(Protocol.TLS, "a.example")
    assert read_opening(said(extension(b"a.example", b"b.example"))) == Opening(Protocol.TLS, None)
    assert read_opening(said(extension(b"a.example") * 2)) == Opening(Protocol.TLS, None)
    for name in (b"203.0.113.7", b"a.example\0.evil", b"a b", b"-", b""):
        assert read_opening(said(extension(name))) == Opening(Protocol.TLS, None)
