"""`Remove`: a file, or a directory with all it holds."""

from __future__ import annotations

import contextlib
import os
import stat

from roost_agent.connect import Call, Message
from roost_agent.errors import RpcError, rpc_error
from roost_agent.files.stat import path_of
from roost_agent.sandbox import Sandbox
from roost_agent.threads import in_thread


class Remove:
    """Remove {path} → {}. A path with nothing there is a success: it is gone."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, call: Call, message: Message) -> Message:
        if not message.get("path"):
            raise RpcError("invalid_argument", "field 'path' is missing: say what to remove")
        path = path_of(self._sandbox, call, message, "path")
        try:
            if stat.S_ISDIR(os.lstat(path).st_mode):
                await in_thread(_remove_tree, path)
            else:
                os.unlink(path)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as failure:
            raise rpc_error(failure, f"cannot remove '{path}'") from failure
        return {}


def _remove_tree(top: str) -> None:
    # From the deepest up; links are unlinked, never entered.
    for directory, subdirectories, names in os.walk(top, topdown=False):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, name))
        for name in subdirectories:
            path = os.path.join(directory, name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path) if os.path.islink(path) else os.rmdir(path)
    os.rmdir(top)
