"""The last stretch of a process's output, numbered byte by byte. Pure."""

from __future__ import annotations

from collections import deque

DEFAULT_CAPACITY_BYTES = 1024 * 1024
# Neighbouring output of one kind is joined up to this size.
CHUNK_BYTES = 64 * 1024
# What a piece costs beside its bytes: output in drops must not outgrow the ring either.
PIECE_COST_BYTES = 128


class Piece:
    """A run of output of one kind. `start` is the sequence number of its first byte."""

    __slots__ = ("content", "kind", "start")

    def __init__(self, start: int, kind: str, content: bytearray) -> None:
        self.start = start
        self.kind = kind
        self.content = content

    @property
    def end(self) -> int:
        return self.start + len(self.content)


class Ring:
    """Bounded output: old bytes leave when new ones come. Sequence numbers never repeat and have no gaps."""

    __slots__ = ("_chunk", "_cost", "_pieces", "capacity", "end")

    def __init__(self, capacity: int = DEFAULT_CAPACITY_BYTES) -> None:
        self.capacity = capacity
        self.end = 0
        self._chunk = min(CHUNK_BYTES, capacity // 16)
        self._pieces: deque[Piece] = deque()
        self._cost = 0

    @property
    def start(self) -> int:
        """The oldest byte still here; equal to `end` when there is none."""
        return self._pieces[0].start if self._pieces else self.end

    def append(self, kind: str, data: bytes) -> None:
        last = self._pieces[-1] if self._pieces else None
        if last is not None and last.kind == kind and len(last.content) + len(data) <= self._chunk:
            last.content += data
            self._cost += len(data)
            self.end += len(data)
        else:
            for at in range(0, len(data), self._chunk):
                content = bytearray(data[at : at + self._chunk])
                self._pieces.append(Piece(self.end, kind, content))
                self._cost += len(content) + PIECE_COST_BYTES
                self.end += len(content)
        while self._cost > self.capacity and len(self._pieces) > 1:
            oldest = self._pieces.popleft()
            self._cost -= len(oldest.content) + PIECE_COST_BYTES

    def read(self, sequence: int, at_most: int) -> tuple[str, bytes] | None:
        """Output of one kind from `sequence` on, joined over neighbouring pieces; None when there is none yet.

        `sequence` must lie between `start` and `end`.
        """
        found: list[bytes] = []
        kind = ""
        size = 0
        for piece in self._tail(sequence):
            if found and piece.kind != kind:
                break
            kind = piece.kind
            offset = max(0, sequence - piece.start)
            with memoryview(piece.content) as view:
                cut = bytes(view[offset : offset + at_most - size])
            found.append(cut)
            size += len(cut)
            if size >= at_most:
                break
        if not found:
            return None
        return kind, found[0] if len(found) == 1 else b"".join(found)

    def tail(self, at_most: int) -> bytes:
        """The last bytes, of whatever kind."""
        found: list[bytes] = []
        left = at_most
        for piece in reversed(self._pieces):
            if left <= 0:
                break
            with memoryview(piece.content) as view:
                found.append(bytes(view[-left:]))
            left -= len(found[-1])
        return b"".join(reversed(found))

    def cost_after(self, sequence: int) -> int:
        """How much of the ring is taken by what follows `sequence`."""
        if sequence <= self.start:
            return self._cost
        return sum(piece.end - max(piece.start, sequence) + PIECE_COST_BYTES for piece in self._tail(sequence))

    def _tail(self, sequence: int) -> list[Piece]:
        """The pieces that reach beyond `sequence`, oldest first. Readers are mostly near the end: search from there."""
        tail: list[Piece] = []
        for piece in reversed(self._pieces):
            if piece.end <= sequence:
                break
            tail.append(piece)
        tail.reverse()
        return tail
