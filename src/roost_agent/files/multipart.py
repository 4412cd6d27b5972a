"""multipart/form-data, taken apart as it arrives: a part of any size costs a buffer, not its size."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from roost_agent.errors import HttpError
from roost_agent.http.head import percent_decode

_MAX_PART_HEAD_BYTES = 64 * 1024
_MAX_BOUNDARY_BYTES = 200

Read = Callable[[], Awaitable[bytes]]


class Part:
    __slots__ = ("filename", "name")

    def __init__(self, name: str, filename: str | None) -> None:
        self.name = name
        self.filename = filename


class Multipart:
    """Call `next_part`, then `read` until it is empty, and so on until there is no next part."""

    def __init__(self, read: Read, content_type: str) -> None:
        boundary = _parameters(content_type).get("boundary", "")
        if not boundary or len(boundary) > _MAX_BOUNDARY_BYTES:
            raise HttpError(400, "the multipart body has no usable boundary")
        self._read = read
        self._mark = b"\r\n--" + boundary.encode("utf-8", "surrogateescape")
        # The first boundary has no line end before it; with one added, all look alike.
        self._buffer = bytearray(b"\r\n")
        # What comes before the first boundary is skipped like a part.
        self._in_part = True

    async def next_part(self) -> Part | None:
        """The head of the next part, skipping what is left of the present one; None after the last."""
        while await self.read():
            pass
        await self._fill(2)
        if self._buffer.startswith(b"--"):
            return None
        raw = await self._until(b"\r\n")
        if raw.strip(b" \t"):
            raise HttpError(400, "malformed multipart body: garbage after a boundary")
        headers: dict[str, str] = {}
        size = 0
        while line := await self._until(b"\r\n"):
            size += len(line)
            if size > _MAX_PART_HEAD_BYTES:
                raise HttpError(400, "malformed multipart body: the head of a part is too long")
            name, _, value = line.decode("utf-8", "surrogateescape").partition(":")
            headers[name.strip().lower()] = value.strip()
        self._in_part = True
        options = _parameters(headers.get("content-disposition", ""))
        return Part(options.get("name", ""), options.get("filename"))

    async def read(self) -> bytes:
        """The next piece of the present part; b"" at its end."""
        buffer = self._buffer
        while self._in_part:
            at = buffer.find(self._mark)
            if at == 0:
                del buffer[: len(self._mark)]
                self._in_part = False
                return b""
            # Without a boundary in sight, its beginning may still hide in the last bytes.
            ready = at if at > 0 else len(buffer) - len(self._mark) + 1
            if ready > 0:
                piece = bytes(buffer[:ready])
                del buffer[:ready]
                return piece
            await self._more()
        return b""

    async def _until(self, mark: bytes) -> bytes:
        while True:
            at = self._buffer.find(mark)
            if at >= 0:
                line = bytes(self._buffer[:at])
                del self._buffer[: at + len(mark)]
                return line
            if len(self._buffer) > _MAX_PART_HEAD_BYTES:
                raise HttpError(400, "malformed multipart body: the head of a part is too long")
            await self._more()

    async def _fill(self, size: int) -> None:
        while len(self._buffer) < size:
            await self._more()

    async def _more(self) -> None:
        piece = await self._read()
        if not piece:
            raise HttpError(400, "malformed multipart body: it ends before its last boundary")
        self._buffer += piece


def _parameters(header: str) -> dict[str, str]:
    """The parameters of a header such as `form-data; name="file"; filename="a b"`."""
    found: dict[str, str] = {}
    rest = header.partition(";")[2]
    while rest:
        name, equals, rest = rest.partition("=")
        name = name.strip(" ;\t").lower()
        if not equals:
            break
        rest = rest.lstrip()
        if rest.startswith('"'):
            value, rest = _quoted(rest[1:])
        else:
            value, _, rest = rest.partition(";")
            value = value.strip()
        if name.endswith("*"):
            found[name[:-1]] = percent_decode(value.rpartition("'")[2])
        else:
            found.setdefault(name, value)
    return found


def _quoted(text: str) -> tuple[str, str]:
    value: list[str] = []
    at = 0
    while at < len(text) and text[at] != '"':
        if text[at] == "\\" and text[at + 1 : at + 2] in ('"', "\\"):
            at += 1
        value.append(text[at])
        at += 1
    # Browsers and SDKs write quotes and line ends in this way, and only those.
    plain = "".join(value).replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")
    return plain, text[at + 1 :].partition(";")[2]
