"""`Connect`: follow a process that runs already, from now on or from a byte one has seen before."""

from __future__ import annotations

import asyncio
from binascii import b2a_base64

from roost_agent import fields
from roost_agent.connect import Call, Message, Stream, encode
from roost_agent.errors import ClientGone, RpcError
from roost_agent.processes.process import Process, Reader
from roost_agent.processes.table import ProcessTable

# The most output in one message.
MESSAGE_BYTES = 64 * 1024
# From here on a stream's output counts as heavy: what lies in the socket's buffers when it is cut must fit the ring.
HEAVY_BYTES = 64 * 1024
# How long the news of a start waits for company. Most commands print or end within: then one packet tells all, and the
# child has the processors that sending two more would have taken from it.
COMPANY_S = 0.005


class Attach:
    """Connect {process, fromSequence? | fromOldest?} → start, data…, end.

    Without `fromSequence` the stream carries what is written from now on. With it, first what the process has written
    since that byte, then the rest: a client that lost its connection loses nothing and gets nothing twice. Bytes that
    are too old to be kept are an error, `out_of_range`, never a silent gap. `fromOldest` asks for all that is kept: a
    terminal that is opened again shows again what it showed.
    """

    def __init__(self, table: ProcessTable) -> None:
        self._table = table

    async def __call__(self, call: Call, message: Message, stream: Stream) -> None:
        process = self._table.select(message)
        position = process.ring.end
        if fields.flag(message, "fromOldest"):
            position = process.ring.start
        elif "fromSequence" in message:
            position = fields.whole_number(message, "fromSequence")
            if not process.ring.start <= position <= process.ring.end:
                raise RpcError(
                    "out_of_range",
                    f"output of process {process.pid} is kept from byte {process.ring.start} to {process.ring.end}, "
                    f"not from {position}",
                )
        await follow(process, position, call, stream, ends_at=_deadline(call.timeout_s()))


def _deadline(timeout_s: float | None) -> float | None:
    return None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s


async def follow(
    process: Process, position: int, call: Call, stream: Stream, *, ends_at: float | None = None, owner: bool = False
) -> None:
    """Send the process's events from byte `position` to its end, or to `ends_at` (awake time of the loop).

    The `owner` is told when the process was killed because its time was up; others just see it killed. Raises
    RpcError: `deadline_exceeded` when the time is up, `resource_exhausted` when the client takes the output so slowly
    that it held up the process for too long.
    """
    connection = call.exchange.connection
    keepalive_s = call.keepalive_s()
    too_slow = RpcError(
        "resource_exhausted",
        f"the output of process {process.pid} was not read fast enough; connect again with fromSequence to go on",
    )

    def give_up() -> None:
        call.exchange.keep_alive = False  # A client that does not read is not waited for with its next request.
        connection.interrupt(too_slow)

    reader = process.follow(position, on_stalled=give_up)
    connection.on_gone(reader.bell.ring)
    loop = asyncio.get_running_loop()
    cut = False
    try:
        stream.hold(b'{"event":{"start":{"pid":%d,"sequence":"%d"}}}' % (process.pid, position))
        if owner:
            await reader.bell.wait(COMPANY_S)
        while True:
            await _send_new_output(process, reader, stream)
            if process.timed_out and owner:
                raise RpcError("deadline_exceeded", f"process {process.pid} ran out of its time and was killed")
            if process.over.done() and process.ending is not None:
                stream.hold(encode(process.ending.event()))
                return
            await stream.flush()
            left_s = keepalive_s if ends_at is None else min(keepalive_s, ends_at - loop.time())
            if left_s <= 0 and ends_at is not None:
                raise RpcError("deadline_exceeded", f"the time to follow process {process.pid} is up")
            if not await reader.bell.wait(left_s) and left_s == keepalive_s:
                await stream.send_raw(b'{"event":{"keepalive":{}}}')
            if reader.stalled:
                raise too_slow
    except ClientGone:
        cut = True
        raise
    finally:
        connection.forget_gone(reader.bell.ring)
        process.unfollow(reader, cut=cut)


async def _send_new_output(process: Process, reader: Reader, stream: Stream) -> None:
    ring = process.ring
    while reader.position < ring.end:
        if reader.position - reader.origin > HEAVY_BYTES:
            stream.keep_little_in_flight()
        found = ring.read(reader.position, MESSAGE_BYTES)
        assert found is not None
        kind, content = found
        start = reader.position
        process.advance(reader, start + len(content))
        await stream.send_raw(
            b'{"event":{"data":{"%b":"%b","sequence":"%d"}}}' % (kind.encode(), b2a_base64(content, newline=False), start)
        )
