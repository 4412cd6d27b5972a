"""One `runsc` command, to its end or to its deadline."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

from roost.drivers.runtime.gvisor import host

_ENDS_WITHIN_S = 5.0  # after a SIGKILL: longer only where the kernel itself is stuck, and that is not waited for


@contextlib.contextmanager
def complaint_file(folder: Path) -> Iterator[Path]:
    """An empty file for what a command complains about, removed afterwards."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"complaint-{os.urandom(6).hex()}"
    path.touch(mode=0o600)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


async def run_command(command: Sequence[str], complaint: Path, *, limit_s: float) -> tuple[int, str]:
    """Its exit code and what it complained about. What it starts outlives it and inherits no pipe.

    After `limit_s`, or when cancelled, it is killed; what it had started is the caller's business."""
    process = _spawn(command)
    with host.opened(process.pid) as descriptor:
        assert descriptor is not None, "a child that nobody waited for keeps its number"
        try:
            with anyio.move_on_after(limit_s):
                await host.ended(descriptor)
                code = process.wait()  # at once: it has ended
                return code, _last_words(complaint) if code else ""
        finally:
            if process.returncode is None:
                await _kill(process, descriptor)
    return -signal.SIGKILL, f"not done within {limit_s:g} s"


def _spawn(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Not by the loop's own call: that forks, which copies the page tables of the whole server and makes it pay again for each
    page that it writes to afterwards. This one lends the child its memory until the command has started. Does not wait."""
    nothing = subprocess.DEVNULL
    # In a session of its own: a Ctrl-C at the server's terminal is not for the sandboxes.
    return subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)


async def _kill(process: subprocess.Popen[bytes], descriptor: int) -> None:
    process.kill()
    with anyio.move_on_after(_ENDS_WITHIN_S, shield=True):
        await host.ended(descriptor)
        process.wait()


def _last_words(log: Path) -> str:
    """The engine's own reason, without the time stamps of its log."""
    return "; ".join(_complaints(log)) or "it gave no reason"


def _complaints(log: Path) -> Iterator[str]:
    for line in log.read_text(errors="replace").splitlines()[-12:]:
        text = line.partition("] ")[2] or line
        if text.strip():
            yield text.strip()[:500]
