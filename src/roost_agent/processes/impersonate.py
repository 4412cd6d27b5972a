"""Another user's rights, for the length of one vfork.

Starting a program with another user's rights normally means a full fork, since the rights are dropped in the child.
Where forks are slow (gVisor copies the whole address space: 14 ms) that is most of the cost of a command. So the agent
takes on the rights itself, in this one thread, and the child, made with vfork, is born with them:

- Raw system calls, because the C library would change every thread, and the others may be serving files.
- The saved ids stay 0, which is the way back. Exec sets the child's own saved ids to the user's, so it has none.
- While it shares the agent's memory the child must not be traced by other programs of its user: the agent is made
  undumpable, once.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

from roost_agent.users import User

# setgroups, setresgid, setresuid
_CALLS = {"x86_64": (116, 119, 117), "aarch64": (159, 149, 147)}
_PR_SET_DUMPABLE = 4


class Impersonator:
    """Takes on users' rights. Only for root, and only where the numbers of the system calls are known."""

    def __init__(self) -> None:
        self._calls = _CALLS.get(os.uname().machine)
        self._libc: Any = None

    def can_be(self, user: User) -> bool:
        return self._calls is not None and os.geteuid() == 0 and user.uid != 0

    @contextlib.contextmanager
    def being(self, user: User) -> Iterator[None]:
        """Have the user's rights in this thread. What is started in here with vfork has them for good."""
        own_groups = os.getgroups()
        self._become(user.groups, user.gid, user.uid)
        try:
            yield
        finally:
            self._return(own_groups)

    def _become(self, groups: Sequence[int], gid: int, uid: int) -> None:
        assert self._calls is not None
        if self._libc is None:
            import ctypes

            self._ctypes = ctypes
            self._libc = ctypes.CDLL(None, use_errno=True)
            self._libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        set_groups, set_gids, set_uids = self._calls
        self._set_groups(set_groups, groups)
        try:
            self._call(set_gids, gid, gid, 0)
            self._call(set_uids, uid, uid, 0)
        except OSError:
            self._return([])
            raise

    def _return(self, groups: Sequence[int]) -> None:
        assert self._calls is not None
        set_groups, set_gids, set_uids = self._calls
        self._call(set_uids, 0, 0, 0)
        self._call(set_gids, 0, 0, 0)
        self._set_groups(set_groups, groups)

    def _set_groups(self, number: int, groups: Sequence[int]) -> None:
        array = (self._ctypes.c_uint32 * len(groups))(*groups)
        self._call(number, len(groups), array)

    def _call(self, number: int, *arguments: Any) -> None:
        plain = [self._ctypes.c_long(item) if isinstance(item, int) else item for item in arguments]
        if self._libc.syscall(self._ctypes.c_long(number), *plain) != 0:
            code = self._ctypes.get_errno()
            raise OSError(code, os.strerror(code))
