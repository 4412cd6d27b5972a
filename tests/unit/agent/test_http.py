from __future__ import annotations

import socket

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .guest import STREAM, Guest, envelope

ON_ONE_AGENT = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"


def test_health(guest: Guest) -> None:
    assert guest.http.get("/health").status_code == 204
    assert guest.http.head("/health").status_code == 204


def test_unknown_routes_and_methods(guest: Guest) -> None:
    assert guest.http.get("/nothing").json() == {"code": 404, "message": "there is nothing at /nothing"}
    assert guest.http.delete("/files").status_code == 405
    assert guest.http.get("/process.Process/List").status_code == 405
    assert guest.http.post("/process.Process/Start", json={}).status_code == 415
    assert guest.http.post("/process.Process/List", content=b"{}").status_code == 415


def test_cors_preflight(guest: Guest) -> None:
    answer = guest.http.options("/files", headers={"Origin": "https://example.org"})
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-headers"] == "*" and "POST" in answer.headers["access-control-allow-methods"]


EXPOSED = (
    "Content-Encoding, Connect-Content-Encoding, Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin,"
    " Location, Cache-Control, X-Content-Type-Options"
)


def test_pages_of_others_are_told_what_they_may_see(guest: Guest) -> None:
    """As E2B's envd tells them."""
    for path in ("/health", "/nothing"):
        answer = guest.http.get(path, headers={"Origin": "https://example.org"})
        assert answer.headers["access-control-expose-headers"] == EXPOSED
        assert (answer.headers["access-control-allow-origin"], answer.headers["vary"]) == ("*", "Origin")
    plain = guest.http.get("/health")
    assert plain.headers["vary"] == "Origin" and "access-control-expose-headers" not in plain.headers


def test_unary_answers_are_compressed_when_asked(guest: Guest) -> None:
    def stat(path: str, accept: str) -> httpx.Response:
        return guest.http.post("/filesystem.Filesystem/Stat", json={"path": path}, headers={"Accept-Encoding": accept})

    plain, packed = stat("/", "identity"), stat("/", "gzip, br")
    assert (plain.headers.get("content-encoding"), packed.headers.get("content-encoding")) == (None, "gzip")
    assert plain.json() == packed.json() and packed.headers["content-type"] == "application/json"
    assert "content-encoding" not in stat("/nowhere", "gzip").headers, "errors are told plainly"
    assert "content-encoding" not in stat("/", "gzip;q=0").headers


def test_pipelined_requests_are_answered_in_order(guest: Guest) -> None:
    stat = b'{"path":"/"}'
    rpc = b"POST /filesystem.Filesystem/Stat HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    sized = rpc + b"Content-Length: %d\r\n\r\n%b" % (len(stat), stat)
    chunked = rpc + b"Transfer-Encoding: chunked\r\n\r\n5;ext=1\r\n%b\r\n%x\r\n%b\r\n0\r\nTrailer: x\r\n\r\n" % (
        stat[:5],
        len(stat) - 5,
        stat[5:],
    )
    answer = guest.raw(HEALTH + sized + b"\r\n" + chunked + HEALTH)
    statuses = [line for line in answer.split(b"\r\n") if b"HTTP/1.1 " in line]
    assert len(statuses) == 4
    assert answer.count(b'"FILE_TYPE_DIRECTORY"') == 2
    assert answer.startswith(b"HTTP/1.1 204") and b"\r\n\r\nHTTP/1.1 200 OK" in answer


def test_a_request_in_single_bytes(guest: Guest) -> None:
    with socket.create_connection(("127.0.0.1", guest.port), timeout=20) as wire:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in HEALTH:
            wire.send(bytes([byte]))
        assert wire.recv(1000).startswith(b"HTTP/1.1 204")


def test_close_and_http_1_0(guest: Guest) -> None:
    assert b"Connection: close" in guest.raw(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", finish=False)
    assert b"Connection: close" in guest.raw(b"GET /health HTTP/1.0\r\n\r\n", finish=False)
    kept = guest.raw(b"GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" * 2)
    assert kept.count(b"204 No Content") == 2


def test_expect_continue(guest: Guest, tmp_path) -> None:
    head = b"POST /files?path=%b HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 4\r\n"
    with socket.create_connection(("127.0.0.1", guest.port), timeout=20) as wire:
        wire.sendall(head % bytes(tmp_path / "file") + b"Expect: 100-continue\r\n\r\n")
        assert wire.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.sendall(b"body")
        assert wire.recv(1000).startswith(b"HTTP/1.1 200 OK")
    assert (tmp_path / "file").read_bytes() == b"body"
    refused = guest.raw(head.replace(b"octet-stream", b"x") % b"/x" + b"Expect: 100-continue\r\n\r\n", finish=False)
    assert refused.startswith(b"HTTP/1.1 400") and b"Connection: close" in refused


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GARBAGE\r\n\r\n", 400),
        (b"GET /health\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\n\r\n", 400),
        (b"GET health HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /health HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        (b"GET /health HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\nHost : x\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", 400),
        (b"POST /files HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /files HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST /files HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST /files HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        (b"GET /health HTTP/1.1\r\nHost: x\r\nExpect: cookies\r\n\r\n", 400),
        (b"GET /" + b"x" * 70000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 20000 + b"\r\n", 431),
    ],
)
def test_malformed_heads_are_refused_and_the_connection_closed(guest: Guest, request_bytes: bytes, status: int) -> None:
    answer = guest.raw(request_bytes + HEALTH, finish=False)
    assert answer.startswith(b"HTTP/1.1 %d" % status)
    assert b"Connection: close" in answer and answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("body", [b"zz\r\n", b"-5\r\n", b"5\r\nabcdefgh\r\n0\r\n\r\n", b"1" * 5000, b"\r\n\r\n"])
def test_malformed_chunks(guest: Guest, body: bytes) -> None:
    head = b"POST /process.Process/List HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    answer = guest.raw(head + b"Transfer-Encoding: chunked\r\n\r\n" + body, finish=False)
    assert answer.startswith(b"HTTP/1.1 400") and b"Connection: close" in answer


@ON_ONE_AGENT
@given(st.binary(max_size=400), st.sampled_from([b"", b"GET ", b"POST /process.Process/Start HTTP/1.1\r\n", HEALTH]))
def test_no_bytes_whatever_upset_the_server(guest: Guest, noise: bytes, prefix: bytes) -> None:
    answer = guest.raw(prefix + noise)
    assert b" 500 " not in answer
    assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
    assert guest.http.get("/health").status_code == 204


@ON_ONE_AGENT
@given(
    st.sampled_from(["process.Process/Start", "process.Process/Connect", "process.Process/StreamInput"]),
    st.one_of(
        st.binary(max_size=100),
        st.builds(lambda flags, body: bytes([flags]) + len(body).to_bytes(4, "big") + body, st.integers(0, 255), st.binary()),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["process", "start", "data", "input", "pid", "tag", "pty"]), inner, max_size=3)
            ),
        ).map(lambda value: envelope(value)),  # type: ignore[arg-type]
    ),
)
def test_no_envelope_whatever_upsets_the_server(guest: Guest, method: str, body: bytes) -> None:
    answer = guest.http.post(f"/{method}", content=body, headers={"Content-Type": STREAM})
    assert answer.status_code == 200
    # Always ended properly, and never as a fault of the agent's own.
    end = answer.content.rfind(b"\x02\x00\x00")
    assert end >= 0 and b'"code":"internal"' not in answer.content and b'"code":"unknown"' not in answer.content


@ON_ONE_AGENT
@given(
    st.sampled_from(
        [
            "process.Process/SendInput",
            "process.Process/SendSignal",
            "filesystem.Filesystem/Stat",
            "filesystem.Filesystem/ListDir",
            "filesystem.Filesystem/CreateWatcher",
            "process.Process/Update",
        ]
    ),
    st.binary(max_size=50)
    | st.sampled_from([b"[]", b"null", b"1", b'{"path":7}', b'{"path":"\\u0000"}', b'{"path":"\\ud800"}', b'{"process":[]}'])
    | st.just(b"[" * 20000),
)
def test_no_message_whatever_upsets_the_server(guest: Guest, method: str, body: bytes) -> None:
    answer = guest.http.post(f"/{method}", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code < 500
    assert answer.status_code == 200 or set(answer.json()) == {"code", "message"}


def test_bad_timeouts_and_compression_are_refused(guest: Guest) -> None:
    for header, code in (
        ({"Connect-Timeout-Ms": "soon"}, b"invalid_argument"),
        ({"Connect-Timeout-Ms": "12345678901"}, b"invalid_argument"),
        ({"Connect-Content-Encoding": "gzip"}, b"unimplemented"),
    ):
        body = envelope({"process": {"cmd": "/bin/true"}})
        answer = guest.http.post("/process.Process/Start", content=body, headers={"Content-Type": STREAM, **header})
        assert answer.status_code == 200 and code in answer.content
    answer = guest.http.post("/process.Process/List", json={}, headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 501 and answer.json()["code"] == "unimplemented"
    compressed = guest.http.post("/process.Process/Start", content=envelope({}, flags=1), headers={"Content-Type": STREAM})
    assert b"unimplemented" in compressed.content
