"""What HTTP through a gate may say, and what each side is told of the other."""

from __future__ import annotations

import h11
import pytest

from roost.node.network.gate.messages import Refusal, passed_answer, passed_request, refusal, requested_host, unusable
from roost.node.network.gate.scrub import Scrubber

API = "api.example.com"
SECRET = b"Bearer 0123456789"
NOTHING = Scrubber(())


def read(text: str) -> h11.Request:
    """As it is read from the wire."""
    side = h11.Connection(h11.SERVER)
    side.receive_data(text.replace("\n", "\r\n").encode("latin-1"))
    event = side.next_event()
    assert isinstance(event, h11.Request)
    return event


def answered(text: str, method: str = "GET") -> h11.Response:
    side = h11.Connection(h11.CLIENT)
    side.send(h11.Request(method=method, target="/", headers=[("Host", API)]))
    side.send(h11.EndOfMessage())
    side.receive_data(text.replace("\n", "\r\n").encode("latin-1"))
    event = side.next_event()
    assert isinstance(event, h11.Response)
    return event


def wire(request: h11.Request) -> set[bytes]:
    """The lines of the head as they go out."""
    sent = h11.Connection(h11.CLIENT).send(request)
    assert sent is not None
    return set(sent.rstrip(b"\r\n").split(b"\r\n"))


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("TRACE / HTTP/1.1\nHost: a\n\n", 405),
        ("trace / HTTP/1.1\nHost: a\n\n", 405),
        ("POST / HTTP/1.1\nHost: a\nContent-Length: 3\nTransfer-Encoding: chunked\n\n", 400),
        ("POST / HTTP/1.0\nHost: a\nTransfer-Encoding: chunked\n\n", 400),
        ("GET http://u:p@a/ HTTP/1.1\nHost: a\n\n", 400),
        ("GET http://u@a/ HTTP/1.1\nHost: a\n\n", 400),
        ("GET ftp://a/ HTTP/1.1\nHost: a\n\n", 400),
        ("GET * HTTP/1.1\nHost: a\n\n", 400),
        ("GET / HTTP/1.1\nHost: a\nConnection: close , AUTHORIZATION\n\n", 400),
        ("GET / HTTP/1.1\nHost: a\nConnection: close\nConnection: x, authorization\n\n", 400),
        ("GET / HTTP/1.1\nHost: a\nConnection: keep-alive\n\n", None),
        ("OPTIONS * HTTP/1.1\nHost: a\n\n", None),
        ("GET http://a/ HTTP/1.1\nHost: a\n\n", None),
        ("GET //u:p@b/ HTTP/1.1\nHost: a\n\n", None),  # a path, whatever it looks like
        ("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n", None),
    ],
)
def test_what_is_refused(head: str, status: int | None) -> None:
    refused = refusal(read(head), ("Authorization",))
    assert (refused and refused.status) == status


def test_a_request_is_passed_on_with_what_it_is_given_and_without_what_was_for_the_gate() -> None:
    request = read(
        f"POST http://{API}/a?b HTTP/1.1\nHost: {API}\nAuthorization: mine\nAUTHORIZATION: too\nTransfer-Encoding: chunked\n"
        "Connection: X-Hop, host, content-length\nX-Hop: 1\nKeep-Alive: 1\nTE: trailers\nProxy-Authorization: x\nX-End: 1\n"
        "Accept-Encoding: gzip\nExpect: 100-continue\n\n"
    )
    given = {"Authorization": SECRET.decode()}
    assert wire(passed_request(request, given, searched=True)) == {
        b"POST /a?b HTTP/1.1",
        b"Host: api.example.com",
        b"Authorization: " + SECRET,
        b"Transfer-Encoding: chunked",
        b"X-End: 1",
        b"Accept-Encoding: identity",
        b"Expect: 100-continue",
    }
    assert b"Accept-Encoding: gzip" in wire(passed_request(request, {"X-Team": "ours"}, searched=False))


@pytest.mark.parametrize(
    ("upgrade", "passed"),
    [("websocket", b"websocket"), ("h2c", None), ("h2c, websocket", b"websocket"), ("HTTP/2.0", None), ("TLS/1.2", None)],
)
def test_a_request_may_become_anything_but_another_http(upgrade: str, passed: bytes | None) -> None:
    head = f"GET / HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: {upgrade}\nSec-WebSocket-Extensions: permessage-deflate\n\n"
    lines = wire(passed_request(read(head), {}, searched=True))
    assert (b"Connection: Upgrade" in lines) is (passed is not None)
    assert [line for line in lines if line.startswith((b"Upgrade", b"Sec-"))] == ([b"Upgrade: " + passed] if passed else [])
    without = passed_request(read("GET / HTTP/1.1\nHost: a\nUpgrade: websocket\n\n"), {}, searched=False)
    assert not [line for line in wire(without) if line.startswith(b"Upgrade")], "Connection does not say so"


def test_an_answers_headers_are_searched_and_its_length_stays() -> None:
    answer = answered(
        f"HTTP/1.1 200 {SECRET.decode()}\nContent-Length: 12345678\nX-Echo: is {SECRET.decode()}!\nX-{SECRET[7:].decode()}: 1\n"
        "Connection: X-Hop\nX-Hop: 1\nProxy-Authenticate: Basic\n\n"
    )
    passed = passed_answer(answer, Scrubber((SECRET, SECRET[7:], b"12345678")))
    assert passed.reason == b"*" * 17
    assert list(passed.headers) == [
        (b"content-length", b"12345678"),
        (b"x-echo", b"is " + b"*" * 17 + b"!"),
        (b"x-" + b"*" * 10, b"1"),
    ]


@pytest.mark.parametrize(
    ("head", "method", "is_usable"),
    [
        ("HTTP/1.1 200 OK\nContent-Encoding: gzip\n\n", "GET", False),
        ("HTTP/1.1 200 OK\nContent-Encoding: identity, BR\n\n", "GET", False),
        ("HTTP/1.1 200 OK\nContent-Encoding: gzip\nContent-Encoding: identity\n\n", "GET", False),
        ("HTTP/1.1 200 OK\nContent-Encoding: gzip\n\n", "HEAD", True),
        ("HTTP/1.1 204 OK\nContent-Encoding: gzip\n\n", "GET", True),
        ("HTTP/1.1 200 OK\nContent-Encoding: Identity\n\n", "GET", True),
        ("HTTP/1.1 200 OK\nContent-Length: 0\nTransfer-Encoding: chunked\n\n", "GET", False),
    ],
)
def test_an_answer_must_be_one_that_can_be_searched(head: str, method: str, is_usable: bool) -> None:
    answer = answered(head, method)
    assert (unusable(answer, method.encode(), searched=True) is None) is is_usable
    assert (unusable(answer, method.encode(), searched=False) is None) is ("Transfer" not in head)


def test_a_refusal_is_told_with_its_reason() -> None:
    refused = refusal(read("GET / HTTP/1.1\nHost: a\nConnection: x-key\n\n"), ("X-Key",))
    assert refused == Refusal(400, "its Connection header names x-key, which a rule sets")


@pytest.mark.parametrize(
    ("head", "host"),
    [
        (f"GET / HTTP/1.1\nHost: {API}:8080\n\n", API),
        (f"GET / HTTP/1.1\nHost: u@{API}\n\n", None),
        (f"GET http://evil.example/ HTTP/1.1\nHost: {API}\n\n", None),
        (f"CONNECT {API}:443 HTTP/1.1\nHost: {API}\n\n", None),
    ],
)
def test_the_host_of_a_request(head: str, host: str | None) -> None:
    assert requested_host(read(head)) == host


def test_an_informational_answer_is_searched_too() -> None:
    hint = h11.InformationalResponse(status_code=103, headers=[(b"X-Echo", SECRET)])
    assert list(passed_answer(hint, Scrubber((SECRET,))).headers) == [(b"x-echo", b"*" * 17)]
    assert passed_answer(hint, NOTHING).headers == hint.headers
