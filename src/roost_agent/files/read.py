"""`GET /files`: the bytes of a file, whole, in part, or compressed, in constant memory."""

from __future__ import annotations

import os
import stat
import time

from roost_agent import paths
from roost_agent.access import require_token_or_signature
from roost_agent.errors import HttpError, RpcError, http_error
from roost_agent.http.connection import Exchange, Headers
from roost_agent.http.encoding import Compressor, choose_coding
from roost_agent.sandbox import Sandbox
from roost_agent.threads import in_thread
from roost_agent.users import User

CHUNK_BYTES = 1024 * 1024
# Up to here reading and compressing is quicker than handing it to a thread.
INLINE_BYTES = 128 * 1024
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".gif": "image/gif",
    ".htm": "text/html; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".mp4": "video/mp4",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webm": "video/webm",
    ".webp": "image/webp",
    ".xml": "text/xml; charset=utf-8",
}


class ReadFile:
    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, exchange: Exchange) -> None:
        require_token_or_signature(self._sandbox, exchange, "read")
        query = exchange.head.parameters()
        user = file_user(self._sandbox, query.get("username"))
        path = file_path(self._sandbox, query.get("path", ""), user)
        coding = choose_coding(exchange.head.headers.get("accept-encoding"))
        try:
            # Non-blocking: opening a pipe nobody writes to must not stop the sandbox's only agent.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except FileNotFoundError as error:
            raise HttpError(404, f"path '{path}' does not exist") from error
        except OSError as failure:
            raise http_error(failure, f"cannot read '{path}'") from failure
        try:
            await _send(exchange, descriptor, path, coding)
        finally:
            os.close(descriptor)


def file_user(sandbox: Sandbox, name: str | None) -> User:
    try:
        return sandbox.acting_user(name)
    except RpcError as error:
        raise HttpError(error.status, error.message) from error


def file_path(sandbox: Sandbox, path: str, user: User) -> str:
    try:
        return paths.resolve(path, user, sandbox.default_workdir)
    except RpcError as error:
        raise HttpError(error.status, error.message) from error


def require_regular(descriptor: int, path: str) -> os.stat_result:
    """Pipes, sockets and devices may keep a reader or writer waiting for ever, or never end."""
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise HttpError(400, f"path '{path}' is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise HttpError(400, f"path '{path}' is not a regular file")
    return status


async def _send(exchange: Exchange, descriptor: int, path: str, coding: str) -> None:
    status = require_regular(descriptor, path)
    headers = _headers(path, status)
    if status.st_size > 0 and _unchanged(exchange.head.headers, status):
        exchange.answer(304, headers=headers)
        return
    asked = exchange.head.headers.get("range")
    if status.st_size > 0 and asked and _range_applies(exchange.head.headers, status):
        span = _parse_range(asked, status.st_size)
        if span is not None:
            await _send_range(exchange, descriptor, headers, span, status.st_size)
            return
    if status.st_size > INLINE_BYTES and coding != "gzip":
        exchange.begin(200, [*headers, ("Accept-Ranges", "bytes")], status.st_size)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        await exchange.send_file(descriptor, 0, status.st_size)
        return
    # Read before anything is answered: a file of /proc or /sys may refuse, and its size is no promise.
    first = _read_first(descriptor, path, is_stored=status.st_blocks > 0)
    if coding == "gzip" and first:
        await _send_compressed(exchange, descriptor, headers, first)
        return
    if status.st_size > 0:
        headers = [*headers, ("Accept-Ranges", "bytes")]
    await _send_read(exchange, descriptor, headers, first)


def _read_first(descriptor: int, path: str, *, is_stored: bool) -> bytes:
    try:
        return os.read(descriptor, INLINE_BYTES)
    except OSError as failure:
        error = http_error(failure, f"cannot read '{path}'")
        # What the kernel makes up as it is read refuses by its nature; only what is stored can be broken.
        raise error if is_stored or error.status == 403 else HttpError(400, error.message) from failure


async def _send_range(exchange: Exchange, descriptor: int, headers: Headers, span: tuple[int, int], size: int) -> None:
    start, end = span
    if start >= end:
        exchange.answer(416, headers=[*headers, ("Content-Range", f"bytes */{size}")])
        return
    span_headers = [("Accept-Ranges", "bytes"), ("Content-Range", f"bytes {start}-{end - 1}/{size}")]
    exchange.begin(206, [*headers, *span_headers], end - start)
    await exchange.send_file(descriptor, start, end - start)


async def _send_compressed(exchange: Exchange, descriptor: int, headers: Headers, first: bytes) -> None:
    compressor = Compressor()
    headers = [*headers, ("Content-Encoding", "gzip")]
    rest = _read_some(descriptor, INLINE_BYTES)
    if not rest:
        exchange.answer(200, compressor.add(first) + compressor.finish(), headers=headers)
        return
    exchange.begin(200, headers)
    await exchange.send(compressor.add(first) + compressor.add(rest))
    while piece := await in_thread(_read_some, descriptor, CHUNK_BYTES):
        await exchange.send(await in_thread(compressor.add, piece))
    exchange.push(compressor.finish())


async def _send_read(exchange: Exchange, descriptor: int, headers: Headers, first: bytes) -> None:
    """As much as there is: files of /proc say that they are empty, those of /sys that they are a page, and neither is true."""
    rest = _read_some(descriptor, INLINE_BYTES) if first else b""
    if not rest:
        exchange.answer(200, first, headers=headers)
        return
    exchange.begin(200, headers)
    await exchange.send(first + rest)
    while piece := await in_thread(_read_some, descriptor, CHUNK_BYTES):
        await exchange.send(piece)


def _read_some(descriptor: int, size: int) -> bytes:
    try:
        return os.read(descriptor, size)
    except BlockingIOError:
        return b""


def _headers(path: str, status: os.stat_result) -> Headers:
    name = os.path.basename(path)
    return [
        ("Content-Type", _KINDS.get(os.path.splitext(name)[1].lower(), "application/octet-stream")),
        ("Content-Disposition", disposition("inline", name)),
        ("Vary", "Accept-Encoding"),
        ("Last-Modified", _http_date(status.st_mtime)),
        ("ETag", _tag(status)),
    ]


def disposition(kind: str, name: str) -> str:
    """What a browser is to do with a file, and what it is called."""
    return f"{kind}; {_filename(name)}"


def _filename(name: str) -> str:
    if name and name.isascii() and all(char.isalnum() or char in "!#$&+-.^_`|~" for char in name):
        return f"filename={name}"
    if name.isascii() and name.isprintable():
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'filename="{quoted}"'
    raw = name.encode("utf-8", "surrogateescape")
    safe = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&+-.^_`|~"
    return "filename*=utf-8''" + "".join(chr(byte) if byte in safe else f"%{byte:02X}" for byte in raw)


def _tag(status: os.stat_result) -> str:
    return f'"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"'


def _http_date(seconds: float) -> str:
    at = time.gmtime(int(seconds))
    clock = f"{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02}"
    return f"{_DAYS[at.tm_wday]}, {at.tm_mday:02} {_MONTHS[at.tm_mon - 1]} {at.tm_year} {clock} GMT"


def _unchanged(headers: dict[str, str], status: os.stat_result) -> bool:
    tags = headers.get("if-none-match")
    if tags is not None:
        return tags.strip() == "*" or _tag(status) in [tag.strip().removeprefix("W/") for tag in tags.split(",")]
    since = headers.get("if-modified-since")
    return since is not None and since.strip() == _http_date(status.st_mtime)


def _range_applies(headers: dict[str, str], status: os.stat_result) -> bool:
    condition = headers.get("if-range")
    return condition is None or condition.strip() in (_tag(status), _http_date(status.st_mtime))


def _parse_range(text: str, size: int) -> tuple[int, int] | None:
    """(start, end) of one range, empty when it lies outside; None when the header is to be ignored."""
    unit, _, spec = text.partition("=")
    first, dash, last = spec.strip().partition("-")
    first, last = first.strip(), last.strip()
    if unit.strip().lower() != "bytes" or not dash or "," in spec:
        return None
    if not all(part == "" or (part.isascii() and part.isdigit() and len(part) < 19) for part in (first, last)):
        return None
    if first == "":
        return None if last == "" else (max(0, size - int(last)), size)
    end = size if last == "" else min(size, int(last) + 1)
    if last != "" and int(last) < int(first):
        return None
    return int(first), end
