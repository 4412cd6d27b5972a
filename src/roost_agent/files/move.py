"""`Move`: a file or a directory to another place."""

from __future__ import annotations

import errno
import os

from roost_agent import paths
from roost_agent.connect import Call, Message
from roost_agent.errors import RpcError, rpc_error
from roost_agent.files.entry import describe
from roost_agent.files.stat import path_of
from roost_agent.sandbox import Sandbox
from roost_agent.threads import in_thread


class Move:
    """Move {source, destination} → {entry}. Parents of the destination are created."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, call: Call, message: Message) -> Message:
        source = path_of(self._sandbox, call, message, "source")
        destination = path_of(self._sandbox, call, message, "destination")
        user = self._sandbox.acting_user(call.user_name)
        try:
            os.lstat(source)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise RpcError("not_found", f"source file not found: '{source}'") from error
        try:
            paths.make_parents(destination, user)
            try:
                os.rename(source, destination)
            except OSError as failure:
                if failure.errno != errno.EXDEV:
                    raise
                await in_thread(_carry, source, destination)
            return {"entry": describe(destination, self._sandbox.users)}
        except OSError as failure:
            raise rpc_error(failure, f"cannot move '{source}' to '{destination}'") from failure


def _carry(source: str, destination: str) -> None:
    """Across filesystems (/tmp is one of its own) a move is a copy and a removal, owners kept."""
    import shutil  # Rarely needed, and not small.

    def copy(one: str, other: str) -> str:
        shutil.copy2(one, other, follow_symlinks=False)
        status = os.lstat(one)
        os.chown(other, status.st_uid, status.st_gid, follow_symlinks=False)
        return other

    if os.path.isdir(source) and not os.path.islink(source):
        shutil.copytree(source, destination, symlinks=True, copy_function=copy)
        for directory, _, _ in os.walk(source):
            status = os.lstat(directory)
            os.chown(destination + directory[len(source) :], status.st_uid, status.st_gid)
        shutil.rmtree(source)
    else:
        copy(source, destination)
        os.unlink(source)
