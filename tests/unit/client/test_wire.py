"""What a client knows of the wire, without one."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.client import calls
from roost.client.blocking.roost import Roost
from roost.client.connect import Envelopes, envelope
from roost.client.endpoint import Endpoint, find_endpoint
from roost.client.errors import from_answer
from roost.client.output import Exit, Stream, Tracker
from roost.client.reattach import delays, explained
from roost.client.sse import EventStream
from roost.domain.errors import (
    Fault,
    GuestUnreachable,
    Invalid,
    NodeFull,
    NotFound,
    RoostError,
    SnapshotDamaged,
    Unauthenticated,
    Unavailable,
)


def data(sequence: int, content: bytes, stream: str = "stdout") -> dict:
    return {"event": {"data": {stream: base64.b64encode(content).decode(), "sequence": str(sequence)}}}


@given(messages=st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=50), max_size=3)), cuts=st.data())
def test_messages_come_whole_however_the_bytes_were_cut(messages: list[dict], cuts: st.DataObject) -> None:
    end = b"\x02" + (2).to_bytes(4, "big") + b"{}"
    wire = b"".join(envelope(message) for message in messages) + end
    envelopes, found = Envelopes(), []
    while wire:
        size = cuts.draw(st.integers(1, len(wire)))
        found += envelopes.feed(wire[:size])
        wire = wire[size:]
    assert found == messages
    assert envelopes.ended and envelopes.error is None


def test_a_stream_may_end_with_an_error() -> None:
    payload = json.dumps({"error": {"code": "not_found", "message": "no such process"}}).encode()
    envelopes = Envelopes()
    assert envelopes.feed(envelope({"a": 1}) + b"\x02" + len(payload).to_bytes(4, "big") + payload) == [{"a": 1}]
    assert isinstance(envelopes.error, NotFound)


@pytest.mark.parametrize(
    "garbage", [b"HTTP/1.1 200 OK\r\n", b"\x00\xff\xff\xff\xff", b"\x00\x00\x00\x00\x01[", b"\x00\x00\x00\x00\x02[]"]
)
def test_garbage_is_told_from_messages(garbage: bytes) -> None:
    with pytest.raises(Fault):
        Envelopes().feed(garbage)


@given(content=st.binary(max_size=100), pieces=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 40)), max_size=10))
def test_whatever_is_sent_again_every_byte_is_read_once(content: bytes, pieces: list[tuple[int, int]]) -> None:
    tracker, read = Tracker({"tag": "t"}), b""
    tracker.take({"event": {"start": {"pid": 7, "sequence": "0"}}})
    for start, length in [*pieces, (0, len(content))]:
        again = min(start, len(read))
        output = tracker.take(data(again, content[again : again + length]))
        read += output.data if output else b""
        assert tracker.reattach_request() == {"process": {"tag": "t"}, "fromSequence": str(len(read))}
    assert read == content


def test_a_hole_is_never_passed_over() -> None:
    tracker = Tracker({"pid": 7})
    tracker.take({"event": {"start": {"pid": 7, "sequence": "10"}}})
    assert tracker.take(data(10, b"abc", "stderr")) is not None
    with pytest.raises(Fault, match="2 bytes"):
        tracker.take(data(15, b"x"))


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ({"exited": True, "status": "exit status 0"}, 0),
        ({"exitCode": 3, "exited": True, "status": "exit status 3"}, 3),
        ({"exitCode": -1, "status": "signal: killed"}, 137),
        ({"exitCode": -1, "status": "signal: terminated"}, 143),
        ({"exitCode": -1, "status": "signal: segmentation fault (core dumped)"}, 139),
        ({"exitCode": -1, "status": "signal: never heard of"}, 255),
    ],
)
def test_ends_are_told_as_shells_do(end: dict, expected: int) -> None:
    assert Exit.read(end).code == expected


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (409, b'{"error": {"code": "snapshot_damaged", "message": "m", "file": "f"}}', SnapshotDamaged, "snapshot_damaged"),
        (409, b'{"error": {"code": "new_one", "message": "m"}}', RoostError, "new_one"),
        (404, b'{"code": "not_found", "message": "m"}', NotFound, "not_found"),
        (401, b'{"code": 401, "message": "m"}', Unauthenticated, "agent_refused"),
        (502, b'{"code": 502, "message": "The sandbox was not found", "sandboxId": "i1"}', Unavailable, "sandbox_unreachable"),
        (502, b'{"code": 502, "message": "m", "sandboxId": "i1", "port": 80}', Unavailable, "port_not_open"),
        (
            502,
            b'{"code": 502, "message": "m", "sandboxId": "i1", "error_code": "guest_unreachable"}',
            GuestUnreachable,
            "guest_unreachable",
        ),
        (503, b'{"code": 503, "message": "m", "sandboxId": "i1", "error_code": "node_full"}', NodeFull, "node_full"),
        (502, b"<html>Bad gateway</html>", Unavailable, "unexpected_answer"),
        (500, b"[]", Fault, "unexpected_answer"),
    ],
)
def test_errors_are_read_from_every_voice(status: int, body: bytes, kind: type, code: str) -> None:
    error = from_answer(status, body)
    assert isinstance(error, kind)
    assert error.code == code
    assert error.message


@given(
    status=st.sampled_from([400, 404, 418, 502, 599]),
    body=st.binary(max_size=50) | st.sampled_from([b"{}", b'{"error": 1}', b'{"code": null}']),
)
def test_no_answer_at_all_breaks_the_client(status: int, body: bytes) -> None:
    assert isinstance(from_answer(status, body), RoostError)


def test_the_server_is_found_where_it_said(tmp_path: Path) -> None:
    environ = {"ROOST_HOME": str(tmp_path)}
    with pytest.raises(Unavailable, match="roost up"):
        find_endpoint(environ=environ)
    (tmp_path / "server.json").write_text('{"url": "http://127.0.0.1:4711", "pid": 1}')
    with pytest.raises(Unauthenticated, match="ROOST_API_KEY"):
        find_endpoint(environ=environ)
    (tmp_path / "key").write_text("secret\n")
    found = find_endpoint(environ=environ)
    assert found == Endpoint("http://127.0.0.1:4711", "secret")
    assert "secret" not in repr(found)
    assert find_endpoint(environ={**environ, "ROOST_URL": "http://x:1/", "ROOST_API_KEY": "k"}) == Endpoint("http://x:1", "k")
    assert find_endpoint("https://y", "j", environ=environ) == Endpoint("https://y", "j")
    with pytest.raises(Invalid):
        find_endpoint("y:1", "j", environ=environ)


def test_what_may_be_repeated_is_sent_again_and_nothing_else_is() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.path}")
        if len(asked) % 2:
            raise httpx.ReadError("cut", request=request)
        return httpx.Response(200, json={"status": "ok"})

    with Roost(endpoint=Endpoint("http://roost", "k"), transport=httpx.MockTransport(answer)) as roost:
        assert roost.run(calls.health()) == {"status": "ok"}
        assert len(asked) == 2
        with pytest.raises(Unavailable, match="Ask for the state"):
            roost.run(calls.fork("ada"))
    assert asked[2:] == ["POST /v1/sandboxes/ada/fork"]


def test_an_answer_that_is_not_roosts_is_told() -> None:
    elsewhere = httpx.MockTransport(lambda _: httpx.Response(200, text="<html>Welcome to nginx</html>"))
    with Roost(endpoint=Endpoint("http://web", "k"), transport=elsewhere) as roost, pytest.raises(Unavailable, match="ROOST_URL"):
        roost.get("ada")


def test_odd_names_stay_in_their_place() -> None:
    assert calls.get_sandbox("../keys?x").path == "/v1/sandboxes/..%2Fkeys%3Fx"


def test_live_events_are_cut_out_of_bytes() -> None:
    event = {"sequence": 3, "kind": "sandbox.paused", "at": "2026-01-01T00:00:00.000Z", "sandbox": "i1", "facts": {}}
    wire = b": begun\n\nid: 3\nevent: sandbox.paused\ndata: " + json.dumps(event).encode() + b"\r\n\r\n: still here\n\n"
    for step in (1, 7, len(wire)):
        stream = EventStream()
        found = [each for start in range(0, len(wire), step) for each in stream.feed(wire[start : start + step])]
        assert [each.sequence for each in found] == [3]
        assert stream.last_id == "3"


def test_patience_ends() -> None:
    waits = list(delays())
    assert waits[0] == 0
    assert 50 < sum(waits) < 70
    assert Stream("stdout") is Stream.STDOUT


def test_a_process_that_its_sandbox_no_longer_knows_is_said_to_be_gone() -> None:
    unknown = NotFound("not_found", "process with tag 'roost-1' not found")
    assert explained(unknown, None) is unknown, "it was never there"
    gone = explained(unknown, 7)
    assert gone.code == "process_gone"
    assert "Process 7 is gone" in gone.message
    assert "tag" not in gone.message
    other = Unavailable("unavailable", "try again")
    assert explained(other, 7) is other
