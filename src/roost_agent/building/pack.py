"""`POST /roost/build/pack`: files of this machine, by patterns, as a tar that is made while it is sent: for another stage."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import posixpath
from collections.abc import Generator, Iterator

from roost_agent import fields
from roost_agent.errors import HttpError, RpcError, http_error, printable
from roost_agent.files.archive import SEND_BYTES, packed
from roost_agent.hooks.message import read_message
from roost_agent.http.connection import Exchange
from roost_agent.threads import in_thread

_WILD = frozenset("*?[")


class Pack:
    """{sources, keepsParents?} → a tar. What is in a directory that was asked for has its name from there on; a file that was
    asked for, its own name. 404 for a source that is not there."""

    async def __call__(self, exchange: Exchange) -> None:
        message = await read_message(exchange)
        try:
            sources, keeps_parents = fields.texts(message, "sources"), fields.flag(message, "keepsParents")
        except RpcError as error:
            raise HttpError(400, error.message) from error
        try:
            found = await in_thread(_find, sources)
        except OSError as error:
            raise http_error(error, "cannot read") from error
        exchange.begin(200, [("Content-Type", "application/x-tar")])
        with contextlib.closing(_pieces(found, keeps_parents=keeps_parents)) as pieces:
            while some := await in_thread(_gathered, pieces):
                await exchange.send(some)


def _find(sources: list[str]) -> list[str]:
    found: list[str] = []
    for source in sources:
        matches = sorted(_matches("/", [part for part in posixpath.normpath("/" + source).split("/") if part]))
        if not matches:
            raise HttpError(404, f"there is no '{printable(source)}'")
        found += matches
    return found


def _matches(directory: str, parts: list[str]) -> Iterator[str]:
    if not parts:
        yield directory
        return
    first, *rest = parts
    names: list[str] = []
    if _WILD.isdisjoint(first):
        names = [first] if os.path.lexists(posixpath.join(directory, first)) else []
    else:
        with contextlib.suppress(OSError):
            names = fnmatch.filter(os.listdir(directory), first.replace("[^", "[!"))
    for name in names:
        path = posixpath.join(directory, name)
        if not rest or os.path.isdir(path):
            yield from _matches(path, rest)


def _pieces(found: list[str], *, keeps_parents: bool) -> Generator[bytes, None, None]:
    for path in found:
        whole = path.lstrip("/")
        name = whole if keeps_parents else "." if os.path.isdir(path) else posixpath.basename(path)
        yield from packed(path, name, ends=False)
    yield bytes(1024)


def _gathered(pieces: Iterator[bytes]) -> bytes:
    ready = bytearray()
    for piece in pieces:
        ready += piece
        if len(ready) >= SEND_BYTES:
            break
    return bytes(ready)
