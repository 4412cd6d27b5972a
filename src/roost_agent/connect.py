"""The Connect protocol in JSON: one message each way, a stream of answers, or a stream of requests."""

from __future__ import annotations

import json
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from roost_agent.errors import ClientGone, HttpError, RpcError
from roost_agent.http.connection import JSON, Exchange
from roost_agent.http.encoding import Compressor, choose_coding

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
STREAM_JSON = "application/connect+json"
DEFAULT_KEEPALIVE_S = 90.0
_COMPRESSED = 0x01
_END = 0x02
_PREFIX = struct.Struct(">BI")

Message = dict[str, Any]


class Call:
    """What an RPC knows about its caller."""

    __slots__ = ("exchange", "user_name")

    def __init__(self, exchange: Exchange, user_name: str | None) -> None:
        self.exchange = exchange
        # The user of the Basic credentials; None when the caller leaves the choice to the sandbox.
        self.user_name = user_name

    def timeout_s(self) -> float | None:
        value = self.exchange.head.headers.get("connect-timeout-ms")
        if value is None:
            return None
        if not (value.isascii() and value.isdigit()) or len(value) > 10:
            raise RpcError("invalid_argument", f"Connect-Timeout-Ms must be a number of at most 10 digits, not {value!r}")
        return int(value) / 1000

    def keepalive_s(self) -> float:
        value = self.exchange.head.headers.get("keepalive-ping-interval", "")
        if not (value.isascii() and value.isdigit()) or not 0 < int(value) < 1_000_000:
            return DEFAULT_KEEPALIVE_S
        return float(value)


def encode(message: Message) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode("utf-8", "replace")


class Stream:
    """The answering side of a streaming call. The first message sends the head of the answer."""

    __slots__ = ("_begun", "_exchange", "_held")

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._begun = False
        self._held = b""

    async def send(self, message: Message) -> None:
        await self.send_raw(encode(message))

    async def send_raw(self, message: bytes) -> None:
        """One message that is JSON already. Raises ClientGone when nobody listens any more."""
        self.hold(message)
        await self.flush()

    def hold(self, message: bytes) -> None:
        """A message that travels with the next one, or with the end."""
        self._held += _PREFIX.pack(0, len(message)) + message

    async def flush(self) -> None:
        """What was held is on its way. Raises ClientGone when nobody listens any more."""
        if self._exchange.connection.gone:
            raise ClientGone
        if self._held:
            self._begin()
            held, self._held = self._held, b""
            await self._exchange.send(held)

    def keep_little_in_flight(self) -> None:
        self._exchange.connection.keep_little_in_flight()

    def end(self, error: RpcError | None = None) -> None:
        self._begin()
        trailer: Message = {}
        if error is not None:
            trailer = {"error": _error_body(error), "metadata": {}}
        raw = json.dumps(trailer, separators=(",", ":")).encode()
        held, self._held = self._held, b""
        self._exchange.finish(held + _PREFIX.pack(_END, len(raw)) + raw)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._exchange.begin(200, [("Content-Type", STREAM_JSON)])


Unary = Callable[[Call, Message], Awaitable[Message]]
ServerStream = Callable[[Call, Message, Stream], Awaitable[None]]
ClientStream = Callable[[Call, AsyncIterator[Message]], Awaitable[Message]]


async def serve_unary(verb: Unary, call: Call) -> None:
    exchange = call.exchange
    _require_kind(exchange, JSON)
    try:
        _refuse_compression(exchange, "content-encoding")
        message = _parse(await _whole_body(exchange))
        coding = choose_coding(exchange.head.headers.get("accept-encoding"))
        _answer_unary(exchange, await verb(call, message), coding)
    except RpcError as error:
        exchange.answer_json(_error_body(error), error.status)


def _answer_unary(exchange: Exchange, message: Message, coding: str) -> None:
    if coding != "gzip" or not message:
        exchange.answer_json(message)
        return
    compressor = Compressor()
    content = compressor.add(encode(message)) + compressor.finish()
    exchange.answer(200, content, JSON, [("Content-Encoding", coding)])


async def serve_server_stream(verb: ServerStream, call: Call) -> None:
    exchange = call.exchange
    _require_kind(exchange, STREAM_JSON)
    stream = Stream(exchange)
    try:
        _refuse_compression(exchange, "connect-content-encoding")
        message = await _only_message(exchange)
        await verb(call, message, stream)
    except RpcError as error:
        if not exchange.body.done:
            exchange.keep_alive = False  # before the head is made: it says so
        stream.end(error)
    else:
        stream.end()


async def serve_client_stream(verb: ClientStream, call: Call) -> None:
    exchange = call.exchange
    _require_kind(exchange, STREAM_JSON)
    stream = Stream(exchange)
    try:
        _refuse_compression(exchange, "connect-content-encoding")
        answer = await verb(call, _messages(exchange))
        await stream.send(answer)
    except RpcError as error:
        # The client may go on sending for as long as it likes: the answer is complete, the connection ends here.
        exchange.keep_alive = False
        stream.end(error)
        exchange.connection.stop()
    else:
        stream.end()


async def _messages(exchange: Exchange) -> AsyncIterator[Message]:
    pending = bytearray()
    while True:
        while len(pending) >= _PREFIX.size:
            flags, length = _PREFIX.unpack_from(pending)
            _check_envelope(flags, length)
            end = _PREFIX.size + length
            if len(pending) < end:
                break
            raw = bytes(pending[_PREFIX.size : end])
            del pending[:end]
            yield _parse(raw)
        piece = await exchange.body.read(256 * 1024)
        if not piece:
            break
        pending += piece
    if pending:
        raise RpcError("invalid_argument", "the request ends in the middle of a message")


async def _only_message(exchange: Exchange) -> Message:
    raw = await _whole_body(exchange)
    if len(raw) < _PREFIX.size:
        raise RpcError("invalid_argument", "the request holds no message")
    flags, length = _PREFIX.unpack_from(raw)
    _check_envelope(flags, length)
    if len(raw) != _PREFIX.size + length:
        raise RpcError("invalid_argument", "the request must hold exactly one message")
    return _parse(raw[_PREFIX.size :])


def _check_envelope(flags: int, length: int) -> None:
    if flags & _COMPRESSED:
        raise RpcError("unimplemented", "compressed messages are not supported; send them as they are")
    if flags != 0:
        raise RpcError("invalid_argument", f"unknown envelope flags 0x{flags:02x}")
    if length > MAX_MESSAGE_BYTES:
        raise RpcError("resource_exhausted", f"a message may have {MAX_MESSAGE_BYTES} bytes, this one has {length}")


async def _whole_body(exchange: Exchange) -> bytes:
    try:
        return await exchange.body.read_all(MAX_MESSAGE_BYTES + _PREFIX.size)
    except HttpError as refusal:
        if refusal.status != 413:
            raise
        exchange.keep_alive = False
        raise RpcError("resource_exhausted", refusal.message) from refusal


def _parse(raw: bytes) -> Message:
    try:
        message = json.loads(raw) if raw else {}
    except (ValueError, RecursionError) as error:
        raise RpcError("invalid_argument", f"the message is not valid JSON: {error}") from error
    if not isinstance(message, dict):
        raise RpcError("invalid_argument", "the message must be a JSON object")
    return message


def _require_kind(exchange: Exchange, kind: str) -> None:
    given = exchange.head.headers.get("content-type", "").partition(";")[0].strip().lower()
    if exchange.head.method != "POST":
        raise HttpError(405, "an RPC is called with POST")
    if given != kind:
        raise HttpError(415, f"this RPC takes {kind}, not {given or 'nothing'}")


def _refuse_compression(exchange: Exchange, header: str) -> None:
    coding = exchange.head.headers.get(header, "identity").strip().lower()
    if coding not in ("identity", ""):
        raise RpcError("unimplemented", f"compression {coding!r} is not supported; use identity")


def _error_body(error: RpcError) -> Message:
    return {"code": error.code, "message": error.message}
