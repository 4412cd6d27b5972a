from __future__ import annotations

import struct
from ipaddress import IPv4Address

from hypothesis import given
from hypothesis import strategies as st

from roost.node.network.dns_wire import Found, addresses_in, answers, asked_again, failure, query_for, question_name, read_query

QUERY = query_for("api.example.com", b"\1\2")


def record(kind: int, ttl_s: int, data: bytes, owner: bytes = b"\xc0\x0c") -> bytes:
    return owner + struct.pack(">HHIH", kind, 1, ttl_s, len(data)) + data


def answer(*records: bytes) -> bytes:
    return QUERY[:2] + struct.pack(">HHHHH", 0x8180, 1, len(records), 0, 0) + QUERY[12:] + b"".join(records)


def test_a_question_is_read_as_it_was_written() -> None:
    assert question_name(QUERY) == "api.example.com"
    query = read_query(QUERY)
    assert query is not None and (query.name, query.kind, query.asks_for_data) == ("api.example.com", 1, True)
    assert asked_again(query, QUERY[:2]) == QUERY
    assert answers(QUERY, failure(QUERY, 5))


def test_addresses_behind_an_alias_are_found() -> None:
    alias = record(5, 30, b"\3www\xc0\x10")
    one, two = record(1, 60, bytes([203, 0, 113, 7]), b"\3www\xc0\x10"), record(1, 60, bytes([203, 0, 113, 8]))
    expected = IPv4Address("203.0.113.7"), IPv4Address("203.0.113.8")
    assert addresses_in(answer(alias, one, two, one)) == Found(expected, 30)
    assert addresses_in(answer(record(28, 60, bytes(16)))).addresses == ()
    assert addresses_in(failure(QUERY, 3)) == Found((), 0)


@given(st.binary(max_size=300))
def test_any_answer_has_a_reading(data: bytes) -> None:
    found = addresses_in(answer()[:12] + data)
    assert all(isinstance(address, IPv4Address) for address in found.addresses)
    addresses_in(data)


@given(st.integers(0, 200))
def test_what_is_cut_off_is_not_made_up(cut: int) -> None:
    whole = answer(record(1, 60, bytes([203, 0, 113, 7])))
    found = addresses_in(whole[:cut])
    assert found.addresses == ((IPv4Address("203.0.113.7"),) if cut >= len(whole) else ())


@given(st.binary(max_size=100), st.integers(0, 0xFFFF))
def test_what_is_asked_again_is_a_plain_question_whatever_was_asked(data: bytes, extras: int) -> None:
    query = read_query(QUERY[:10] + struct.pack(">H", extras) + QUERY[12:] + data)
    if query is not None:
        again = asked_again(query, b"\1\2")
        assert read_query(again) is not None
        assert len(again) <= len(QUERY) + 11
    read_query(data)
