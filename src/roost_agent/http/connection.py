"""One client connection: requests in, answers out, one after the other, with backpressure both ways."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from socket import SO_SNDBUF, SOL_SOCKET

from roost_agent.errors import ClientGone, HttpError
from roost_agent.http.head import MAX_HEAD_BYTES, Head, parse_head
from roost_agent.http.inbound import Body, Inbound
from roost_agent.wakeup import Wakeup

REASONS = {
    100: "Continue",
    101: "Switching Protocols",
    200: "OK",
    204: "No Content",
    206: "Partial Content",
    304: "Not Modified",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    409: "Conflict",
    412: "Precondition Failed",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    416: "Range Not Satisfiable",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    499: "Client Closed Request",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
    505: "HTTP Version Not Supported",
    507: "Insufficient Storage",
}
# Answers that are not read are kept up to here; then whoever produces them waits.
WRITE_HIGH_WATER_BYTES = 512 * 1024
# The same for streams whose readers may be cut off and come back; the socket's own buffer counts as well.
IN_FLIGHT_BYTES = 64 * 1024
# A body nobody wanted is read to its end up to here: closing on a client that still sends would lose it the answer.
DISCARD_BYTES = 64 * 1024 * 1024
# An answer that a client does not take is given up after this long.
LINGER_S = 30.0
JSON = "application/json"
# What pages of other origins may see of an answer, in E2B's envd.
EXPOSED = (
    "Content-Encoding, Connect-Content-Encoding, Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin,"
    " Location, Cache-Control, X-Content-Type-Options"
)

Handle = Callable[["Exchange"], Awaitable[None]]
Headers = list[tuple[str, str]]


class Connection(asyncio.Protocol):
    """Reads requests from one socket and hands each, with its place to answer, to `handle`."""

    def __init__(self, handle: Handle, spawn: Callable[[Connection], None]) -> None:
        self._handle = handle
        self._spawn = spawn
        self._drained = Wakeup()
        self._writing_paused = False
        self._on_gone: list[Callable[[], None]] = []
        self._interruption: Exception | None = None
        self._little_in_flight = False
        self._farewell: asyncio.TimerHandle | None = None
        self._serving = True
        self.inbound = Inbound()
        self.current: Exchange | None = None
        self.lost = False
        self.peer_address = ""
        self.peer_port = 0
        self.local_address = ""
        self.local_port = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(high=WRITE_HIGH_WATER_BYTES)
        self.inbound.attach(transport)
        peer = transport.get_extra_info("peername") or ("", 0)
        local = transport.get_extra_info("sockname") or ("", 0)
        self.peer_address, self.peer_port = _plain(peer[0]), peer[1]
        self.local_address, self.local_port = _plain(local[0]), local[1]
        self._spawn(self)

    def data_received(self, data: bytes) -> None:
        self.inbound.feed(data)

    def eof_received(self) -> bool:
        self.inbound.feed_eof()
        self._tell_gone()
        return True  # A client that has finished sending may still be reading.

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        if self._farewell is not None:
            self._farewell.cancel()
        self.inbound.feed_eof(failed=True)
        self._drained.ring()
        self._tell_gone()

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._drained.ring()

    @property
    def peer_is_local(self) -> bool:
        """Whether the caller sits inside this sandbox: on loopback, or on the very address it called."""
        peer = self.peer_address
        return peer.startswith("127.") or peer in ("::1", "", self.local_address)

    @property
    def idle(self) -> bool:
        return self.current is None and self.inbound.size == 0

    def on_gone(self, ring: Callable[[], None]) -> None:
        """Call `ring` when the client hangs up (or has done so already)."""
        self._on_gone.append(ring)
        if self.gone:
            ring()

    def forget_gone(self, ring: Callable[[], None]) -> None:
        self._on_gone.remove(ring)

    @property
    def gone(self) -> bool:
        return self.lost or self.inbound.at_eof

    def write(self, data: bytes) -> None:
        if self.lost:
            raise ClientGone
        self.transport.write(data)

    async def drain(self) -> None:
        """Wait until the client has taken most of what was written. Raises ClientGone, or what `interrupt` was given."""
        while self._writing_paused and not self.lost and self._interruption is None:
            await self._drained.wait()
        if self.lost:
            raise ClientGone
        if self._interruption is not None:
            reason, self._interruption = self._interruption, None
            raise reason

    def interrupt(self, reason: Exception) -> None:
        """End the present or the next `drain` with `reason`: the client has kept its producer waiting too long."""
        self._interruption = reason
        self._drained.ring()

    def keep_little_in_flight(self) -> None:
        """Bound what is sent and not yet taken, for a stream whose reader may want to come back for it."""
        if not self._little_in_flight and not self.lost:
            self._little_in_flight = True
            self.transport.set_write_buffer_limits(high=IN_FLIGHT_BYTES)
            self.transport.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_SNDBUF, IN_FLIGHT_BYTES)

    def stop(self) -> None:
        """Take no further request."""
        self._serving = False

    def close(self) -> None:
        """Close once the client has taken what was written, or after a while without it."""
        self.stop()
        if not self.lost:
            self.transport.close()
            if self._farewell is None:
                self._farewell = asyncio.get_running_loop().call_later(LINGER_S, self.transport.abort)

    async def serve(self) -> None:
        """Answer requests until the connection ends."""
        try:
            while self._serving and await self._serve_one():
                pass
        except ClientGone:
            pass
        except HttpError as refusal:
            self._refuse(refusal)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            self._refuse(HttpError(500, "the agent failed to serve this request; its log says why"))
        finally:
            self.current = None
            self.close()

    async def _serve_one(self) -> bool:
        self.inbound.skip_empty_lines()
        raw = await self.inbound.until(b"\r\n\r\n", MAX_HEAD_BYTES)
        if not raw:
            return False
        while raw[:2] == b"\r\n":
            raw = raw[2:]
        if len(raw) < 4:
            return True
        exchange = self.current = Exchange(self, parse_head(raw))
        await self._handle(exchange)
        if exchange.upgraded:
            return False
        exchange.finish()
        if exchange.body.broken:
            return False
        asked_for_body = exchange.body.before_first_read is None
        if asked_for_body and not await exchange.body.discard(DISCARD_BYTES):
            return False
        if not exchange.keep_alive:
            return False
        await self.drain()
        self.current = None
        return not self.inbound.at_eof

    def _refuse(self, refusal: HttpError) -> None:
        exchange = self.current
        if self.lost or (exchange is not None and exchange.head_sent):
            if not self.lost:
                self.transport.abort()  # A cut is the only way left to say that the answer is not whole.
            return
        if exchange is None:
            exchange = Exchange(self, Head("GET", "/", "1.1", {}))
        exchange.keep_alive = False
        exchange.answer_error(refusal)

    def _tell_gone(self) -> None:
        for ring in list(self._on_gone):
            ring()


class Exchange:
    """One request and the place to answer it."""

    __slots__ = ("_chunked", "_connection", "_finished", "_unsent", "body", "head", "head_sent", "keep_alive", "upgraded")

    def __init__(self, connection: Connection, head: Head) -> None:
        self._connection = connection
        self._chunked = False
        self._finished = False
        # A head that waits for the first piece of its body: a packet each costs more than their bytes.
        self._unsent = b""
        self.head = head
        self.body = Body(connection.inbound, head)
        self.keep_alive = head.keep_alive
        self.head_sent = False
        self.upgraded = False
        if "expect" in head.headers:
            if head.headers["expect"].lower() != "100-continue":
                raise HttpError(400, "this Expect header is not supported")
            if not self.body.done:
                self.body.before_first_read = self._ask_for_body

    @property
    def connection(self) -> Connection:
        return self._connection

    def answer(self, status: int, content: bytes = b"", kind: str = "", headers: Headers | None = None) -> None:
        """The whole answer at once."""
        fields = list(headers or ())
        if kind:
            fields.append(("Content-Type", kind))
        if status not in (204, 304):
            fields.append(("Content-Length", str(len(content))))
        raw = self._head(status, fields)
        self._finished = True
        self._connection.write(raw + content if self.head.method != "HEAD" else raw)

    def answer_json(self, value: object, status: int = 200, headers: Headers | None = None) -> None:
        self.answer(status, json.dumps(value, separators=(",", ":")).encode("utf-8", "replace"), JSON, headers)

    def answer_error(self, error: HttpError) -> None:
        self.answer_json(error.body(), error.status)

    def begin(self, status: int, headers: Headers, length: int | None = None) -> None:
        """The head of an answer whose body follows; without a length it is sent in chunks."""
        if length is not None:
            headers = [*headers, ("Content-Length", str(length))]
        elif self.head.version == "1.1":
            headers = [*headers, ("Transfer-Encoding", "chunked")]
            self._chunked = True
        else:
            self.keep_alive = False
        self._unsent = self._head(status, headers)

    async def send(self, data: bytes) -> None:
        """A piece of the body, on its way when this returns. Raises ClientGone."""
        self.push(data)
        await self._connection.drain()

    def push(self, data: bytes) -> None:
        """Like `send`, without waiting for the client: for small last words."""
        if data and self.head.method != "HEAD":
            self._write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    async def send_file(self, descriptor: int, offset: int, length: int) -> None:
        """`length` bytes of a regular file, moved by the kernel. Raises ClientGone also when the file got shorter."""
        self._write(b"")
        if self.head.method == "HEAD" or length == 0:
            return
        loop = asyncio.get_running_loop()
        with os.fdopen(os.dup(descriptor), "rb", buffering=0) as file:
            try:
                sent = await loop.sendfile(self._connection.transport, file, offset, length)
            except (OSError, RuntimeError) as failure:
                raise ClientGone from failure
        if sent != length:
            self._connection.transport.abort()
            raise ClientGone

    def finish(self, last: bytes = b"") -> None:
        """End the answer, with a last piece of its body or without. Without an answer there is nothing to say but 204."""
        if self._finished:
            return
        if not self.head_sent:
            self.answer(204)
        elif self._chunked and self.head.method != "HEAD":
            self._write((b"%x\r\n%b\r\n" % (len(last), last) if last else b"") + b"0\r\n\r\n")
        else:
            self._write(last if self.head.method != "HEAD" else b"")
        self._finished = True

    def _write(self, data: bytes) -> None:
        data, self._unsent = self._unsent + data, b""
        if data:
            self._connection.write(data)

    def upgrade(self, protocol: str) -> bytes:
        """Leave HTTP: answer 101 and return the bytes that the client sent ahead."""
        self.upgraded = True
        self.head_sent = True
        self._connection.write(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %b\r\n\r\n" % protocol.encode()
        )
        return self._connection.inbound.take_all()

    def _head(self, status: int, headers: Headers) -> bytes:
        assert not self.head_sent, "one request, one answer"
        self.head_sent = True
        if self.body.broken or (not self.body.done and self.body.before_first_read is not None):
            # The client may or may not send the body it announced: only a close is clear.
            self.keep_alive = False
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Unknown')}"]
        lines += [f"{name}: {value}" for name, value in headers]
        lines += ["Access-Control-Allow-Origin: *", "Vary: Origin"]
        if "origin" in self.head.headers:
            lines.append(f"Access-Control-Expose-Headers: {EXPOSED}")
        if not self.keep_alive:
            lines.append("Connection: close")
        elif self.head.version == "1.0":
            lines.append("Connection: keep-alive")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")

    def _ask_for_body(self) -> None:
        if not self.head_sent:
            self._connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _plain(address: str) -> str:
    return address.removeprefix("::ffff:").partition("%")[0]
