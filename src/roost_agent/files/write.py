"""`POST /files`: files from a raw or a multipart body, written as they arrive."""

from __future__ import annotations

import errno
import os

from roost_agent import paths
from roost_agent.access import require_token_or_signature
from roost_agent.connect import Message
from roost_agent.errors import HttpError, http_error
from roost_agent.files import entry, metadata
from roost_agent.files.multipart import Multipart, Read
from roost_agent.files.read import file_path, file_user, require_regular
from roost_agent.http.connection import Exchange
from roost_agent.http.encoding import Decompressor
from roost_agent.sandbox import Sandbox
from roost_agent.threads import in_thread
from roost_agent.users import User

# Written in one go; more than this is gathered first, and written in a thread.
FLUSH_BYTES = 1024 * 1024


class WriteFiles:
    """Parents are created, files truncated, both given to the user.

    The order create, chown, write is promised to watchers, so nothing is written aside and renamed into place.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, exchange: Exchange) -> None:
        require_token_or_signature(self._sandbox, exchange, "write")
        headers = exchange.head.headers
        query = exchange.head.parameters()
        user = file_user(self._sandbox, query.get("username"))
        kept = metadata.from_headers(headers)
        read = _body_reader(exchange)
        kind = headers.get("content-type", "")
        plain_kind = kind.partition(";")[0].strip().lower()
        given = query.get("path")
        if plain_kind == "multipart/form-data":
            answer = await self._write_parts(Multipart(read, kind), given, user, kept)
        elif plain_kind == "application/octet-stream":
            if not given:
                raise HttpError(400, "the query parameter 'path' is missing: say where to write")
            path = file_path(self._sandbox, given, user)
            answer = [await _write_file(path, user, kept, read)]
        else:
            raise HttpError(
                400, f"content type '{plain_kind}' is not supported; use multipart/form-data or application/octet-stream"
            )
        exchange.answer_json(answer)

    async def _write_parts(self, body: Multipart, given: str | None, user: User, kept: dict[str, str]) -> list[Message]:
        answer: list[Message] = []
        seen: set[str] = set()
        while (part := await body.next_part()) is not None:
            if part.name != "file":
                continue
            name = given or part.filename
            if not name:
                raise HttpError(400, "a part has no file name, and the query no 'path': say where to write")
            path = file_path(self._sandbox, name, user)
            if path in seen:
                raise HttpError(400, f"'{path}' is uploaded twice in one request")
            seen.add(path)
            answer.append(await _write_file(path, user, kept, body.read))
        return answer


def _body_reader(exchange: Exchange) -> Read:
    """The body as it was meant, whatever its content coding."""
    coding = exchange.head.headers.get("content-encoding", "identity").strip().lower()
    body = exchange.body
    if coding in ("identity", ""):
        return body.read
    if coding != "gzip":
        raise HttpError(400, f"content coding '{coding}' is not supported; use gzip or none")
    inflating = Decompressor()

    async def read() -> bytes:
        while not (piece := inflating.take()):
            raw = await body.read()
            if not raw:
                inflating.finish()
                return b""
            inflating.feed(raw)
        return piece

    return read


async def _write_file(path: str, user: User, kept: dict[str, str], read: Read) -> Message:
    try:
        paths.make_parents(path, user)
        # Non-blocking: a pipe without a reader is an error, not a stop.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_NOCTTY, 0o666)
    except OSError as failure:
        raise _write_error(failure, path) from failure
    try:
        require_regular(descriptor, path)
        paths.give(descriptor, user)
        await _pour(read, descriptor)
        metadata.replace(descriptor, kept)
    except OSError as failure:
        raise _write_error(failure, path) from failure
    finally:
        os.close(descriptor)
    return entry.written(path, kept)


def _write_error(failure: OSError, path: str) -> HttpError:
    if failure.errno in (errno.EISDIR, errno.ENOTSUP):
        return HttpError(400, f"cannot write '{path}': {failure.strerror}")
    if failure.errno == errno.EEXIST:
        return HttpError(400, f"cannot write '{path}': a parent is not a directory")
    return http_error(failure, f"cannot write '{path}'")


async def _pour(read: Read, descriptor: int) -> None:
    gathered: list[bytes] = []
    size = 0
    while piece := await read():
        gathered.append(piece)
        size += len(piece)
        if size >= FLUSH_BYTES:
            await in_thread(_write_all, descriptor, gathered)
            gathered, size = [], 0
    if gathered:
        _write_all(descriptor, gathered)


def _write_all(descriptor: int, pieces: list[bytes]) -> None:
    for piece in pieces:
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]
