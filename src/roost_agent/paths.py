"""Paths as callers write them: absolute, relative to the user's home, or with `~`."""

from __future__ import annotations

import os

from roost_agent.errors import RpcError
from roost_agent.users import User


def resolve(path: str, user: User, default_workdir: str = "") -> str:
    """The absolute path meant by `path`; an empty one means the default directory. Links are not followed."""
    if "\0" in path:
        raise RpcError("invalid_argument", "a path must not contain a NUL character")
    if not path:
        return resolve(default_workdir, user) if default_workdir else user.home
    if path == "~":
        return user.home
    if path.startswith("~/"):
        return os.path.normpath(os.path.join(user.home, path[2:]))
    if path.startswith("~"):
        raise RpcError("invalid_argument", f"cannot expand the home directory in '{path}': use '~/' or an absolute path")
    resolved = os.path.normpath(os.path.join(user.home, path))
    return resolved[1:] if resolved.startswith("//") else resolved


def make_parents(path: str, user: User) -> None:
    """Create the missing directories above `path`, owned by `user`. Raises OSError."""
    missing: list[str] = []
    directory = os.path.dirname(path)
    while directory and not os.path.lexists(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    for directory in reversed(missing):
        make_directory(directory, user)


def make_directory(path: str, user: User) -> None:
    try:
        os.mkdir(path, 0o755)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    give(path, user)


def give(path: str | int, user: User) -> None:
    """Hand a new file or directory to its user.

    Also when it is theirs already: watchers are promised a CHMOD event between CREATE and WRITE.
    """
    os.chown(path, user.uid, user.gid)
