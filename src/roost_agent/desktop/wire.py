"""Messages between the agent and its companion: a JSON object and, where it carries one, a picture or a text as bytes.

Both ends import this, on two different interpreters: standard library only.
"""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

_HEAD = struct.Struct(">II")  # bytes of the JSON, bytes of the content
# More than any picture or clipboard: beyond it the stream is not ours.
MAX_BYTES = 256 * 1024 * 1024


class Message(NamedTuple):
    fields: dict[str, Any]
    content: bytes = b""


class NotAMessage(Exception):
    """What arrives was not written by `pack`: somebody else writes to this pipe."""


def pack(fields: dict[str, Any], content: bytes = b"") -> bytes:
    raw = json.dumps(fields, separators=(",", ":")).encode()
    return _HEAD.pack(len(raw), len(content)) + raw + content


class Unpacker:
    """Cuts messages out of bytes that arrive in pieces of any size."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are complete now. Raises NotAMessage."""
        self._pending += data
        found: list[Message] = []
        start = 0
        while len(self._pending) - start >= _HEAD.size:
            size, content_size = _HEAD.unpack_from(self._pending, start)
            if size + content_size > MAX_BYTES:
                raise NotAMessage
            begin = start + _HEAD.size
            if len(self._pending) - begin < size + content_size:
                break
            found.append(_read(self._pending, begin, size, content_size))
            start = begin + size + content_size
        del self._pending[:start]
        return found


def _read(pending: bytearray, begin: int, size: int, content_size: int) -> Message:
    middle = begin + size
    try:
        fields = json.loads(bytes(pending[begin:middle]))
    except (ValueError, RecursionError) as error:
        raise NotAMessage from error
    if not isinstance(fields, dict):
        raise NotAMessage
    return Message(fields, bytes(pending[middle : middle + content_size]))
