"""The gVisor driver."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import json
import math
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import structlog

from roost.contracts.runtime import Capabilities, GuestProcess, Inspection
from roost.domain.errors import EngineFailed, SandboxLost
from roost.drivers.runtime.gvisor import socket as control

# These must be the same for run, checkpoint and restore; the manifest records them.
FLAGS = (
    "--platform=systrap",
    "--network=sandbox",
    "--overlay2=none",
    "--allow-suid",
    "--allow-connected-on-save=true",
)
_MNT_DETACH = 2
_CALL_LIMIT_S = 30.0  # for what a healthy sentry does in milliseconds
_DELETE_LIMIT_S = 60.0
_TASK, _STOPPED = "kernel.(*Task).run(", "kernel.(*Task).doStop("
_IMAGE_FILES = ("checkpoint.img", "pages_meta.img", "pages.img")  # in the order the sentry wants them


log = structlog.get_logger(__name__)


class GVisor:
    """`contracts.runtime.Runtime` on one `runsc` of one version."""

    def __init__(self, *, runsc: Path, version: str, state: Path) -> None:
        self._runsc = runsc
        self._state = state  # runsc's --root: short, on a filesystem that a reboot empties
        # The sentry counts freezes, and a thaw too many kills it. What an earlier server froze is found out by looking.
        self._frozen: dict[str, bool] = {}
        self._capabilities = Capabilities(engine=f"gvisor {version}", flags=FLAGS, memory=True, connections=True)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def start(self, container: str, bundle: Path) -> None:
        await self._launch(container, "boot", "run", "-detach", f"-bundle={bundle}", container)

    async def restore(self, container: str, bundle: Path, image: Path) -> None:
        await self._launch(container, "restore", "restore", "-detach", f"-bundle={bundle}", f"-image-path={image}", container)

    async def freeze(self, container: str) -> None:
        if not await self._is_frozen(container):
            await self._turn(container, "Pause", frozen=True)

    async def thaw(self, container: str) -> None:
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
            descriptors = [file.fileno() for file in files]
            await self._call(container, "Checkpoint", options, descriptors, limit_s=math.inf)  # as long as its memory is large

    async def kill(self, container: str) -> None:
        was_launched_here = self._frozen.pop(container, None) is not None
        found = self._read_state(container)
        pid = _sandbox_pid(found) if found else None
        with anyio.move_on_after(_DELETE_LIMIT_S) as limit:
            # Not by the engine's own command: it kills whoever has the numbers that it once wrote down, who may be strangers by
            # now. It also takes 20 ms of processor time for what two signals do.
            is_there = pid is not None and _is_sentry(pid, container)
            if found is not None and is_there:
                await _kill((pid, found.get("goferPid")), container)
            if not is_there or not was_launched_here:
                await self._kill_strays(container)
        if limit.cancelled_caught:
            raise EngineFailed(f"kill container {container}", f"its processes did not end within {_DELETE_LIMIT_S:g} s")
        self._forget(container, found)

    async def inspect(self, container: str) -> Inspection:
        found = self._read_state(container)
        pid = _sandbox_pid(found) if found else None
        if pid is None or not _is_sentry(pid, container):
            return Inspection(alive=False, pid=None)
        return Inspection(alive=True, pid=pid)

    async def processes(self, container: str) -> tuple[GuestProcess, ...]:
        try:
            dumped = await self._call(container, "ProcfsDump")
        except (SandboxLost, EngineFailed):
            return ()
        return tuple(
            GuestProcess(entry["status"]["pid"], " ".join(entry.get("args") or ()), entry["status"].get("vm_rss", 0) << 10)
            for entry in dumped or ()
        )

    async def signal(self, container: str, pid: int, number: int) -> None:
        with contextlib.suppress(EngineFailed):  # no such process any more
            await self._call(container, "Signal", {"CID": container, "Signo": number, "PID": pid, "Mode": 0})

    async def wait(self, container: str) -> None:
        inspection = await self.inspect(container)
        if inspection.pid is None:
            return
        with _process(inspection.pid) as descriptor:
            if descriptor is not None:
                await _ended(descriptor)

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
        while pids := await anyio.to_thread.run_sync(_strays, container, f"--root={self._state}"):
            await _kill(pids, container)

    def _forget(self, container: str, state: dict[str, Any] | None) -> None:
        """The engine knows nothing of the container any more. State last: what is interrupted here is done again."""
        if path := ((state or {}).get("sandbox") or {}).get("controlSocketPath"):
            Path(path).unlink(missing_ok=True)
        file = self._state_file(container)
        file.with_suffix(".lock").unlink(missing_ok=True)
        file.unlink(missing_ok=True)

    async def _launch(self, container: str, what: str, *arguments: str) -> None:
        self._state.mkdir(parents=True, exist_ok=True, mode=0o700)
        done = False
        try:
            code, output = await self._run(*arguments)
            done = code == 0
        finally:
            if not done:
                with anyio.CancelScope(shield=True):
                    await self.kill(container)
        if not done:
            raise EngineFailed(f"{what} container {container}", output)
        self._frozen[container] = False

    async def _turn(self, container: str, method: str, *, frozen: bool) -> None:
        del self._frozen[container]  # whoever asks after a call that did not end has to look
        await self._call(container, method)
        self._frozen[container] = frozen

    async def _is_frozen(self, container: str) -> bool:
        if container not in self._frozen:
            stacks = await self._call(container, "Stacks", service="debug")
            self._frozen[container] = stacks_are_frozen(stacks or "")
        return self._frozen[container]

    async def _call(
        self,
        container: str,
        method: str,
        argument: Any = None,
        descriptors: Sequence[int] = (),
        *,
        service: str = "containerManager",
        limit_s: float = _CALL_LIMIT_S,
    ) -> Any:
        path = self._control_path(container)
        try:
            with anyio.fail_after(limit_s):
                return await control.call(path, f"{service}.{method}", argument, descriptors)
        except TimeoutError as error:
            raise EngineFailed(f"{method.lower()} container {container}", f"it did not answer within {limit_s:g} s") from error
        except control.CallFailed as error:
            raise EngineFailed(f"{method.lower()} container {container}", str(error)) from error
        except OSError as error:
            raise SandboxLost(container, f"its control socket does not answer ({error})") from error

    async def _run(self, *arguments: str) -> tuple[int, str]:
        """One `runsc` to its end: exit code and what it complained about. Its children outlive the call and inherit no pipe."""
        complaint = self._state / f"complaint-{os.urandom(6).hex()}"
        self._state.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            complaint.touch(mode=0o600)
            process = _spawn(str(self._runsc), f"--root={self._state}", f"--log={complaint}", *FLAGS, *arguments)
            code = await _exit_code(process)
            return code, _last_words(complaint) if code else ""
        finally:
            complaint.unlink(missing_ok=True)

    def _state_file(self, container: str) -> Path:
        return self._state / f"{container}_sandbox:{container}.state"

    def _has_state(self, container: str) -> bool:
        return self._state_file(container).exists()

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


def stacks_are_frozen(stacks: str) -> bool:
    """Whether every guest task waits to be let go on, by the stacks of the sentry's threads. A guest that stopped all its own
    processes, the agent included, looks the same, and has only itself to blame."""
    tasks = [stack for stack in stacks.split("\n\n") if _TASK in stack]
    return bool(tasks) and all(_STOPPED in stack for stack in tasks)


def _sandbox_pid(state: dict[str, Any]) -> int | None:
    pid = (state.get("sandbox") or {}).get("pid")
    return pid if isinstance(pid, int) and pid > 0 else None


def _strays(container: str, root: str) -> list[int]:
    """The engine's processes that speak of the container. Blocks for milliseconds."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if {root.encode(), container.encode()} <= set(_words(pid))]


async def _kill(pids: Iterable[int | None], container: str) -> None:
    """Those of them that are processes of the container have ended."""
    with contextlib.ExitStack() as opened:
        processes: list[int] = []
        for pid in filter(None, pids):
            process = opened.enter_context(_process(pid))
            # Looked at only now that a descriptor holds it: from here on the number cannot become a stranger's.
            if process is not None and container.encode() in _words(pid):
                processes.append(process)
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, signal.SIGKILL)
        for process in processes:
            await _ended(process)


def _words(pid: int) -> list[bytes]:
    """The command line of a process; nothing of one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _is_sentry(pid: int, container: str) -> bool:
    """The state file outlives a crash of the machine's process table: make sure the number is still that process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return container.encode() in _words(pid) and stat.rpartition(")")[2].split()[0] not in ("Z", "X")


@contextlib.contextmanager
def _process(pid: int) -> Iterator[int | None]:
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


def _spawn(*command: str) -> subprocess.Popen[bytes]:
    """Not by the loop's own call: that forks, which copies the page tables of the whole server and makes it pay again for each
    page that it writes to afterwards. This one lends the child its memory until the command has started. Does not wait.
    """
    nothing = subprocess.DEVNULL
    # In a session of its own: a Ctrl-C at the server's terminal is not for the sandboxes.
    return subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)


async def _exit_code(process: subprocess.Popen[bytes]) -> int:
    """Waits for a child's end. When the wait is given up the child is killed, and gone."""
    with _process(process.pid) as descriptor:
        assert descriptor is not None, "a child that nobody waited for keeps its number"
        try:
            await _ended(descriptor)
        except BaseException:
            process.kill()
            with anyio.CancelScope(shield=True):
                await _ended(descriptor)
            raise
        finally:
            code = process.wait()  # at once: it has ended
    return code


async def _ended(process: int) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(process, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process)


def _last_words(log: Path) -> str:
    """The engine's own reason, without the time stamps of its log."""
    return "; ".join(_complaints(log)) or "it gave no reason"


def _complaints(log: Path) -> Iterator[str]:
    for line in log.read_text(errors="replace").splitlines()[-12:]:
        text = line.partition("] ")[2] or line
        if text.strip():
            yield text.strip()[:500]
