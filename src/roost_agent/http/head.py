"""Request heads: from bytes to a `Head`, or to a sentence saying what is wrong with them. No I/O."""

from __future__ import annotations

from roost_agent.errors import HttpError

MAX_HEAD_BYTES = 64 * 1024

_TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_HEX = frozenset(b"0123456789abcdefABCDEF")


class Head:
    """Method, target and headers of one request. Header names are lower case; repeated ones are joined by a comma."""

    __slots__ = ("chunked", "content_length", "headers", "keep_alive", "method", "path", "query", "version")

    def __init__(self, method: str, target: str, version: str, headers: dict[str, str]) -> None:
        self.method = method
        self.version = version
        self.headers = headers
        path, _, query = target.partition("?")
        self.path = path
        self.query = query
        self.chunked = _is_chunked(headers, version)
        self.content_length = _content_length(headers, self.chunked)
        options = headers.get("connection", "").lower()
        self.keep_alive = "close" not in options and (version == "1.1" or "keep-alive" in options)

    def parameters(self) -> dict[str, str]:
        """The query, decoded; the first of several equal names wins."""
        found: dict[str, str] = {}
        for pair in self.query.split("&"):
            if pair:
                name, _, value = pair.partition("=")
                found.setdefault(percent_decode(name, plus_is_space=True), percent_decode(value, plus_is_space=True))
        return found


def whole_parameter(head: Head, name: str, *, default: int, most: int) -> int:
    """A whole number from the query, from 1 to `most`. Raises HttpError 400."""
    value = head.parameters().get(name)
    if value is None:
        return default
    if not (value.isascii() and value.isdigit() and len(value) < 10 and 1 <= int(value) <= most):
        raise HttpError(400, f"{name} must be a whole number from 1 to {most}, not {value!r}")
    return int(value)


def parse_head(raw: bytes) -> Head:
    """Parse everything up to and including the empty line. Raises HttpError 400 or 505."""
    lines = raw[:-4].split(b"\r\n")
    parts = lines[0].split(b" ")
    if len(parts) != 3:
        raise HttpError(400, "malformed request line: expected 'METHOD target HTTP/1.1'")
    method, target, protocol = parts
    if not method or not _TOKEN.issuperset(method):
        raise HttpError(400, "malformed request method")
    if protocol not in (b"HTTP/1.1", b"HTTP/1.0"):
        known = protocol.startswith(b"HTTP/")
        raise HttpError(505 if known else 400, "this server speaks HTTP/1.1")
    path = _origin_form(target)
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, value = _parse_field(line)
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    if protocol == b"HTTP/1.1" and "host" not in headers:
        raise HttpError(400, "the Host header is missing")
    return Head(method.decode("ascii"), path, protocol[5:].decode("ascii"), headers)


def _origin_form(target: bytes) -> str:
    if not target or any(byte <= 0x20 or byte == 0x7F for byte in target):
        raise HttpError(400, "malformed request target")
    if target[:1] != b"/" and target != b"*":
        scheme, found, rest = target.partition(b"://")
        if not found or scheme.lower() not in (b"http", b"https"):
            raise HttpError(400, "malformed request target: a path is expected")
        target = b"/" + rest.partition(b"/")[2]
    return target.decode("utf-8", "surrogateescape")


def _parse_field(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or not name or not _TOKEN.issuperset(name):
        raise HttpError(400, "malformed header line")
    value = value.strip(b" \t")
    if b"\0" in value or b"\n" in value or b"\r" in value:
        raise HttpError(400, "malformed header value")
    return name.decode("ascii").lower(), value.decode("utf-8", "surrogateescape")


def _is_chunked(headers: dict[str, str], version: str) -> bool:
    coding = headers.get("transfer-encoding")
    if coding is None:
        return False
    if version == "1.0" or coding.strip().lower() != "chunked":
        raise HttpError(501 if version == "1.1" else 400, f"transfer coding {coding!r} is not supported")
    if "content-length" in headers:
        raise HttpError(400, "both Transfer-Encoding and Content-Length are given")
    return True


def _content_length(headers: dict[str, str], chunked: bool) -> int:
    value = headers.get("content-length")
    if value is None or chunked:
        return 0
    lengths = {part.strip() for part in value.split(",")}
    length = lengths.pop()
    if lengths or not (length.isascii() and length.isdigit()) or len(length) > 18:
        raise HttpError(400, "malformed Content-Length")
    return int(length)


def parse_chunk_size(line: bytes) -> int:
    """The size in a chunk's first line; its extensions are ignored."""
    digits = line.partition(b";")[0].strip(b" \t")
    if not digits or len(digits) > 15 or not _HEX.issuperset(digits):
        raise HttpError(400, "malformed chunk size")
    return int(digits, 16)


def percent_decode(text: str, *, plus_is_space: bool = False) -> str:
    if plus_is_space:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    head, *rest = text.encode("utf-8", "surrogateescape").split(b"%")
    decoded = bytearray(head)
    for piece in rest:
        digits = piece[:2]
        if len(digits) == 2 and _HEX.issuperset(digits):
            decoded.append(int(digits, 16))
            decoded += piece[2:]
        else:
            decoded += b"%" + piece
    return decoded.decode("utf-8", "surrogateescape")
