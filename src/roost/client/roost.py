"""The blocking client: where every use of the SDK starts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx

from roost.client import calls, questions
from roost.client.calls import Call
from roost.client.endpoint import Endpoint, find_endpoint
from roost.client.questions import QuestionRecord
from roost.client.reattach import delays
from roost.client.records import Entered, Event, SandboxRecord, SnapshotRecord, TemplateRecord
from roost.client.sandbox import Sandbox
from roost.client.sse import EventStream
from roost.client.transport import Streaming, Transport, translate

T = TypeVar("T")


class Roost:
    """A server. Keeps its connections open between calls; close it, or use it in a `with`."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        endpoint: Endpoint | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._transport = Transport(endpoint or find_endpoint(url, key), transport)

    @property
    def endpoint(self) -> Endpoint:
        return self._transport.endpoint

    def run(self, call: Call[T]) -> T:
        """Runs any call of `roost.client.calls`."""
        return self._transport.run(call)

    def create(self, template: str = "base", *, idempotency_key: str | None = None, **request: Any) -> Sandbox:
        """A sandbox that runs. Request: name, metadata, env, timeout_s, on_timeout, idle_s, wake_on_traffic,
        keep_memory, size, network (internet, allow, deny, dns, rules, proxy, public, mask_host, https_ports)."""
        return self._entered(self.run(calls.create({"template": template, **request}, idempotency_key)))

    def get(self, ref: str) -> Sandbox:
        """By id or name. Raises SandboxNotFound."""
        return Sandbox(self._transport, self.run(calls.get_sandbox(ref)))

    def enter(self, ref: str) -> Sandbox:
        """As `get`, for somebody who is going to work inside it: saves a question on the way."""
        return self._entered(self.run(calls.enter(ref)))

    def sandboxes(self, **filters: Any) -> Iterator[SandboxRecord]:
        """All that match, newest first, fetched page by page. Filters: state (one or several), name, template,
        metadata, limit (of a page)."""
        cursor: str | None = None
        while True:
            page = self.run(calls.list_sandboxes(**filters, cursor=cursor))
            yield from page.items
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    def undelete(self, id: str) -> Sandbox:
        """A new sandbox, made of what was kept of the dead one."""
        return self._entered(self.run(calls.undelete(id)))

    def questions(self, **filters: Any) -> Iterator[QuestionRecord]:
        """All that match, newest first. Filters: state, sandbox, limit (of a page)."""
        cursor: str | None = None
        while True:
            page = self.run(questions.find(**filters, cursor=cursor))
            yield from page.items
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    def answer(self, id: str, *, choice: str | None = None, text: str | None = None) -> QuestionRecord:
        """Answers a question: with one of its choices, a text, or both."""
        return self.run(questions.answer(id, choice=choice, text=text))

    def snapshots(self, **filters: Any) -> Iterator[SnapshotRecord]:
        """All that match, newest first. Filters: sandbox, limit (of a page)."""
        cursor: str | None = None
        while True:
            page = self.run(calls.list_snapshots(**filters, cursor=cursor))
            yield from page.items
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    def delete_snapshot(self, ref: str) -> None:
        self.run(calls.delete_snapshot(ref))

    def templates(self) -> list[TemplateRecord]:
        return self.run(calls.list_templates())

    def templates_being_made(self) -> list[dict[str, Any]]:
        """Those that are not there yet, with the step they are at or why they failed."""
        return self.run(calls.list_templates_being_made())

    def events(self, **filters: Any) -> list[Event]:
        """What happened, oldest first. Filters: sandbox, kind, after, before, limit."""
        return self.run(calls.list_events(**filters))

    def follow_events(self, *, after: int | None = None, **filters: Any) -> Iterator[Event]:
        """What happens, as it happens, without a gap: a lost connection is made again and goes on after the last event
        seen. Starts after event `after`, else with the next one to come. Filters: sandbox, kind."""
        stream = EventStream(None if after is None else str(after))
        waits = delays()
        while True:
            try:
                for event in self._event_chunks(stream, filters):
                    waits = delays()
                    yield event
            except httpx.TransportError as error:
                delay = next(waits, None)
                if delay is None:
                    raise translate(error, self.endpoint.url) from error
                time.sleep(delay)

    def _event_chunks(self, stream: EventStream, filters: Mapping[str, Any]) -> Iterator[Event]:
        headers = {"Accept": "text/event-stream"}
        if stream.last_id is not None:
            headers["Last-Event-ID"] = stream.last_id
        params = {name: str(value) for name, value in filters.items() if value is not None}
        response = self._transport.stream(Streaming("GET", "/v1/events/stream", headers, params=params))
        try:
            for chunk in response.iter_raw():
                yield from stream.feed(chunk)
        finally:
            response.close()
        raise httpx.RemoteProtocolError("the event stream ended")

    def _entered(self, entered: Entered) -> Sandbox:
        self._transport.entering.keep(entered.record.id, entered.access_token)
        return Sandbox(self._transport, entered.record)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Roost:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
