"""Finds the heads in what a sandbox answers: interim ones (1xx), and the one of the answer itself."""

from __future__ import annotations

from roost.domain.errors import Unavailable
from roost.edge.http.head import RESPONSE_HEAD_END, ResponseHead, parse_response


class AnswerHeads:
    __slots__ = ("_buffer", "_limit_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self._buffer = b""
        self._limit_bytes = limit_bytes

    @property
    def has_begun(self) -> bool:
        """Part of a head is there."""
        return bool(self._buffer)

    def take(self, data: bytes) -> tuple[list[ResponseHead], bytes]:
        """The heads that are complete now, and what follows the answer's own, which is the last. Raises Unavailable."""
        self._buffer += data
        heads: list[ResponseHead] = []
        while True:
            end = RESPONSE_HEAD_END.search(self._buffer)
            if end is None and len(self._buffer) <= self._limit_bytes:
                return heads, b""
            if end is None or end.end() > self._limit_bytes:
                raise Unavailable("bad_answer", "The HTTP message cannot be read: its head is too long.")
            heads.append(parse_response(self._buffer[: end.end()]))
            self._buffer = self._buffer[end.end() :]
            if heads[-1].is_final:
                rest, self._buffer = self._buffer, b""
                return heads, rest
