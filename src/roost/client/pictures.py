"""The screen of a sandbox as the client sees it: records, and pictures cut out of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roost.domain.errors import Unavailable

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int

    @staticmethod
    def read(content: Json) -> Point:
        return Point(content["x"], content["y"])


@dataclass(frozen=True, slots=True)
class Screen:
    width: int
    height: int
    cursor: Point
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> Screen:
        return Screen(content["width"], content["height"], Point.read(content["cursor"]), raw=content)


@dataclass(frozen=True, slots=True)
class Window:
    """`x`, `y`: the top left of its content, without the frame, in pixels of the screen."""

    id: str
    title: str
    class_name: str
    x: int
    y: int
    width: int
    height: int
    focused: bool
    minimized: bool
    raw: Json = field(repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> Window:
        return Window(
            id=content["id"],
            title=content["title"],
            class_name=content["class"],
            x=content["x"],
            y=content["y"],
            width=content["width"],
            height=content["height"],
            focused=content["focused"],
            minimized=content.get("minimized", False),
            raw=content,
        )


@dataclass(frozen=True, slots=True)
class Screenshot:
    """A picture. Give `scale` back with the coordinates that you read from it: they are then those of the picture."""

    data: bytes = field(repr=False)
    type: str
    width: int
    height: int
    scale: float

    @staticmethod
    def read(headers: Mapping[str, str], data: bytes) -> Screenshot:
        """From the answer's headers, by names in lower case. Raises Unavailable when they are not the desktop's."""
        try:
            return Screenshot(
                data,
                headers["content-type"],
                int(headers["roost-width"]),
                int(headers["roost-height"]),
                float(headers["roost-scale"]),
            )
        except (KeyError, ValueError) as error:
            raise Unavailable("unexpected_answer", "The sandbox answered with something that is no screenshot.") from error


class FrameReader:
    """Cuts pictures out of `multipart/x-mixed-replace`, however it is split."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> list[Screenshot]:
        self._pending += chunk
        found: list[Screenshot] = []
        while (frame := self._next()) is not None:
            found.append(frame)
        return found

    def _next(self) -> Screenshot | None:
        end = self._pending.find(b"\r\n\r\n")
        if end < 0:
            return None
        lines = bytes(self._pending[:end]).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if ":" in line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        start, size = end + 4, int(headers.get("content-length", "0"))
        if len(self._pending) < start + size:
            return None
        data = bytes(self._pending[start : start + size])
        del self._pending[: start + size]
        return Screenshot.read(headers, data)
