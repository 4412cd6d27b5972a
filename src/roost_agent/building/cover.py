"""`POST /roost/build/cover` and `/roost/build/uncover`: a directory lies over another one while a command runs.

What is written there meanwhile is in the covering directory, and the one below is as it was.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

from roost_agent import fields
from roost_agent.connect import Message
from roost_agent.errors import HttpError, RpcError
from roost_agent.hooks.message import read_message
from roost_agent.http.connection import Exchange
from roost_agent.sandbox import Sandbox
from roost_agent.threads import in_thread
from roost_agent.users import UnknownUser

_MS_BIND = 4096
_MNT_DETACH = 2


class Cover:
    """{path, by, owner, mode} → `by`, made if it is missing, lies over `path`, which is made if it is missing."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, exchange: Exchange) -> None:
        message = await read_message(exchange)
        path, by = _paths(message)
        try:
            owner = self._sandbox.users.find(fields.text(message, "owner") or "0:0")
            mode = fields.whole_number(message, "mode", 0o755)
        except (UnknownUser, RpcError) as error:
            raise HttpError(400, f"a cache cannot belong to '{message.get('owner')}': {error}") from error
        try:
            await in_thread(_cover, path, by, (owner.uid, owner.gid), mode)
        except OSError as error:
            raise HttpError(400, f"cannot mount at '{path}': {error.strerror or error}") from error
        exchange.answer(204)


async def uncover(exchange: Exchange) -> None:
    """{path} → nothing lies over it. May be repeated."""
    path, _ = _paths({"by": "/", **await read_message(exchange)})
    await in_thread(_uncover, path)
    exchange.answer(204)


def _paths(message: Message) -> tuple[str, str]:
    try:
        path, by = fields.text(message, "path"), fields.text(message, "by")
    except RpcError as error:
        raise HttpError(400, error.message) from error
    if not path.startswith("/") or not by.startswith("/"):
        raise HttpError(400, "'path' and 'by' must be absolute paths")
    return path, by


def _cover(path: str, by: str, owner: tuple[int, int], mode: int) -> None:
    if not os.path.isdir(by):
        os.makedirs(by)
        os.chown(by, *owner)
        os.chmod(by, mode)
    os.makedirs(path, exist_ok=True)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(by.encode(), path.encode(), b"none", ctypes.c_ulong(_MS_BIND), None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _uncover(path: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.umount2(path.encode(), _MNT_DETACH)
    with contextlib.suppress(OSError):
        os.rmdir(path)  # made for this; one that holds something stays
