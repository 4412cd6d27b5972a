"""Content codings: gzip in and out, in constant memory, and which one a client will take."""

from __future__ import annotations

import zlib

from roost_agent.errors import HttpError

_GZIP_WINDOW = 16 + zlib.MAX_WBITS


def choose_coding(accept: str | None) -> str:
    """`gzip` whenever the client lists it, else `identity`. Raises HttpError 406 when it takes neither."""
    if accept is None or not accept.strip():
        return "identity"
    weights: dict[str, float] = {}
    for item in accept.split(","):
        name, *options = (part.strip().lower() for part in item.split(";"))
        weight = 1.0
        for option in options:
            if option.startswith("q="):
                try:
                    weight = float(option[2:])
                except ValueError:
                    weight = 0.0
        weights[name] = weight
    anything = weights.get("*", 0.0)
    if weights.get("gzip", weights.get("x-gzip", anything)) > 0:
        return "gzip"
    if weights.get("identity", weights.get("*", 1.0)) > 0:
        return "identity"
    raise HttpError(406, f"no acceptable content coding in {accept!r}; gzip and identity can be had")


class Compressor:
    """gzip at the fastest level: the wire is the bottleneck, not the size."""

    def __init__(self) -> None:
        self._stream = zlib.compressobj(1, zlib.DEFLATED, _GZIP_WINDOW)

    def add(self, data: bytes) -> bytes:
        return self._stream.compress(data)

    def finish(self) -> bytes:
        return self._stream.flush()


class Decompressor:
    """Takes gzip apart in pieces of bounded size, so that a small body cannot fill the memory."""

    def __init__(self, piece_bytes: int = 1 << 20) -> None:
        self._piece_bytes = piece_bytes
        self._stream = zlib.decompressobj(_GZIP_WINDOW)
        self._pending = b""
        self._started = False

    def feed(self, data: bytes) -> None:
        self._pending += data

    def take(self) -> bytes:
        """The next piece, b"" when more input is needed. Raises HttpError 400 on damaged input."""
        while self._pending:
            if self._stream.eof:
                self._stream = zlib.decompressobj(_GZIP_WINDOW)  # Several members in a row are one file.
            self._started = True
            try:
                piece = self._stream.decompress(self._pending, self._piece_bytes)
            except zlib.error as damage:
                raise HttpError(400, f"the gzip body is damaged: {damage}") from damage
            self._pending = self._stream.unconsumed_tail or self._stream.unused_data
            if piece:
                return piece
            if not self._stream.eof and not self._stream.unconsumed_tail:
                self._pending = b""
        return b""

    def finish(self) -> None:
        if not self._started or not self._stream.eof:
            raise HttpError(400, "the gzip body ends too early")
