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
    """{sources, exclude?, keepsParents?} → a tar. What is in a directory that was asked for has its name from there on; a file
    that was asked for, its own name. 404 for a source that is not there; a pattern may fit nothing."""

    async def __call__(self, exchange: Exchange) -> None:
        message = await read_message(exchange)
        try:
            sources, keeps_parents = fields.texts(message, "sources"), fields.flag(message, "keepsParents")
            exclude = [_parts(pattern) for pattern in fields.texts(message, "exclude")]
        except RpcError as error:
            raise HttpError(400, error.message) from error
        try:
            found = await in_thread(_find, sources, keeps_parents)
        except OSError as error:
            raise http_error(error, "cannot read") from error
        exchange.begin(200, [("Content-Type", "application/x-tar")])
        with contextlib.closing(_pieces(found, exclude)) as pieces:
            while some := await in_thread(_gathered, pieces):
                await exchange.send(some)


def _parts(path: str) -> list[str]:
    return [part for part in posixpath.normpath("/" + path).split("/") if part]


def _find(sources: list[str], keeps_parents: bool) -> list[tuple[str, str]]:
    """Paths, and what each is called in the tar."""
    found: list[tuple[str, str]] = []
    for source in sources:
        above, _, below = source.rpartition("/./") if keeps_parents and "/./" in source else ("", "", source)
        skipped = len(_parts(above))
        parts = _parts(above) + _parts(below)
        matches = sorted(set(_matches("/", parts, any_depth=keeps_parents)))
        if not matches and _WILD.isdisjoint("".join(parts)):
            raise HttpError(404, f"there is no '{printable(source)}'")
        for path in matches:
            if keeps_parents:
                name = "/".join(_parts(path)[skipped:]) or "."
            else:
                name = "." if os.path.isdir(path) else posixpath.basename(path)
            found.append((path, name))
    return found


def _matches(directory: str, parts: list[str], *, any_depth: bool) -> Iterator[str]:
    if not parts:
        yield directory
        return
    first, *rest = parts
    names: list[str] = []
    if _WILD.isdisjoint(first):
        names = [first] if os.path.lexists(posixpath.join(directory, first)) else []
    else:
        with contextlib.suppress(OSError):
            names = os.listdir(directory)
    if any_depth and first == "**":
        yield from _matches(directory, rest, any_depth=True)
        deeper = (posixpath.join(directory, name) for name in names)
        for path in deeper:
            if os.path.isdir(path) and not os.path.islink(path):
                yield from _matches(path, parts, any_depth=True)
        return
    for name in names:
        path = posixpath.join(directory, name)
        if _fits(first, name) and (not rest or os.path.isdir(path)):
            yield from _matches(path, rest, any_depth=any_depth)


def _fits(pattern: str, name: str) -> bool:
    return pattern == name or fnmatch.fnmatchcase(name, pattern.replace("[^", "[!"))


def _pieces(found: list[tuple[str, str]], exclude: list[list[str]]) -> Generator[bytes, None, None]:
    def is_excluded(name: str) -> bool:
        return any(_stands_for(pattern, _parts(name)) for pattern in exclude)

    for path, name in found:
        if name == "." or not is_excluded(name):
            yield from packed(path, name, ends=False, leaves_out=is_excluded)
    yield bytes(1024)


def _stands_for(pattern: list[str], names: list[str]) -> bool:
    """Whether a pattern fits the names; a part `**` is any number of them."""
    reached = {0}
    for name in (*names, None):
        for place in sorted(reached):
            while place < len(pattern) and pattern[place] == "**":
                place += 1
                reached.add(place)
        if name is not None:
            inside = {place for place in reached if place < len(pattern)}
            stays = {place for place in inside if pattern[place] == "**"}
            reached = stays | {place + 1 for place in inside - stays if _fits(pattern[place], name)}
    return len(pattern) in reached


def _gathered(pieces: Iterator[bytes]) -> bytes:
    ready = bytearray()
    for piece in pieces:
        ready += piece
        if len(ready) >= SEND_BYTES:
            break
    return bytes(ready)
