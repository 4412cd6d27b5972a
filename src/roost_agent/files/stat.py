"""`Stat`: what a path is."""

from __future__ import annotations

from roost_agent import fields, paths
from roost_agent.connect import Call, Message
from roost_agent.errors import RpcError, rpc_error
from roost_agent.files.entry import describe
from roost_agent.sandbox import Sandbox


class Stat:
    """Stat {path} → {entry}. A path with nothing there is `not_found`."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, call: Call, message: Message) -> Message:
        path = path_of(self._sandbox, call, message, "path")
        try:
            return {"entry": describe(path, self._sandbox.users)}
        except FileNotFoundError as error:
            raise RpcError("not_found", f"path '{path}' does not exist") from error
        except OSError as failure:
            raise rpc_error(failure, f"cannot look at '{path}'") from failure


def path_of(sandbox: Sandbox, call: Call, message: Message, name: str) -> str:
    """The absolute path in a field, as the caller's user means it."""
    return paths.resolve(fields.text(message, name), sandbox.acting_user(call.user_name), sandbox.default_workdir)
