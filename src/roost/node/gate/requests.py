"""HTTP through a gate, request by request: each says anew which host it wants, and each is given its headers.

A kept connection is no way around the rules: what its first request was allowed, the second is asked again. Bodies
are streamed both ways. A request that becomes something else (WebSocket) is passed on as bytes from there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from urllib.parse import urlsplit

import anyio
import h11
from anyio.abc import ByteStream

from roost.domain.egress import Passage
from roost.domain.hosts import host_name
from roost.node.gate.dial import Unreachable
from roost.node.gate.wire import Primed, splice

LARGEST_HEAD_BYTES = 64 << 10
IDLE_S = 300.0  # of a kept connection between two requests
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)

Allow = Callable[[str], Passage | None]
"""How a request for that host goes on; None: not at all."""
Dial = Callable[[Passage], Awaitable[ByteStream]]
"""Raises Unreachable."""


class Ending(StrEnum):
    """How an exchange ended."""

    ANSWERED = "answered"
    SWITCHED = "switched"  # it is no longer HTTP from here
    BROKEN = "broken"


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


def guest_side(stream: ByteStream) -> Side:
    return Side(h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD_BYTES), stream)


class Requests:
    """The requests of one connection of a guest."""

    def __init__(self, guest: Side, *, allow: Allow, dial: Dial) -> None:
        self._guest = guest
        self._allow = allow
        self._dial = dial
        self._host: tuple[Passage, Side] | None = None
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
                    tasks.start_soon(watch, self._host[1])
        return requests[0] if requests else None

    async def _pass(self, request: h11.Request, way: Passage) -> bool:
        """One request and its answer. Whether another may follow."""
        try:
            host = await self._host_for(way)
        except Unreachable as error:
            await _refuse(self._guest, str(error))
            return False
        ending, self._is_asked = Ending.BROKEN, False
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._send_request, with_headers(request, way.headers), host, tasks.cancel_scope)
            with contextlib.suppress(h11.RemoteProtocolError, h11.LocalProtocolError, *_GONE):
                ending = await self._send_answer(host)
            tasks.cancel_scope.cancel()  # answered before all was asked, or not at all: nobody reads the rest
        if ending is Ending.SWITCHED:
            await splice(self._guest.rest(), host.rest())
            return False
        if ending is Ending.BROKEN:
            if self._guest.connection.our_state is h11.SEND_RESPONSE and not self._is_kept:
                await _refuse(self._guest, "its host ended the connection without an answer")
            return False
        self._is_kept = True
        if not self._is_asked or not host.renew():
            await self._hang_up()
        return self._is_asked and self._guest.renew()

    async def _host_for(self, way: Passage) -> Side:
        if self._host is not None:
            if self._host[0] == way:
                return self._host[1]
            await self._hang_up()
        side = Side(h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD_BYTES), await self._dial(way))
        self._host = way, side
        return side

    async def _send_request(self, request: h11.Request, host: Side, exchange: anyio.CancelScope) -> None:
        """A body that cannot be sent to its end is no reason to lose the answer that says why. A guest that goes away while
        it waits for the answer ends the exchange."""
        with contextlib.suppress(h11.RemoteProtocolError, h11.LocalProtocolError, *_GONE):
            await host.send(request)
            while True:
                event = await self._guest.next()
                if isinstance(event, h11.Data | h11.EndOfMessage):
                    await host.send(event)
                if not isinstance(event, h11.Data):
                    break  # all of it, or the guest waits to become something else
            self._is_asked = True
            if not await self._guest.wait_for_end():
                return
        if self._is_asked:
            exchange.cancel()

    async def _send_answer(self, host: Side) -> Ending:
        """Raises what either side raises."""
        while True:
            event = await host.next()
            match event:
                case h11.InformationalResponse():
                    await self._guest.send(_in_our_version(event))
                    if event.status_code == 101:
                        return Ending.SWITCHED
                case h11.Response():
                    await self._guest.send(_in_our_version(event))
                case h11.Data():
                    await self._guest.send(event)
                case h11.EndOfMessage():
                    await self._guest.send(event)
                    return Ending.ANSWERED
                case _:
                    return Ending.BROKEN

    async def _hang_up(self) -> None:
        if self._host is not None:
            _, side = self._host
            self._host, self._is_kept = None, False
            await anyio.aclose_forcefully(side.stream)


def requested_host(request: h11.Request) -> str | None:
    """The host that a request wants; None if it says none, or two."""
    hosts = [value for name, value in request.headers if name == b"host"]
    if len(hosts) != 1 or request.method == b"CONNECT":
        return None
    name = _without_port(hosts[0].decode("ascii", "replace"))
    target = request.target.decode("ascii", "replace")
    if not target.startswith(("/", "*")):
        try:
            named = urlsplit(target).hostname
        except ValueError:
            return None
        if named is None or host_name(named) != name:
            return None
    return name


def with_headers(request: h11.Request, added: Mapping[str, str]) -> h11.Request:
    """The request with these headers in the place of its own of the same names."""
    names = {name.lower().encode() for name in added}
    kept = [(raw, value) for (raw, value) in request.headers.raw_items() if raw.lower() not in names]
    new = [(name.encode(), value.encode("latin-1")) for name, value in added.items()]
    return h11.Request(method=request.method, target=request.target, headers=kept + new)


def _in_our_version(answer: h11.Response | h11.InformationalResponse) -> h11.Response | h11.InformationalResponse:
    """The same answer in HTTP/1.1: how each side ends its messages is between it and the gate."""
    return type(answer)(status_code=answer.status_code, headers=list(answer.headers.raw_items()), reason=answer.reason)


def _without_port(authority: str) -> str | None:
    host, colon, port = authority.partition(":")
    return host_name(host) if not colon or port.isdigit() else None


async def _refuse(guest: Side, why: str) -> None:
    body = f"Roost could not pass this request on: {why}.\n".encode()
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body))), ("Connection", "close")]
    await guest.send(h11.Response(status_code=502, headers=headers))
    await guest.send(h11.Data(data=body))
    await guest.send(h11.EndOfMessage())
