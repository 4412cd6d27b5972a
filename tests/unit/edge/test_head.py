from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain.errors import Invalid, Unavailable
from roost.edge.http.body import ChunkedBody, NoBody, OpenBody, SizedBody
from roost.edge.http.head import Peer, parse_request, parse_response, render_for_api, render_request, render_response

STRANGER = Peer(b"198.51.100.7", b"http")
LOCAL = Peer(b"127.0.0.1", b"http")


def request(*lines: bytes) -> bytes:
    return b"\r\n".join((b"POST /p?q HTTP/1.1", b"Host: h", *lines, b"", b""))


def forwarded(raw: bytes, peer: Peer = STRANGER, upgrade: bytes | None = None, mask_host: bytes | None = None) -> list[bytes]:
    return render_request(parse_request(raw), peer, upgrade, mask_host).split(b"\r\n")


def test_what_a_request_says() -> None:
    head = parse_request(request(b"Content-Length: 12", b"X-Y:  z \t", b"Connection: Keep-Alive"))
    assert (head.method, head.target, head.minor, head.host) == (b"POST", b"/p?q", 1, b"h")
    assert head.get(b"x-y") == b"z"
    assert head.get(b"absent") is None
    assert head.keep_alive
    assert isinstance(head.body(), SizedBody)
    assert isinstance(parse_request(request(b"Transfer-Encoding: Chunked")).body(), ChunkedBody)
    assert isinstance(parse_request(request(b"Content-Length: 0")).body(), NoBody)
    assert not parse_request(request(b"Connection: x, Close")).keep_alive
    assert not parse_request(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive


def test_an_upgrade_needs_both_headers() -> None:
    assert parse_request(request(b"Connection: Upgrade", b"Upgrade: websocket")).upgrade == b"websocket"
    assert parse_request(request(b"Upgrade: websocket")).upgrade is None
    assert parse_request(b"GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n").upgrade is None


@pytest.mark.parametrize(
    "lines",
    [
        [b"Content-Length: 1", b"Content-Length: 2"],
        [b"Content-Length: 1", b"Transfer-Encoding: chunked"],
        [b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"],
        [b"Transfer-Encoding: gzip, chunked"],
        [b"Transfer-Encoding: \x0bchunked"],
        [b"Content-Length: -1"],
        [b"Content-Length: 0x1"],
        [b"Content-Length: "],
        [b"Content-Length: 1_0"],
        [b"Content-Length: " + b"9" * 19],
        [b"Content-Length\t: 1"],
        [b"Host: other"],
        [b"a\xffb: c"],
        [b"no colon"],
        [b": no name"],
        [b"A: b\rC: d"],
    ],
)
def test_requests_that_two_readers_might_read_differently(lines: list[bytes]) -> None:
    with pytest.raises(Invalid):
        parse_request(request(*lines))


def test_two_equal_lengths_become_one() -> None:
    lines = forwarded(request(b"Content-Length: 3", b"content-length: 3"))
    assert sum(line.lower().startswith(b"content-length") for line in lines) == 1


def test_absolute_targets() -> None:
    def target(text: bytes, host: bytes = b"h:80") -> bytes:
        return parse_request(b"GET %b HTTP/1.1\r\nHost: %b\r\n\r\n" % (text, host)).target

    assert target(b"http://h:80/a?b") == b"/a?b"
    assert target(b"HTTPS://H:80") == b"/"
    assert target(b"http://h:80?q") == b"/?q"
    for bad in (b"http://other/", b"ftp://h:80/", b"h:80", b"*", b"http://user@h:80/"):
        with pytest.raises(Invalid):
            target(bad)


def test_what_belongs_to_one_hop_stays_behind() -> None:
    lines = forwarded(
        request(
            b"Connection: close, X-Hop, Content-Length", b"X-Hop: 1", b"Keep-Alive: 5", b"TE: gzip", b"Content-Length: 3", b"X: 2"
        )
    )
    assert lines[:3] == [b"POST /p?q HTTP/1.1", b"Host: h", b"Content-Length: 3"]
    assert b"X: 2" in lines
    assert not any(line.startswith((b"Connection", b"X-Hop", b"Keep-Alive", b"TE")) for line in lines)
    upgraded = forwarded(request(b"Connection: Upgrade", b"Upgrade: websocket"), upgrade=b"websocket")
    assert upgraded[-4:-2] == [b"Connection: Upgrade", b"Upgrade: websocket"]


def test_who_is_believed_about_where_a_request_came_from() -> None:
    claims = request(b"X-Forwarded-For: 1.2.3.4", b"X-Forwarded-Proto: https", b"X-Forwarded-Host: site")
    assert b"X-Forwarded-For: 198.51.100.7" in forwarded(claims)
    assert b"X-Forwarded-Proto: http" in forwarded(claims)
    assert not [line for line in forwarded(claims) if line.startswith(b"X-Forwarded-Host")]
    assert b"X-Forwarded-Host: h" in forwarded(claims, mask_host=b"masked")
    assert b"X-Forwarded-For: 1.2.3.4, 127.0.0.1" in forwarded(claims, LOCAL)
    assert b"X-Forwarded-Proto: https" in forwarded(claims, LOCAL)
    assert b"X-Forwarded-Host: site" in forwarded(claims, LOCAL)
    assert Peer(b"::ffff:127.0.0.1", b"http").is_local and not STRANGER.is_local


def response(*lines: bytes, status: bytes = b"200 OK") -> bytes:
    return b"\r\n".join((b"HTTP/1.1 " + status, *lines, b"", b""))


def test_what_an_answer_says() -> None:
    assert isinstance(parse_response(response()).body(b"GET"), OpenBody)
    assert isinstance(parse_response(response(b"Content-Length: 5")).body(b"GET"), SizedBody)
    assert isinstance(parse_response(response(b"Transfer-Encoding: chunked")).body(b"GET"), ChunkedBody)
    assert isinstance(parse_response(response(b"Content-Length: 5")).body(b"HEAD"), NoBody)
    for status in (b"204 No Content", b"304 Not Modified"):
        assert isinstance(parse_response(response(b"Transfer-Encoding: chunked", status=status)).body(b"GET"), NoBody)
    assert parse_response(response()).keep_alive
    assert not parse_response(response(b"Connection: close")).keep_alive
    assert not parse_response(b"HTTP/1.0 200 OK\r\n\r\n").keep_alive
    assert parse_response(b"HTTP/1.0 200\nConnection: keep-alive\n\n").keep_alive


def test_an_answer_is_written_for_the_client() -> None:
    head = parse_response(response(b"Connection: X-Hop", b"X-Hop: 1", b"Content-Length: 1", b"Content-Length: 1", b"A: b"))
    assert render_response(head, close=False) == b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nA: b\r\n\r\n"
    assert render_response(head, close=True).endswith(b"A: b\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize(
    "raw", [b"HTTP/2 200\r\n\r\n", b"ICY 200 OK\r\n\r\n", b"HTTP/1.1 99 x\r\n\r\n", b"HTTP/1.1 2000\r\n\r\n", b"\r\n\r\n"]
)
def test_answers_that_are_none(raw: bytes) -> None:
    with pytest.raises(Unavailable):
        parse_response(raw)


@given(st.binary(max_size=200))
def test_noise_is_read_or_refused_and_never_splits_in_two(noise: bytes) -> None:
    try:
        head = parse_request(b"GET / HTTP/1.1\r\nHost: x\r\n" + noise + b"\r\n\r\n")
    except Invalid:
        return
    for rendered in (render_request(head, STRANGER, None), head.render(keep_upgrade=False)):
        assert rendered.index(b"\r\n\r\n") == len(rendered) - 4
        assert b"\n" not in rendered.replace(b"\r\n", b"")


def test_a_stranger_does_not_tell_the_api_who_it_is() -> None:
    head = parse_request(
        b"GET /v1 HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: y\r\n"
        b"Connection: x-private, upgrade\r\nX-Private: 1\r\nUpgrade: h2c\r\nA: b\r\n\r\n"
    )
    assert render_for_api(head, STRANGER, None) == (
        b"GET /v1 HTTP/1.1\r\nHost: x\r\nA: b\r\nX-Forwarded-For: 198.51.100.7\r\nX-Forwarded-Proto: http\r\n\r\n"
    )


def test_what_concerns_a_whole_site_is_the_apis_to_say() -> None:
    head = parse_response(b'HTTP/1.1 200 OK\r\nClear-Site-Data: "cache"\r\n\r\n')
    assert b"Clear-Site-Data" not in render_response(head, close=False)
    assert b"Clear-Site-Data" in render_response(head, close=False, is_ours=True)
