"""The engine's processes on the host: which they are, and how to know that one has ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

import anyio

_STANDS_STILL = (b"T", b"t", b"Z", b"X")
_LOOKS_AGAIN_S = 0.0005


def find_strays(container: str, root: str) -> list[int]:
    """The engine's processes that speak of the container. Blocks for milliseconds."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if {root.encode(), container.encode()} <= set(words_of(pid))]


def words_of(pid: int) -> list[bytes]:
    """The command line of a process; nothing of one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def is_sentry(pid: int, container: str) -> bool:
    """The state file outlives a crash of the machine's process table: make sure the number is still that process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return container.encode() in words_of(pid) and stat.rpartition(")")[2].split()[0] not in ("Z", "X")


@contextlib.contextmanager
def opened(pid: int) -> Iterator[int | None]:
    """A descriptor that means this process for good; None when there is none of that number."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def ended(process: int) -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(process, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(process)


def send(pid: int, container: str, number: signal.Signals) -> bool:
    """The container's process of that number has the signal. False when there is none."""
    with opened(pid) as process:
        if process is None or not is_sentry(pid, container):
            return False
        signal.pidfd_send_signal(process, number)
        return True


async def stop(pid: int, container: str) -> bool:
    """No thread of the container's process of that number runs any more. False when there is none."""
    if not send(pid, container, signal.SIGSTOP):
        return False
    # The signal reaches one thread, which tells the others: until the last of them knows, they go on, and may make more.
    still: set[str] = set()
    while left := [thread for thread in _threads(pid) if thread not in still]:
        stopped = [thread for thread in left if _stands_still(thread)]
        still.update(stopped)
        if len(stopped) < len(left):
            await anyio.sleep(_LOOKS_AGAIN_S)
    return True


def is_stopped(pid: int) -> bool:
    """Whether no thread of it runs; also of one that has ended. Blocks for part of a millisecond."""
    return all(_stands_still(thread) for thread in _threads(pid))


def _threads(pid: int) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _stands_still(thread: str) -> bool:
    """An engine has a hundred of them on a large machine: no more is done here than has to be."""
    try:
        descriptor = os.open(f"{thread}/stat", os.O_RDONLY)
    except OSError:
        return True
    try:
        stat = os.read(descriptor, 512)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return stat[stat.rfind(b")") + 2 :][:1] in _STANDS_STILL


async def kill(pids: Iterable[int | None], container: str) -> None:
    """Those of them that are processes of the container have ended."""
    with contextlib.ExitStack() as stack:
        processes: list[int] = []
        for pid in filter(None, pids):
            process = stack.enter_context(opened(pid))
            # Looked at only now that a descriptor holds it: from here on the number cannot become a stranger's.
            if process is not None and container.encode() in words_of(pid):
                processes.append(process)
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, signal.SIGKILL)
        for process in processes:
            await ended(process)
