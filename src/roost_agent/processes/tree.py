"""A process and everything that came from it, found in /proc."""

from __future__ import annotations

import contextlib
import os
import signal

from roost_agent import procfs

# A tree that forks while it is being killed is walked again, this often at most.
_ROUNDS = 8


def descendants(root: int) -> set[int]:
    """The process, its session and group, and all their children, however often they called setsid."""
    found = {root}
    parents: dict[int, list[int]] = {}
    for row in procfs.rows():
        parents.setdefault(row.parent, []).append(row.pid)
        # Children whose parent has died hang below PID 1; their group or session still tells where they came from.
        if root in (row.group, row.session):
            found.add(row.pid)
    waiting = list(found)
    while waiting:
        for child in parents.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    found.discard(os.getpid())
    return found


def signal_tree(root: int, number: int) -> int:
    """Send a signal to the whole tree; how many processes got it.

    A killed tree is looked for again until nothing new is found, since it may have forked in between.
    """
    reached: set[int] = set()
    for _ in range(_ROUNDS if number == signal.SIGKILL else 1):
        fresh = descendants(root) - reached
        if not fresh:
            break
        for pid in sorted(fresh):
            reached.add(pid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
    return len(reached)
