"""`POST /files/compose`: one file out of several."""

from __future__ import annotations

import errno
import json
import os

from roost_agent import fields, paths
from roost_agent.errors import HttpError, RpcError, http_error
from roost_agent.files import entry
from roost_agent.files.read import file_path, file_user, require_regular
from roost_agent.http.connection import Exchange
from roost_agent.sandbox import Sandbox
from roost_agent.threads import in_thread
from roost_agent.users import User

_MAX_REQUEST_BYTES = 4 * 1024 * 1024
_COPY_BYTES = 8 * 1024 * 1024


class Compose:
    """{source_paths, destination, username?} → the destination holds the sources in their order; they are gone."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, exchange: Exchange) -> None:
        try:
            request = json.loads(await exchange.body.read_all(_MAX_REQUEST_BYTES) or b"{}")
            if not isinstance(request, dict):
                raise HttpError(400, "the request must be a JSON object")
            given = fields.texts(request, "source_paths")
            destination = fields.text(request, "destination")
            user = file_user(self._sandbox, fields.text(request, "username") or None)
        except (ValueError, RecursionError) as error:
            raise HttpError(400, f"the request is not valid JSON: {error}") from error
        except RpcError as error:
            raise HttpError(400, error.message) from error
        if not given or not destination:
            raise HttpError(400, "'source_paths' and 'destination' must both be given")
        sources = [file_path(self._sandbox, path, user) for path in given]
        target = file_path(self._sandbox, destination, user)
        if target in sources:
            raise HttpError(400, "the destination must not be one of the sources")
        try:
            await in_thread(_join, sources, target, user)
        except FileNotFoundError as failure:
            raise HttpError(404, f"path '{failure.filename}' does not exist") from failure
        except OSError as failure:
            raise http_error(failure, f"cannot compose '{target}'") from failure
        exchange.answer_json(entry.written(target, {}))


def _join(sources: list[str], target: str, user: User) -> None:
    opened: list[int] = []
    try:
        for path in sources:
            opened.append(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY))
            require_regular(opened[-1], path)
        paths.make_parents(target, user)
        into = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_NOCTTY, 0o666)
        opened.append(into)
        require_regular(into, target)
        paths.give(into, user)
        for source in opened[:-1]:
            _append(source, into)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    for path in dict.fromkeys(sources):
        os.unlink(path)


def _append(source: int, into: int) -> None:
    try:
        while os.copy_file_range(source, into, _COPY_BYTES):
            pass
    except OSError as failure:
        if failure.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            raise
    # What the kernel could not move by itself; nothing, when it could.
    while piece := os.read(source, 1024 * 1024):
        view = memoryview(piece)
        while view:
            view = view[os.write(into, view) :]
