"""The Connect protocol's streams with the JSON codec: envelopes of a flag byte, a big-endian length and a message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from roost.client.errors import from_connect
from roost.domain.errors import Fault, RoostError

_HEAD_BYTES = 5
_END_STREAM = 0x02
_MAX_MESSAGE_BYTES = 64 << 20  # far beyond what the agent sends; a length beyond it is garbage, not a message

UNARY_HEADERS = {"Content-Type": "application/json", "Connect-Protocol-Version": "1"}
STREAM_HEADERS = {"Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}


def envelope(message: Mapping[str, Any]) -> bytes:
    """One message of a stream, ready to be sent."""
    payload = json.dumps(message, separators=(",", ":")).encode()
    return b"\0" + len(payload).to_bytes(4, "big") + payload


class Envelopes:
    """Cuts the bytes of an answer into messages. `ended` once the stream said so, with `error` if it ended badly; bytes
    running out before that mean a cut connection."""

    def __init__(self) -> None:
        self.ended = False
        self.error: RoostError | None = None
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages completed by `data`. Raises Fault for bytes that are no envelopes."""
        self._pending += data
        messages: list[dict[str, Any]] = []
        while not self.ended and len(self._pending) >= _HEAD_BYTES:
            flags = self._pending[0]
            length = int.from_bytes(self._pending[1:_HEAD_BYTES], "big")
            if flags & ~_END_STREAM or length > _MAX_MESSAGE_BYTES:
                raise Fault("bad_stream", "The sandbox sent something that is no message of the agent's protocol.", flags=flags)
            if len(self._pending) < _HEAD_BYTES + length:
                break
            message = self._decode(bytes(memoryview(self._pending)[_HEAD_BYTES : _HEAD_BYTES + length]))
            del self._pending[: _HEAD_BYTES + length]
            if flags & _END_STREAM:
                self._end(message)
            else:
                messages.append(message)
        return messages

    def _end(self, message: Mapping[str, Any]) -> None:
        self.ended = True
        error = message.get("error")
        if isinstance(error, dict):
            self.error = from_connect(str(error.get("code", "unknown")), str(error.get("message", "")))

    def _decode(self, payload: bytes) -> dict[str, Any]:
        try:
            message = json.loads(payload)
        except ValueError as error:
            raise Fault("bad_stream", "The sandbox sent a message that is not JSON.") from error
        if not isinstance(message, dict):
            raise Fault("bad_stream", "The sandbox sent a message that is not a JSON object.")
        return message
