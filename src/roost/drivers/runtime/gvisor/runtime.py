"""The gVisor driver."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import math
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any

import anyio
import anyio.to_thread
import structlog

from roost.contracts.runtime import Capabilities, Inspection
from roost.domain.errors import EngineFailed, SandboxLost
from roost.domain.victims import GuestProcess
from roost.drivers.runtime.gvisor import host
from roost.drivers.runtime.gvisor import socket as control
from roost.drivers.runtime.gvisor.command import complaint_file, run_command

# These must be the same for run, checkpoint and restore; the manifest records them.
FLAGS = (
    "--platform=systrap",
    "--network=sandbox",
    "--overlay2=none",
    "--allow-suid",
    "--allow-connected-on-save=true",
)
_MNT_DETACH = 2
_LOOKS_EVERY_S = 1.0
_RUNNING, _FROZEN = "running", "frozen"
_TASK, _STOPPED = "kernel.(*Task).run(", "kernel.(*Task).doStop("
_IMAGE_FILES = ("checkpoint.img", "pages_meta.img", "pages.img")  # in the order the sentry wants them


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class EngineDeadlines:
    """How long the engine may take. Nothing waits for it without an end: a machine that is very busy takes a hundred times what
    an idle one does, and an engine that hangs takes for ever."""

    launch_s: float = 120.0  # run, restore: a fifth of a second on an idle machine
    slowest_bytes_per_s: float = 10 << 20  # what a restore is given more, for its image
    call_s: float = 30.0  # by the control socket: milliseconds
    stall_s: float = 120.0  # a checkpoint takes as long as its memory is large, but must get on
    end_s: float = 60.0  # delete, and processes that were killed

    def restore_s(self, image_bytes: int) -> float:
        return self.launch_s + image_bytes / self.slowest_bytes_per_s


class GVisor:
    """`contracts.runtime.Runtime` on one `runsc` of one version."""

    def __init__(self, *, runsc: Path, version: str, state: Path, patience: EngineDeadlines | None = None) -> None:
        self._runsc = runsc
        self._patience = patience or EngineDeadlines()
        self._state = state  # runsc's --root: short, on a filesystem that a reboot empties
        # The sentry counts freezes, tells nobody, and a thaw too many kills it. So it is written down too, for the next server.
        self._frozen: dict[str, bool] = {}
        self._capabilities = Capabilities(engine=f"gvisor {version}", flags=FLAGS, memory=True, connections=True)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def start(self, container: str, bundle: Path) -> None:
        command = ("run", "-detach", f"-bundle={bundle}", container)
        await self._launch(container, "boot", command, self._patience.launch_s)

    async def restore(self, container: str, bundle: Path, image: Path) -> None:
        size = await anyio.to_thread.run_sync(_size_of, image)
        command = ("restore", "-detach", f"-bundle={bundle}", f"-image-path={image}", container)
        await self._launch(container, "restore", command, self._patience.restore_s(size))

    async def freeze(self, container: str, *, deep: bool = False) -> None:
        pid = self._sentry(container)
        if self._noted_frozen(container) and host.is_stopped(pid):
            if deep:
                return
            self._send(container, Signals.SIGCONT)
        elif deep:
            self._send(container, Signals.SIGCONT)  # an earlier server may have stopped it: who is stopped cannot be asked
        if not await self._is_frozen(container):
            await self._turn(container, "Pause", frozen=True)
        if deep and not await host.stop(pid, container):
            raise SandboxLost(container, "its process is gone")

    async def thaw(self, container: str) -> None:
        self._send(container, Signals.SIGCONT)
        if await self._is_frozen(container):
            await self._turn(container, "Resume", frozen=False)

    async def checkpoint(self, container: str, into: Path) -> None:
        with contextlib.ExitStack() as opened:
            try:
                files = [opened.enter_context((into / name).open("x+b", buffering=0)) for name in _IMAGE_FILES]
            except OSError as error:
                raise EngineFailed(f"checkpoint container {container}", f"{into} is not an empty directory ({error})") from error
            # "Resume" leaves it as it was: frozen. Without it the sentry kills the sandbox even when the save fails.
            options = {"metadata": {"compression": "none"}, "have_pages_file": True, "Resume": True}
            await self._write_image(container, options, [file.fileno() for file in files])

    async def kill(self, container: str) -> None:
        was_launched_here = self._frozen.pop(container, None) is not None
        found = self._read_state(container)
        pid = _sandbox_pid(found) if found else None
        with anyio.move_on_after(self._patience.end_s) as limit:
            # Not by the engine's own command: it kills whoever has the numbers that it once wrote down, who may be strangers by
            # now. It also takes 20 ms of processor time for what two signals do.
            is_there = pid is not None and host.is_sentry(pid, container)
            if found is not None and is_there:
                await host.kill((pid, found.get("goferPid")), container)
            if not is_there or not was_launched_here:
                await self._kill_strays(container)
        if limit.cancelled_caught:
            raise EngineFailed(f"kill container {container}", f"its processes did not end within {self._patience.end_s:g} s")
        self._forget(container, found)

    async def inspect(self, container: str) -> Inspection:
        found = self._read_state(container)
        pid = _sandbox_pid(found) if found else None
        if pid is None or not host.is_sentry(pid, container):
            return Inspection(alive=False, pid=None)
        return Inspection(alive=True, pid=pid)

    async def processes(self, container: str, *, in_full: bool = True) -> tuple[GuestProcess, ...]:
        try:
            listed = await self._call(container, "Processes", container)
            dumped = await self._call(container, "ProcfsDump") if in_full else ()
        except (SandboxLost, EngineFailed):
            return ()
        return tuple(_process_facts(listed or (), dumped or ()))

    async def signal(self, container: str, pid: int, number: int) -> None:
        with contextlib.suppress(EngineFailed):  # no such process any more
            await self._call(container, "Signal", {"CID": container, "Signo": number, "PID": pid, "Mode": 0})

    async def wait(self, container: str) -> None:
        inspection = await self.inspect(container)
        if inspection.pid is None:
            return
        with host.opened(inspection.pid) as process:
            if process is not None:
                await host.ended(process)

    def dispose(self) -> None:
        """Nothing of the engine's own is left on the machine. Only when no container is. Blocks for a moment."""
        # The engine mounts an empty network namespace there; containers that start first side by side, one over the other.
        namespace = self._state / "null-netns"
        libc = ctypes.CDLL(None, use_errno=True)
        while libc.umount2(os.fsencode(namespace), _MNT_DETACH) == 0:
            continue
        if (number := ctypes.get_errno()) not in (errno.EINVAL, errno.ENOENT):  # what is not mounted, or not there
            log.warning("the engine's empty namespace stays mounted", path=str(namespace), error=os.strerror(number))
            return
        shutil.rmtree(self._state, ignore_errors=True)

    async def _kill_strays(self, container: str) -> None:
        """A launch that was given up, or whose server died, leaves processes before there is a state file; a kernel that died may
        leave the one that opens files for it. They have ended when this returns: until then they hold the container's cgroup,
        and files of its disk."""
        # More than once: the process that launches may have made others while it was looked for.
        while pids := await anyio.to_thread.run_sync(host.find_strays, container, f"--root={self._state}"):
            await host.kill(pids, container)

    def _sentry(self, container: str) -> int:
        """Its number. Raises SandboxLost."""
        found = self._read_state(container)
        pid = _sandbox_pid(found) if found else None
        if pid is None or not host.is_sentry(pid, container):
            raise SandboxLost(container, "its process is gone")
        return pid

    def _send(self, container: str, number: Signals) -> None:
        """To the sentry itself, not to a guest's process. Raises SandboxLost."""
        if not host.send(self._sentry(container), container, number):
            raise SandboxLost(container, "its process is gone")

    def _forget(self, container: str, state: dict[str, Any] | None) -> None:
        """The engine knows nothing of the container any more. State last: what is interrupted here is done again."""
        if path := ((state or {}).get("sandbox") or {}).get("controlSocketPath"):
            Path(path).unlink(missing_ok=True)
        file = self._state_file(container)
        file.with_suffix(".lock").unlink(missing_ok=True)
        self._note(container).unlink(missing_ok=True)
        file.unlink(missing_ok=True)

    async def _launch(self, container: str, what: str, command: Sequence[str], limit_s: float) -> None:
        done, output = False, ""
        try:
            code, output = await self._run(*command, limit_s=limit_s)
            done = code == 0
        finally:
            if not done:
                with anyio.CancelScope(shield=True):
                    await self.kill(container)
        if not done:
            raise EngineFailed(f"{what} container {container}", output)
        self._write_down(container, frozen=False)

    async def _turn(self, container: str, method: str, *, frozen: bool) -> None:
        del self._frozen[container]  # whoever asks after a call that did not end has to look
        self._note(container).unlink(missing_ok=True)
        await self._call(container, method)
        self._write_down(container, frozen=frozen)

    def _write_down(self, container: str, *, frozen: bool) -> None:
        self._frozen[container] = frozen
        self._note(container).write_text(_FROZEN if frozen else _RUNNING)

    async def _is_frozen(self, container: str) -> bool:
        known = self._noted_frozen(container)
        self._frozen[container] = await self._looks_frozen(container) if known is None else known
        return self._frozen[container]

    def _noted_frozen(self, container: str) -> bool | None:
        """None when nobody wrote it down."""
        if container in self._frozen:
            return self._frozen[container]
        note = _text_of(self._note(container))
        return note == _FROZEN if note in (_FROZEN, _RUNNING) else None

    async def _looks_frozen(self, container: str) -> bool:
        """Of a container without a note: the server died between two lines of `_turn`, or is older than notes."""
        return stacks_are_frozen(await self._call(container, "Stacks", service="debug") or "")

    async def _call(
        self,
        container: str,
        method: str,
        argument: Any = None,
        descriptors: Sequence[int] = (),
        *,
        service: str = "containerManager",
        limit_s: float | None = None,
    ) -> Any:
        path = self._control_path(container)
        limit_s = self._patience.call_s if limit_s is None else limit_s
        try:
            with anyio.fail_after(limit_s):
                return await control.call(path, f"{service}.{method}", argument, descriptors)
        except TimeoutError as error:
            raise EngineFailed(f"{method.lower()} container {container}", f"it did not answer within {limit_s:g} s") from error
        except control.CallFailed as error:
            raise EngineFailed(f"{method.lower()} container {container}", str(error)) from error
        except OSError as error:
            raise SandboxLost(container, f"its control socket does not answer ({error})") from error

    async def _write_image(self, container: str, options: dict[str, Any], files: Sequence[int]) -> None:
        """Raises EngineFailed also when the sentry has written nothing for a while."""
        failure: EngineFailed | SandboxLost | None = None
        with anyio.CancelScope(deadline=anyio.current_time() + self._patience.stall_s) as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._put_off, scope, files)
                try:
                    await self._call(container, "Checkpoint", options, files, limit_s=math.inf)
                except (EngineFailed, SandboxLost) as error:
                    failure = error
                tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if scope.cancelled_caught:
            raise EngineFailed(f"checkpoint container {container}", f"it wrote nothing for {self._patience.stall_s:g} s")

    async def _put_off(self, scope: anyio.CancelScope, files: Sequence[int]) -> None:
        """The deadline moves on as long as the files grow."""
        before = _written(files)
        while True:
            await anyio.sleep(min(_LOOKS_EVERY_S, self._patience.stall_s / 4))
            if (now := _written(files)) != before:
                before, scope.deadline = now, anyio.current_time() + self._patience.stall_s

    async def _run(self, *arguments: str, limit_s: float) -> tuple[int, str]:
        """One `runsc` to its end: exit code and what it complained about."""
        with complaint_file(self._state) as complaint:
            command = (str(self._runsc), f"--root={self._state}", f"--log={complaint}", *FLAGS, *arguments)
            return await run_command(command, complaint, limit_s=limit_s)

    def _note(self, container: str) -> Path:
        """Says whether it is frozen, whenever that is certain."""
        return self._state / f"{container}.frozen"

    def _state_file(self, container: str) -> Path:
        return self._state / f"{container}_sandbox:{container}.state"

    def _read_state(self, container: str) -> dict[str, Any] | None:
        try:
            return json.loads(self._state_file(container).read_bytes())
        except (FileNotFoundError, ValueError):
            return None

    def _control_path(self, container: str) -> str:
        found = self._read_state(container)
        path = (found or {}).get("sandbox", {}).get("controlSocketPath")
        if not path:
            raise SandboxLost(container, "the engine knows nothing of it")
        return str(path)


def _process_facts(listed: Sequence[dict[str, Any]], dumped: Sequence[dict[str, Any]]) -> Iterator[GuestProcess]:
    """What the short list and the long one tell of each process; only the long one has memory and whole command lines."""
    in_full = {entry["status"]["pid"]: entry for entry in dumped}
    for entry in listed:
        details = in_full.get(entry["pid"])
        yield GuestProcess(
            pid=entry["pid"],
            command=" ".join(details.get("args") or ()) if details else entry["cmd"],
            memory_bytes=details["status"].get("vm_rss", 0) << 10 if details else 0,
            group=entry["pgid"],
            user=entry["uid"],
            program=entry["cmd"],
            threads=len(entry["threads"]),
        )


def _text_of(file: Path) -> str:
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""


def stacks_are_frozen(stacks: str) -> bool:
    """Whether every guest task waits to be let go on, by the stacks of the sentry's threads. A guest that stopped all its own
    processes, the agent included, looks the same, and has only itself to blame."""
    tasks = [stack for stack in stacks.split("\n\n") if _TASK in stack]
    return bool(tasks) and all(_STOPPED in stack for stack in tasks)


def _sandbox_pid(state: dict[str, Any]) -> int | None:
    pid = (state.get("sandbox") or {}).get("pid")
    return pid if isinstance(pid, int) and pid > 0 else None


def _size_of(image: Path) -> int:
    """Zero for one that is not there: the engine says so itself."""
    return sum(file.stat().st_size for file in image.glob("*"))


def _written(files: Sequence[int]) -> list[tuple[int, int]]:
    return [(status.st_size, status.st_blocks) for status in map(os.fstat, files)]
