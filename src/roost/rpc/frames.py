"""What goes over the wire: frames of a size, a kind, the number of a call, and a payload."""

from __future__ import annotations

import asyncio
import json
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

HEAD = struct.Struct(">IBQ")  # bytes of the payload, kind, call
MOST_BYTES = 16 << 20  # one question or answer. What may be longer is a stream
MOST_GREETING_BYTES = 4096  # of somebody who has not said who they are
READ_AHEAD_BYTES = 1 << 20
WINDOW = 32  # items of a stream that may be under way before the reader has asked for more


class Kind(IntEnum):
    HELLO = 1  # first, from both sides: {"build": …}
    CALL = 2  # wants one RESULT, FAILURE or CANCELLED
    STREAM = 3  # wants ITEMs, then END, FAILURE or CANCELLED
    NOTICE = 4  # wants nothing
    CANCEL = 5  # the caller gives up. The last answer still comes
    GRANT = 6  # the reader of a stream takes so many more items
    RESULT = 7
    ITEM = 8
    END = 9
    FAILURE = 10
    CANCELLED = 11


LAST_ANSWERS = frozenset({Kind.RESULT, Kind.END, Kind.FAILURE, Kind.CANCELLED})


class BadFrame(Exception):
    """What came is not this protocol. Nothing after it can be understood: the connection ends."""


@dataclass(frozen=True, slots=True)
class Frame:
    kind: Kind
    call: int
    payload: bytes


def pack(kind: Kind, call: int = 0, payload: bytes = b"") -> bytes:
    return HEAD.pack(len(payload), kind, call) + payload


async def read(reader: asyncio.StreamReader, most_bytes: int = MOST_BYTES) -> Frame | None:
    """The next frame; None at the end of the connection, also one in the middle of a frame. Raises BadFrame."""
    try:
        size, kind, call = HEAD.unpack(await reader.readexactly(HEAD.size))
        if size > most_bytes:
            raise BadFrame(f"a frame of {size} bytes; {most_bytes} is the most")
        if kind not in _KINDS:
            raise BadFrame(f"a frame of the unknown kind {kind}")
        return Frame(_KINDS[kind], call, await reader.readexactly(size) if size else b"")
    except (asyncio.IncompleteReadError, OSError):
        return None


_KINDS = {kind.value: kind for kind in Kind}


def pack_json(kind: Kind, call: int, value: Any) -> bytes:
    return pack(kind, call, json.dumps(value).encode())


def read_json(payload: bytes) -> dict[str, Any]:
    """Raises BadFrame for what is no JSON object."""
    try:
        value = json.loads(payload)
    except ValueError as error:
        raise BadFrame("a payload that is no JSON") from error
    if not isinstance(value, dict):
        raise BadFrame("a payload that is no JSON object")
    return value


def pack_question(kind: Kind, call: int, head: dict[str, str], question: bytes) -> bytes:
    return pack(kind, call, json.dumps(head).encode() + b"\n" + question)


def read_question(payload: bytes) -> tuple[dict[str, Any], bytes]:
    """The method's name and its context, and the question as it was sent. Raises BadFrame."""
    head, _, question = payload.partition(b"\n")
    return read_json(head), question
