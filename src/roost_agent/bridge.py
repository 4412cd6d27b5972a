"""`GET /roost/bridge?port=N`: the node's way to a service that listens on the sandbox's loopback only."""

from __future__ import annotations

import asyncio
import contextlib

from roost_agent.errors import ClientGone, HttpError
from roost_agent.http.connection import Connection, Exchange

PROTOCOL = "roost-bridge"
_PIECE_BYTES = 256 * 1024


async def bridge(exchange: Exchange) -> None:
    """Answer 101 and be a wire between the caller and the port until both sides are done."""
    if exchange.head.headers.get("upgrade", "").lower() != PROTOCOL:
        raise HttpError(400, f"ask for the bridge with 'Connection: Upgrade' and 'Upgrade: {PROTOCOL}'")
    port = exchange.head.parameters().get("port", "")
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise HttpError(400, "the query parameter 'port' must be a number from 1 to 65535")
    reader, writer = await _dial(int(port))
    try:
        writer.write(exchange.upgrade(PROTOCOL))
        async with asyncio.TaskGroup() as pumps:
            pumps.create_task(_inward(exchange.connection, writer))
            pumps.create_task(_outward(reader, exchange.connection))
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _dial(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    for address in ("127.0.0.1", "::1"):
        try:
            return await asyncio.open_connection(address, port, limit=_PIECE_BYTES)
        except OSError:
            continue
    raise HttpError(502, "port is not open", port=port)


async def _inward(connection: Connection, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await connection.inbound.some(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
    except (ClientGone, OSError):
        # The caller is gone for good, or the service is: either way the wire is cut.
        writer.transport.abort()
        connection.inbound.feed_eof(failed=True)


async def _outward(reader: asyncio.StreamReader, connection: Connection) -> None:
    try:
        while piece := await reader.read(_PIECE_BYTES):
            connection.write(piece)
            await connection.drain()
        if not connection.lost:
            connection.transport.write_eof()
    except (ClientGone, OSError):
        if not connection.lost:
            connection.transport.abort()
