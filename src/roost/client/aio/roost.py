"""A server: where every use of the SDK starts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

import anyio
import httpx

from roost.client import builds, calls, questions
from roost.client.aio.sandbox import AsyncSandbox
from roost.client.aio.transport import AsyncTransport
from roost.client.bodies import AsyncContent, body_async
from roost.client.builds import BuildStream
from roost.client.calls import Call
from roost.client.endpoint import Endpoint, find_endpoint
from roost.client.questions import QuestionRecord
from roost.client.reattach import delays
from roost.client.records import Entered, Event, SandboxRecord, SnapshotRecord, TemplateRecord
from roost.client.sse import EventStream
from roost.client.wire import Streaming, translate
from roost.domain.errors import NotFound

T = TypeVar("T")


class AsyncRoost:
    """A server. Keeps its connections open between calls; close it, or use it as a context."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        endpoint: Endpoint | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._transport = AsyncTransport(endpoint or find_endpoint(url, key), transport)

    @property
    def endpoint(self) -> Endpoint:
        return self._transport.endpoint

    async def run(self, call: Call[T]) -> T:
        """Runs any call of `roost.client.calls`."""
        return await self._transport.run(call)

    async def create(self, template: str = "base", *, idempotency_key: str | None = None, **request: Any) -> AsyncSandbox:
        """A sandbox that runs. Request: name, metadata, env, timeout_s, on_timeout, idle_s, wake_on_traffic,
        keep_memory, size, network (internet, allow, deny, dns, rules, proxy, public, mask_host, https_ports)."""
        return self._entered(await self.run(calls.create({"template": template, **request}, idempotency_key)))

    async def get(self, ref: str) -> AsyncSandbox:
        """By id or name. Raises SandboxNotFound."""
        return AsyncSandbox(self._transport, await self.run(calls.get_sandbox(ref)))

    async def enter(self, ref: str) -> AsyncSandbox:
        """As `get`, for somebody who is going to work inside it: saves a question on the way."""
        return self._entered(await self.run(calls.enter(ref)))

    async def sandboxes(self, **filters: Any) -> AsyncIterator[SandboxRecord]:
        """All that match, newest first, fetched page by page. Filters: state (one or several), name, template,
        metadata, limit (of a page)."""
        cursor: str | None = None
        while True:
            page = await self.run(calls.list_sandboxes(**filters, cursor=cursor))
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def undelete(self, id: str) -> AsyncSandbox:
        """A new sandbox, made of what was kept of the dead one."""
        return self._entered(await self.run(calls.undelete(id)))

    async def questions(self, **filters: Any) -> AsyncIterator[QuestionRecord]:
        """All that match, newest first. Filters: state, sandbox, limit (of a page)."""
        cursor: str | None = None
        while True:
            page = await self.run(questions.find(**filters, cursor=cursor))
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def answer(self, id: str, *, choice: str | None = None, text: str | None = None) -> QuestionRecord:
        """Answers a question: with one of its choices, a text, or both."""
        return await self.run(questions.answer(id, choice=choice, text=text))

    async def snapshots(self, **filters: Any) -> AsyncIterator[SnapshotRecord]:
        """All that match, newest first. Filters: sandbox, limit (of a page)."""
        cursor: str | None = None
        while True:
            page = await self.run(calls.list_snapshots(**filters, cursor=cursor))
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def delete_snapshot(self, ref: str) -> None:
        await self.run(calls.delete_snapshot(ref))

    async def templates(self) -> list[TemplateRecord]:
        return await self.run(calls.list_templates())

    async def templates_being_made(self) -> list[dict[str, Any]]:
        """Those that are not there yet, with the step they are at or why they failed."""
        return await self.run(calls.list_templates_being_made())

    async def begin_build(self, name: str, definition: Mapping[str, Any], **request: Any) -> dict[str, Any]:
        """A template is built; it waits for its turn. Request: tag, description, size, cache, secrets."""
        return await self.run(builds.begin({"name": name, "definition": definition, **request}))

    async def upload(self, digest: str, content: AsyncContent) -> None:
        """Files for a build, unless they are there: a tar, named by its SHA-256."""
        try:
            await self.run(builds.find_upload(digest))
            return
        except NotFound:
            pass
        headers = {"Content-Type": "application/x-tar"}
        try:
            sending = Streaming("PUT", f"/v1/uploads/{digest}", headers, content=body_async(content))
            response = await self._transport.stream(sending)
        except httpx.TransportError as error:
            raise translate(error, self.endpoint.url) from error
        await response.aclose()

    async def follow_build(self, id: str) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
        """What a build says, as it says it: (`line`, line) for each, and (`end`, build) at last. A lost connection is made
        again."""
        stream, waits = BuildStream(), delays()
        while True:
            try:
                async for kind, content in self._build_chunks(stream, id):
                    waits = delays()
                    yield kind, content
                    if kind == "end":
                        return
            except httpx.TransportError as error:
                delay = next(waits, None)
                if delay is None:
                    raise translate(error, self.endpoint.url) from error
                await anyio.sleep(delay)

    async def _build_chunks(self, stream: BuildStream, id: str) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
        headers = {"Accept": "text/event-stream"}
        if stream.last_id is not None:
            headers["Last-Event-ID"] = stream.last_id
        path = f"/v1/builds/{quote(id, safe='')}/logs"
        response = await self._transport.stream(Streaming("GET", path, headers, params={"follow": "true"}))
        try:
            async for chunk in response.aiter_raw():
                for event in stream.feed(chunk):
                    yield event
        finally:
            await response.aclose()
        raise httpx.RemoteProtocolError("the stream ended")

    async def events(self, **filters: Any) -> list[Event]:
        """What happened, oldest first. Filters: sandbox, kind, after, before, limit."""
        return await self.run(calls.list_events(**filters))

    async def follow_events(self, *, after: int | None = None, **filters: Any) -> AsyncGenerator[Event]:
        """What happens, as it happens, without a gap: a lost connection is made again and goes on after the last event
        seen. Starts after event `after`, else with the next one to come. Filters: sandbox, kind."""
        stream = EventStream(None if after is None else str(after))
        waits = delays()
        while True:
            try:
                async for event in self._event_chunks(stream, filters):
                    waits = delays()
                    yield event
            except httpx.TransportError as error:
                delay = next(waits, None)
                if delay is None:
                    raise translate(error, self.endpoint.url) from error
                await anyio.sleep(delay)

    async def _event_chunks(self, stream: EventStream, filters: Mapping[str, Any]) -> AsyncGenerator[Event]:
        headers = {"Accept": "text/event-stream"}
        if stream.last_id is not None:
            headers["Last-Event-ID"] = stream.last_id
        params = {name: str(value) for name, value in filters.items() if value is not None}
        response = await self._transport.stream(Streaming("GET", "/v1/events/stream", headers, params=params))
        try:
            async for chunk in response.aiter_raw():
                for event in stream.feed(chunk):
                    yield event
        finally:
            await response.aclose()
        raise httpx.RemoteProtocolError("the event stream ended")

    def _entered(self, entered: Entered) -> AsyncSandbox:
        self._transport.entering.keep(entered.record.id, entered.access_token)
        return AsyncSandbox(self._transport, entered.record)

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> AsyncRoost:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
