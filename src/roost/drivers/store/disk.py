"""When a commit to SQLite's write-ahead log is on the disk.

To commit is to append to that log, which takes microseconds; to wait for the disk takes milliseconds. So nobody holds the
writer's turn while waiting, and commits that come while the disk is busy share the next wait.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio

Sync = Callable[[Path], None]


def sync_log(log: Path) -> None:
    """What was written to the log is on the disk. Blocks. (Opened each time: SQLite makes the file anew when it needs to, and
    its locks are on other files, so that closing this one gives none of them up.)"""
    log_file = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fdatasync(log_file)
    finally:
        os.close(log_file)


class Commit:
    """One that was made. It may be told of when it is on the disk and those before it were told of."""

    def __init__(self, previous: Commit | None) -> None:
        self._previous = previous
        self._told = anyio.Event()
        self.on_disk = anyio.Event()
        self.error: OSError | None = None

    async def wait(self) -> None:
        """Returns when it is this one's turn to be told of. Raises OSError when the disk did not take it."""
        await self.on_disk.wait()
        if self._previous is not None:
            await self._previous._told.wait()
        if self.error is not None:
            raise self.error

    def end(self) -> None:
        """It was told of, or never will be."""
        self._previous = None
        self._told.set()


class Disk:
    """The commits on their way to the disk of one database. After a failure nothing of it is certain: see `failure`."""

    def __init__(self, log: Path, sync: Sync = sync_log) -> None:
        self._log = log
        self._sync = sync
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="roost-store-disk")
        self._last: Commit | None = None
        self._waiting: list[Commit] = []
        self._syncing: list[Commit] = []
        self.failure: OSError | None = None
        """A disk that failed once has dropped what it was to write, and may say that all is well the next time."""

    def add(self, *, durable: bool) -> Commit:
        """A commit was made just now. One that is not durable waits only for those before it."""
        commit = self._last = Commit(self._last)
        if durable:
            self._waiting.append(commit)
            self._start()
        else:
            commit.on_disk.set()
        return commit

    async def settle(self) -> None:
        """Returns when what was committed by now is on the disk, or has failed to get there."""
        for commit in (self._waiting or self._syncing)[-1:]:
            await commit.on_disk.wait()

    def close(self) -> None:
        """Nobody waits any more."""
        self._thread.shutdown(wait=False)

    def _start(self) -> None:
        if self._waiting and not self._syncing:
            self._syncing, self._waiting = self._waiting, []
            # Not a task of whoever committed first: that one may be cancelled, and the others wait too.
            asyncio.get_running_loop().run_in_executor(self._thread, self._sync, self._log).add_done_callback(self._synced)

    def _synced(self, done: asyncio.Future[None]) -> None:
        if done.cancelled():
            return  # the loop ends
        error = done.exception()
        if error is not None:
            self.failure = error if isinstance(error, OSError) else OSError(str(error))
        synced, self._syncing = self._syncing, []
        for commit in synced:
            commit.error = self.failure
            commit.on_disk.set()
        self._start()
