"""Where a body ends. Bytes are looked at only as far as that needs; none is changed."""

from __future__ import annotations

import re
from typing import Protocol

from roost.domain.errors import Invalid

_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?")
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*")
_LINE_LIMIT_BYTES = 4096
_TRAILERS_LIMIT_BYTES = 64 * 1024


class Body(Protocol):
    @property
    def done(self) -> bool:
        """Nothing of it is still to come."""
        ...

    def take(self, data: bytes) -> int:
        """How many of the bytes that arrived next are this body's. Raises Invalid on broken framing."""
        ...


class NoBody:
    __slots__ = ()
    done = True

    def take(self, data: bytes) -> int:
        return 0


class OpenBody:
    """Ends with its connection: an answer without a length, or a tunnel."""

    __slots__ = ()
    done = False

    def take(self, data: bytes) -> int:
        return len(data)


class SizedBody:
    __slots__ = ("_left",)

    def __init__(self, length: int) -> None:
        self._left = length

    @property
    def done(self) -> bool:
        return self._left == 0

    def take(self, data: bytes) -> int:
        taken = min(self._left, len(data))
        self._left -= taken
        return taken


_SIZE, _DATA, _DATA_END, _TRAILERS, _DONE = range(5)


class ChunkedBody:
    """Follows the framing of RFC 9112 §7.1 strictly: what another reader might read differently is refused."""

    __slots__ = ("_before_trailers", "_left", "_line", "_state", "_trailers")

    def __init__(self) -> None:
        self._state = _SIZE
        self._left = 0  # of the chunk at hand
        self._before_trailers = 0  # bytes of the piece that was taken last
        self._line = b""  # the beginning of a line whose end has not arrived
        self._trailers = 0

    @property
    def done(self) -> bool:
        return self._state == _DONE

    def without_trailers(self, taken: bytes) -> bytes:
        """What was taken last, without what belongs to the trailers: the body is whole all the same."""
        return taken[: self._before_trailers] + (b"\r\n" if self.done else b"")

    def take(self, data: bytes) -> int:
        at, end = 0, len(data)
        self._before_trailers = 0 if self._state == _TRAILERS else end
        while at < end and self._state != _DONE:
            if self._state == _DATA:
                step = min(self._left, end - at)
                at += step
                self._left -= step
                if self._left == 0:
                    self._state = _DATA_END
                continue
            newline = data.find(b"\n", at)
            if newline < 0:
                self._keep(data[at:])
                return end
            self._keep(data[at : newline + 1])
            line, self._line = self._line, b""
            at = newline + 1
            if not line.endswith(b"\r\n"):
                raise _broken("a line does not end in CRLF")
            before = self._state
            self._end_line(line[:-2])
            if before == _SIZE and self._state == _TRAILERS:
                self._before_trailers = at
        return at

    def _keep(self, part: bytes) -> None:
        self._line += part
        if len(self._line) > _LINE_LIMIT_BYTES:
            raise _broken(f"a line is longer than {_LINE_LIMIT_BYTES} bytes")

    def _end_line(self, line: bytes) -> None:
        if self._state == _SIZE:
            match = _CHUNK_SIZE.fullmatch(line)
            if match is None:
                raise _broken("a chunk has no readable size")
            self._left = int(match.group(1), 16)
            self._state = _DATA if self._left else _TRAILERS
        elif self._state == _DATA_END:
            if line:
                raise _broken("a chunk is longer than its size says")
            self._state = _SIZE
        elif not line:
            self._state = _DONE
        else:
            self._trailers += len(line)
            if self._trailers > _TRAILERS_LIMIT_BYTES or _TRAILER.fullmatch(line) is None:
                raise _broken("its trailers are malformed or too long")


def _broken(what: str) -> Invalid:
    return Invalid("malformed_body", f"The chunked body cannot be read: {what}.")
