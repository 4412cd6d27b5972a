from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest

from roost.api.live import EventStreamResponse

from .house import House

pytestmark = pytest.mark.anyio


class Reading:
    """Speaks ASGI itself: httpx's transport would wait for the end of an answer that has none."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.status = 0
        self._chunks, self._feed = None, None

    async def run(self, path: str, headers: dict[str, str], want: int) -> list[dict[str, Any]]:
        sender, receiver = anyio.create_memory_object_stream[bytes](100)
        gone = anyio.Event()
        target, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": target,
            "raw_path": target.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.lower().encode(), v.encode()) for k, v in {**self._house.headers, **headers}.items()],
            "client": ("127.0.0.1", 1),
            "server": ("roost", 80),
        }
        asked = False

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
            else:
                await sender.send(message["body"])

        found: list[dict[str, Any]] = []
        async with anyio.create_task_group() as group, sender, receiver:
            group.start_soon(self._house.app, scope, receive, send)
            text = ""
            with anyio.fail_after(60):
                while len(found) < want:
                    text += (await receiver.receive()).decode()
                    found = [parse(block) for block in text.split("\n\n")[:-1] if not block.startswith(":")]
            gone.set()
        return found


def parse(block: str) -> dict[str, Any]:
    fields = dict(line.split(": ", 1) for line in block.splitlines())
    return {"id": int(fields["id"]), "event": fields["event"], **json.loads(fields["data"])}


async def test_events_tell_what_happened(http: httpx.AsyncClient) -> None:
    made = (await http.post("/v1/sandboxes", json={"name": "ada"})).json()
    await http.post("/v1/sandboxes/ada/pause")
    await http.post("/v1/sandboxes/ada/resume")
    every = (await http.get("/v1/events", params={"sandbox": made["id"]})).json()["events"]
    assert [event["kind"] for event in every] == ["sandbox.created", "sandbox.paused", "sandbox.woke"]
    assert [event["sequence"] for event in every] == sorted(event["sequence"] for event in every)
    later = (await http.get("/v1/events", params={"after": every[0]["sequence"], "kind": "sandbox.woke"})).json()
    assert [event["kind"] for event in later["events"]] == ["sandbox.woke"]
    newest = (await http.get("/v1/events", params={"newest_first": True, "limit": 1})).json()["events"]
    assert newest == [every[-1]]


async def test_the_stream_begins_with_what_comes(http: httpx.AsyncClient, house: House) -> None:
    await http.post("/v1/sandboxes", json={"name": "ada"})
    seen: list[dict[str, Any]] = []

    async def follow() -> None:
        seen.extend(await Reading(house).run("/v1/events/stream", {}, want=1))

    async with anyio.create_task_group() as group:
        group.start_soon(follow)
        await anyio.wait_all_tasks_blocked()
        await http.post("/v1/sandboxes/ada/pause")
    assert [event["kind"] for event in seen] == ["sandbox.paused"]
    assert seen[0]["id"] == seen[0]["sequence"]


async def test_the_stream_resumes_behind_the_last_event_without_a_gap(http: httpx.AsyncClient, house: House) -> None:
    await http.post("/v1/sandboxes", json={"name": "ada"})
    await http.post("/v1/sandboxes/ada/pause")
    await http.post("/v1/sandboxes/ada/resume")
    every = (await http.get("/v1/events")).json()["events"]
    seen = await Reading(house).run("/v1/events/stream", {"Last-Event-ID": str(every[0]["sequence"])}, want=2)
    assert [event["sequence"] for event in seen] == [event["sequence"] for event in every[1:]]


async def test_a_wrong_last_event_id_is_refused(http: httpx.AsyncClient) -> None:
    answer = await http.get("/v1/events/stream", headers={"Last-Event-ID": "soon"})
    assert answer.status_code == 400


async def test_a_silent_stream_beats_and_ends_with_its_reader() -> None:
    closed = False

    async def silence() -> AsyncIterator[tuple[int, str, str]]:
        nonlocal closed
        try:
            await anyio.sleep_forever()
            yield 0, "", ""
        finally:
            closed = True

    beats = 0
    gone = anyio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal beats
        if message.get("body", b"").startswith(b": still"):
            beats += 1
            if beats == 3:
                gone.set()

    with anyio.fail_after(60):
        await EventStreamResponse(silence(), heartbeat_s=0.001)({"type": "http"}, receive, send)
    assert beats >= 3
    assert closed
