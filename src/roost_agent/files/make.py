"""`MakeDir`: a directory and the ones above it."""

from __future__ import annotations

import os

from roost_agent import paths
from roost_agent.connect import Call, Message
from roost_agent.errors import RpcError, rpc_error
from roost_agent.files.entry import describe
from roost_agent.files.stat import path_of
from roost_agent.sandbox import Sandbox


class MakeDir:
    """MakeDir {path} → {entry}. A directory that is there is `already_exists`, a file `invalid_argument`."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, call: Call, message: Message) -> Message:
        path = path_of(self._sandbox, call, message, "path")
        user = self._sandbox.acting_user(call.user_name)
        _require_nothing_at(path)
        try:
            paths.make_parents(path, user)
            paths.make_directory(path, user)
            return {"entry": describe(path, self._sandbox.users)}
        except FileExistsError as error:
            raise RpcError("invalid_argument", f"a parent of '{path}' is not a directory") from error
        except OSError as failure:
            raise rpc_error(failure, f"cannot make directory '{path}'") from failure


def _require_nothing_at(path: str) -> None:
    if os.path.isdir(path):
        raise RpcError("already_exists", f"directory already exists: '{path}'")
    if os.path.lexists(path):
        raise RpcError("invalid_argument", f"path already exists but it is not a directory: '{path}'")
