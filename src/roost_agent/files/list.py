"""`ListDir`: what a directory holds, as deep as asked."""

from __future__ import annotations

import contextlib
import os
import stat

from roost_agent import fields
from roost_agent.connect import Call, Message
from roost_agent.errors import RpcError, rpc_error
from roost_agent.files.entry import describe
from roost_agent.files.stat import path_of
from roost_agent.sandbox import Sandbox
from roost_agent.threads import in_thread


class ListDir:
    """ListDir {path, depth} → {entries}: depth first, in the order of their names. Links below are not followed."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, call: Call, message: Message) -> Message:
        path = path_of(self._sandbox, call, message, "path")
        depth = fields.whole_number(message, "depth") or 1
        if depth < 0:
            raise RpcError("invalid_argument", "field 'depth' must not be negative")
        try:
            if not stat.S_ISDIR(os.stat(path).st_mode):
                raise RpcError("invalid_argument", f"path '{path}' is not a directory")
            return {"entries": await in_thread(self._walk, path, depth)}
        except FileNotFoundError as error:
            raise RpcError("not_found", f"path '{path}' does not exist") from error
        except OSError as failure:
            raise rpc_error(failure, f"cannot list '{path}'") from failure

    def _walk(self, top: str, depth: int) -> list[Message]:
        entries: list[Message] = []
        # Directories still to be entered, the next one last: a deep tree must not exhaust the stack.
        waiting: list[tuple[str, int]] = [(os.path.join(top, name), 1) for name in sorted(os.listdir(top), reverse=True)]
        while waiting:
            path, level = waiting.pop()
            with contextlib.suppress(FileNotFoundError):  # Gone since its directory was read.
                status = os.lstat(path)
                entries.append(describe(path, self._sandbox.users, status))
                if level < depth and stat.S_ISDIR(status.st_mode):
                    names = sorted(os.listdir(path), reverse=True)
                    waiting.extend((os.path.join(path, name), level + 1) for name in names)
        return entries
