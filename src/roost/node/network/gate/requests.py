"""HTTP through a gate, request by request: each says anew which host it wants, and each is given its headers.

A kept connection is no way around the rules: what its first request was allowed, the second is asked again. Bodies
are streamed both ways. A request that becomes something else (WebSocket) is passed on as bytes from there. Headers that a
rule set do not come back: whatever the host says is searched for them (`scrub.py`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

import anyio
import h11
from anyio.abc import ByteStream

from roost.domain.egress import Passage
from roost.domain.rules import secrets_of
from roost.node.network.gate.dial import HostUnreachable
from roost.node.network.gate.messages import (
    Refusal,
    passed_answer,
    passed_headers,
    passed_request,
    refusal,
    requested_host,
    unusable,
)
from roost.node.network.gate.scrub import Scrubber
from roost.node.network.gate.scrubbed import RELEASE_AFTER_S, Scrubbed
from roost.node.network.gate.wire import Primed, splice

LARGEST_HEAD_BYTES = 64 << 10
IDLE_S = 300.0  # of a kept connection between two requests
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)

Allow = Callable[[str], Passage | None]
"""How a request for that host goes on; None: not at all."""
Dial = Callable[[Passage], Awaitable[ByteStream]]
"""Raises HostUnreachable."""


class ExchangeEnd(StrEnum):
    """How an exchange ended."""

    ANSWERED = "answered"
    SWITCHED = "switched"  # it is no longer HTTP from here
    BROKEN = "broken"
    REFUSED = "refused"  # the answer was not passed on, and the guest told why


class NotAllowed(Exception):
    """A request for a host that is closed, or for none. The connection is to be reset."""


class Side:
    """One end of an HTTP conversation: the protocol's state and the stream below it."""

    def __init__(self, connection: h11.Connection, stream: ByteStream) -> None:
        self.connection = connection
        self.stream = stream

    async def next(self) -> h11.Event | type[h11.PAUSED]:
        """Raises h11.RemoteProtocolError for what is no HTTP, and what the stream raises but for its end."""
        while True:
            event = self.connection.next_event()
            if event is not h11.NEED_DATA:
                return event  # pyright: ignore[reportReturnType]  # it cannot tell that one apart
            try:
                self.connection.receive_data(await self.stream.receive())
            except anyio.EndOfStream:
                self.connection.receive_data(b"")

    async def send(self, event: h11.Event) -> None:
        data = self.connection.send(event)
        if data:
            await self.stream.send(data)

    async def wait_for_end(self) -> bool:
        """True when the other side has ended the connection; what it says meanwhile is kept for later. False when that becomes
        too much to keep. Raises what the stream raises but for its end."""
        kept = 0
        while kept < LARGEST_HEAD_BYTES:
            try:
                data = await self.stream.receive()
            except anyio.EndOfStream:
                return True
            self.connection.receive_data(data)
            kept += len(data)
        return False

    def renew(self) -> bool:
        """Ready for the next request, if both sides have ended this one in a way that lets the connection live."""
        if self.connection.our_state is h11.DONE and self.connection.their_state is h11.DONE:
            self.connection.start_next_cycle()
            return True
        return False

    def rest(self) -> ByteStream:
        """The stream as it goes on when it is no longer HTTP."""
        return Primed(self.stream, self.connection.trailing_data[0])


@dataclass(frozen=True, slots=True)
class Host:
    """Whom requests are passed on to."""

    way: Passage
    side: Side
    secrets: frozenset[bytes]  # what requests to it are given, and its answers must not show


def guest_side(stream: ByteStream) -> Side:
    return Side(h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD_BYTES), stream)


class Requests:
    """The requests of one connection of a guest."""

    def __init__(self, guest: Side, *, allow: Allow, dial: Dial) -> None:
        self._guest = guest
        self._allow = allow
        self._dial = dial
        self._host: Host | None = None
        self._is_kept = False  # the host has answered before on this connection
        self._is_asked = False  # the request under way has been sent to its end

    async def serve(self, first: h11.Request | None = None) -> None:
        """Until the connection ends. `first` is a request that was read already. Raises NotAllowed."""
        try:
            request = first or await self._next_request()
            while request is not None:
                name = requested_host(request)
                way = self._allow(name) if name is not None else None
                if way is None:
                    raise NotAllowed
                if (refused := refusal(request, way.headers)) is not None:
                    await _refuse(self._guest, refused)
                    return
                if not await self._pass(request, way):
                    return
                request = await self._next_request()
        except (h11.RemoteProtocolError, h11.LocalProtocolError, TimeoutError, *_GONE):
            return  # the guest makes no sense, or is gone: so is the connection
        finally:
            await self._hang_up()

    async def _next_request(self) -> h11.Request | None:
        """None when there is none: the guest has ended, said nothing for long, or its host is gone meanwhile."""
        requests: list[h11.Request] = []
        with anyio.move_on_after(IDLE_S):
            async with anyio.create_task_group() as tasks:

                async def listen() -> None:
                    with contextlib.suppress(h11.RemoteProtocolError, *_GONE):
                        event = await self._guest.next()
                        if isinstance(event, h11.Request):
                            requests.append(event)
                    tasks.cancel_scope.cancel()

                async def watch(host: Side) -> None:
                    with contextlib.suppress(*_GONE):
                        await host.stream.receive()  # it has been asked nothing: whatever it says, it has ended
                    tasks.cancel_scope.cancel()

                tasks.start_soon(listen)
                if self._host is not None:
                    tasks.start_soon(watch, self._host.side)
        return requests[0] if requests else None

    async def _pass(self, request: h11.Request, way: Passage) -> bool:
        """One request and its answer. Whether another may follow."""
        try:
            host = await self._host_for(way)
        except HostUnreachable as error:
            await _refuse(self._guest, Refusal(502, str(error)))
            return False
        outgoing = passed_request(request, way.headers, searched=bool(host.secrets))
        scrubber = Scrubber(host.secrets)
        ending, self._is_asked = ExchangeEnd.BROKEN, False
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._send_request, outgoing, host.side, tasks.cancel_scope)
            with contextlib.suppress(h11.RemoteProtocolError, h11.LocalProtocolError, *_GONE):
                ending = await self._send_answer(request.method, host.side, scrubber)
            tasks.cancel_scope.cancel()  # answered before all was asked, or not at all: nobody reads the rest
        match ending:
            case ExchangeEnd.SWITCHED:
                await splice(self._guest.rest(), Scrubbed(host.side.rest(), scrubber))
                return False
            case ExchangeEnd.BROKEN:
                if self._guest.connection.our_state is h11.SEND_RESPONSE and not self._is_kept:
                    await _refuse(self._guest, Refusal(502, "its host ended the connection without an answer"))
                return False
            case ExchangeEnd.REFUSED:
                return False
            case ExchangeEnd.ANSWERED:
                pass
        self._is_kept = True
        if not self._is_asked or not host.side.renew():
            await self._hang_up()
        return self._is_asked and self._guest.renew()

    async def _host_for(self, way: Passage) -> Host:
        if self._host is not None:
            if self._host.way == way:
                return self._host
            await self._hang_up()
        side = Side(h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD_BYTES), await self._dial(way))
        self._host = Host(way, side, secrets_of(way.headers))
        return self._host

    async def _send_request(self, request: h11.Request, host: Side, exchange: anyio.CancelScope) -> None:
        """A body that cannot be sent to its end is no reason to lose the answer that says why. A guest that goes away while
        it waits for the answer ends the exchange."""
        with contextlib.suppress(h11.RemoteProtocolError, h11.LocalProtocolError, *_GONE):
            await host.send(request)
            while True:
                event = await self._guest.next()
                if isinstance(event, h11.Data):
                    await host.send(event)
                elif isinstance(event, h11.EndOfMessage):
                    await host.send(h11.EndOfMessage())  # headers behind a body could take the place of those that were set
                if not isinstance(event, h11.Data):
                    break  # all of it, or the guest waits to become something else
            self._is_asked = True
            if not await self._guest.wait_for_end():
                return
        if self._is_asked:
            exchange.cancel()

    async def _send_answer(self, method: bytes, host: Side, scrubber: Scrubber) -> ExchangeEnd:
        """Raises what either side raises."""
        while True:
            event = await self._next_of_answer(host, scrubber)
            match event:
                case h11.InformationalResponse():
                    await self._guest.send(passed_answer(event, scrubber))
                    if event.status_code == 101:
                        return ExchangeEnd.SWITCHED
                case h11.Response():
                    if (refused := unusable(event, method, searched=scrubber.has_secrets)) is not None:
                        await _refuse(self._guest, refused)
                        return ExchangeEnd.REFUSED
                    await self._guest.send(passed_answer(event, scrubber))
                case h11.Data():
                    await self._send_data(scrubber.feed(bytes(event.data)))
                case h11.EndOfMessage():
                    await self._send_data(scrubber.finish())
                    await self._guest.send(h11.EndOfMessage(headers=passed_headers(event.headers.raw_items(), scrubber)))
                    return ExchangeEnd.ANSWERED
                case _:
                    return ExchangeEnd.BROKEN

    async def _next_of_answer(self, host: Side, scrubber: Scrubber) -> h11.Event | type[h11.PAUSED]:
        if scrubber.can_release:
            with anyio.move_on_after(RELEASE_AFTER_S):
                return await host.next()
            await self._send_data(scrubber.release())
        return await host.next()

    async def _send_data(self, data: bytes) -> None:
        if data:
            await self._guest.send(h11.Data(data=data))

    async def _hang_up(self) -> None:
        if self._host is not None:
            host, self._host, self._is_kept = self._host, None, False
            await anyio.aclose_forcefully(host.side.stream)


async def _refuse(guest: Side, refused: Refusal) -> None:
    body = f"Roost could not pass this request on: {refused.why}.\n".encode()
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body))), ("Connection", "close")]
    await guest.send(h11.Response(status_code=refused.status, headers=headers))
    await guest.send(h11.Data(data=body))
    await guest.send(h11.EndOfMessage())
