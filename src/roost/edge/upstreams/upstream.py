"""Connections to whoever answers: the API, or a port of a sandbox; and the handshake with the agent's bridge."""

from __future__ import annotations

import asyncio
import fcntl
import ssl
import struct
import termios
from functools import cache
from typing import Protocol, cast

from roost.domain.errors import Unavailable
from roost.domain.ids import SandboxId
from roost.edge.http.head import RESPONSE_HEAD_END, parse_response
from roost.edge.limits import EdgeLimits


class PortClosed(Unavailable):
    def __init__(self, sandbox: str, port: int) -> None:
        super().__init__("port_closed", f"Nothing listens on port {port} of sandbox {sandbox}.", sandbox=sandbox, port=port)


class PortUnreachable(Unavailable):
    def __init__(self, sandbox: str, port: int, detail: str) -> None:
        super().__init__(
            "port_unreachable", f"Port {port} of sandbox {sandbox} cannot be reached: {detail}.", sandbox=sandbox, port=port
        )


@cache
def _unverified() -> ssl.SSLContext:
    """The wire to a sandbox is the machine's own, and what is inside vouches for itself in any case."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context


class Receiver(Protocol):
    """Whoever uses an upstream connection now."""

    def upstream_data(self, data: bytes) -> None: ...

    def upstream_eof(self) -> bool:
        """The other side sends nothing more. True keeps the other direction open."""
        ...

    def upstream_lost(self, error: Exception | None) -> None: ...

    def upstream_full(self) -> None:
        """Write no more until `upstream_ready`."""
        ...

    def upstream_ready(self) -> None: ...


class UpstreamConnection(asyncio.Protocol):
    """A connection to whoever answers a request: its bytes, and who gets them now."""

    __slots__ = ("_limits", "_reading", "_transport", "receiver")

    def __init__(self, limits: EdgeLimits) -> None:
        self.receiver: Receiver | None = None
        self._limits = limits
        self._transport: asyncio.Transport | None = None
        self._reading = True

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def is_drained(self) -> bool:
        return self._transport is not None and not self._transport.get_write_buffer_size()

    @property
    def can_write_eof(self) -> bool:
        return self._transport is not None and self._transport.can_write_eof()

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def write_eof(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    def pause_reading(self) -> None:
        if self._reading and self._transport is not None and not self._transport.is_closing():
            self._reading = False
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._reading and self._transport is not None and not self._transport.is_closing():
            self._reading = True
            self._transport.resume_reading()

    def close(self) -> None:
        """Ends the connection; what was written still goes out. Nothing is reported any more."""
        self.receiver = None
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Cuts the connection. Nothing is reported any more."""
        self.receiver = None
        if self._transport is not None:
            self._transport.abort()

    # What the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=self._limits.high_water_bytes, low=self._limits.low_water_bytes)

    def data_received(self, data: bytes) -> None:
        if self.receiver is not None:
            self.receiver.upstream_data(data)

    def eof_received(self) -> bool:
        stays_open = self.receiver is not None and self.receiver.upstream_eof()
        return stays_open and self.can_write_eof

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        receiver, self.receiver = self.receiver, None
        if receiver is not None:
            receiver.upstream_lost(exc)

    def pause_writing(self) -> None:
        if self.receiver is not None:
            self.receiver.upstream_full()

    def resume_writing(self) -> None:
        if self.receiver is not None:
            self.receiver.upstream_ready()


class Upstream(UpstreamConnection):
    """To a port of a sandbox, over TCP."""

    __slots__ = ("address", "early", "incarnation", "port", "sandbox")

    def __init__(self, sandbox: SandboxId, incarnation: int, port: int, address: str, limits: EdgeLimits) -> None:
        super().__init__(limits)
        self.sandbox = sandbox
        self.incarnation = incarnation
        self.port = port
        self.address = address
        self.early = b""  # said before it was asked, through the bridge

    async def begin_tls(self) -> None:
        """From here on TLS is spoken to the port. Raises OSError (ssl.SSLError is one) when the port does not."""
        assert self._transport is not None, "TLS begins on an open connection"
        loop = asyncio.get_running_loop()
        raw = self._transport
        try:
            secured = await loop.start_tls(raw, self, _unverified(), server_hostname=self.address)
        except BaseException:
            raw.abort()
            raise
        if secured is None:
            raise ConnectionAbortedError("the connection ended meanwhile")
        self.connection_made(secured)

    def has_unacknowledged(self) -> bool:
        """Whether bytes are under way that the sandbox has not taken. While any wait here, some wait in the kernel's queue."""
        if not self.is_open:
            return False
        assert self._transport is not None
        socket = self._transport.get_extra_info("socket")
        try:
            answer = fcntl.ioctl(socket.fileno(), termios.TIOCOUTQ, b"\0\0\0\0")
        except OSError:
            return False
        return struct.unpack("i", answer)[0] > 0


class BridgeHandshake:
    """Asks the agent to join this connection to a port on the sandbox's own loopback."""

    __slots__ = ("_answer", "_buffer", "_speaks_first", "_upstream")

    def __init__(self, upstream: Upstream, *, speaks_first: bool = False) -> None:
        self._upstream = upstream
        self._speaks_first = speaks_first
        self._buffer = b""
        self._answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        upstream.receiver = self

    async def join(self) -> None:
        """The upstream is a raw connection to the port. One that speaks first is not read any further until its receiver resumes
        it; what it said already is in `early`. Raises PortClosed, PortUnreachable."""
        upstream = self._upstream
        upstream.write(
            b"GET /roost/bridge?port=%d HTTP/1.1\r\nHost: %b\r\nConnection: Upgrade\r\nUpgrade: roost-bridge\r\n\r\n"
            % (upstream.port, upstream.address.encode())
        )
        try:
            status = await self._answer
        except BaseException:
            upstream.abort()
            raise
        if status != 101:
            upstream.abort()
            if status == 502:
                raise PortClosed(upstream.sandbox, upstream.port)
            raise PortUnreachable(upstream.sandbox, upstream.port, f"the agent's bridge answered {status}")
        upstream.receiver = None

    def upstream_data(self, data: bytes) -> None:
        self._buffer += data
        end = RESPONSE_HEAD_END.search(self._buffer)
        if end is None or self._answer.done():
            return
        try:
            status = parse_response(self._buffer[: end.end()]).status
        except Unavailable as error:
            self._answer.set_exception(error)
            return
        if status == 101 and self._speaks_first:
            self._upstream.pause_reading()
            self._upstream.early = self._buffer[end.end() :]
        elif status == 101 and end.end() < len(self._buffer):
            # An HTTP service speaks when it is spoken to: these bytes would be taken for the answer to a request not yet sent.
            self._answer.set_exception(
                PortUnreachable(self._upstream.sandbox, self._upstream.port, "the program behind it speaks before it is asked")
            )
            return
        self._answer.set_result(status)

    def upstream_eof(self) -> bool:
        return False

    def upstream_lost(self, error: Exception | None) -> None:
        if not self._answer.done():
            self._answer.set_exception(
                PortUnreachable(self._upstream.sandbox, self._upstream.port, "the agent's bridge closed the connection")
            )

    def upstream_full(self) -> None:
        pass

    def upstream_ready(self) -> None:
        pass
