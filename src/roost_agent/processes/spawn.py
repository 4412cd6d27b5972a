"""The system calls that start a process: pipes or a terminal, a session of its own, its user's rights."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from collections.abc import Callable, Iterator

from roost_agent.errors import RpcError
from roost_agent.processes.impersonate import Impersonator
from roost_agent.processes.shells import fitted
from roost_agent.users import User

_NOT_RUNNABLE = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EACCES,
    errno.ENOEXEC,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.E2BIG,
    errno.EINVAL,
)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class Order:
    """What to start, as whom, where, with what."""

    __slots__ = ("arguments", "asked_environment", "command", "cwd", "environment", "size", "stdin", "user")

    def __init__(self, command: str, arguments: list[str], user: User) -> None:
        self.command = command
        self.arguments = arguments
        self.user = user
        self.cwd = user.home
        self.environment: dict[str, str] = {}
        # The part of it that came with the request.
        self.asked_environment: dict[str, str] = {}
        self.stdin = True
        # (columns, rows) of a terminal; None for pipes.
        self.size: tuple[int, int] | None = None


class Spawned:
    """A started process and the agent's ends of its streams, all non-blocking."""

    __slots__ = ("input", "outputs", "pid", "terminal")

    def __init__(self, pid: int, input: int | None, outputs: dict[int, str], *, terminal: bool) -> None:
        self.pid = pid
        self.input = input
        # Descriptor → stdout, stderr or pty.
        self.outputs = outputs
        self.terminal = terminal


def spawn(order: Order, impersonator: Impersonator) -> Spawned:
    """Start it. Raises RpcError: `invalid_argument` when it cannot be run, `resource_exhausted` when nothing can."""
    order.command, order.arguments = fitted(order.command, order.arguments)
    if order.size is not None:
        return _spawn_on_terminal(order, order.size)
    return _spawn_on_pipes(order, impersonator)


def _spawn_on_pipes(order: Order, impersonator: Impersonator) -> Spawned:
    with contextlib.ExitStack() as undo:
        out_read, out_write = _pipe(undo)
        err_read, err_write = _pipe(undo)
        if order.stdin:
            in_read, in_write = _pipe(undo)
        else:
            in_read, in_write = os.open(os.devnull, os.O_RDONLY), None
            undo.callback(os.close, in_read)
        pid = _start(order, lambda: _by_vfork(order, (in_read, out_write, err_write), impersonator))
        for descriptor in (in_read, out_write, err_write):
            os.close(descriptor)
        undo.pop_all()
    for descriptor in (out_read, err_read):
        os.set_blocking(descriptor, False)
    if in_write is not None:
        os.set_blocking(in_write, False)
    return Spawned(pid, in_write, {out_read: "stdout", err_read: "stderr"}, terminal=False)


def _spawn_on_terminal(order: Order, size: tuple[int, int]) -> Spawned:
    with contextlib.ExitStack() as undo:
        try:
            ours, theirs = pty.openpty()
        except OSError as failure:
            raise RpcError("resource_exhausted", f"no terminal can be had: {failure.strerror}") from failure
        undo.callback(os.close, ours)
        undo.callback(os.close, theirs)
        resize(ours, size)
        with contextlib.suppress(OSError):  # Not root, or a filesystem that will not: the terminal works regardless.
            os.fchown(theirs, order.user.uid, -1)
            os.fchmod(theirs, 0o620)
        pid = _start(order, lambda: _by_fork(order, theirs))
        os.close(theirs)
        undo.pop_all()
    os.set_blocking(ours, False)
    return Spawned(pid, ours, {ours: "pty"}, terminal=True)


def resize(terminal: int, size: tuple[int, int]) -> None:
    columns, rows = size
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _pipe(undo: contextlib.ExitStack) -> tuple[int, int]:
    try:
        read, write = os.pipe()
    except OSError as failure:
        raise RpcError("resource_exhausted", f"no pipe can be had: {failure.strerror}") from failure
    undo.callback(os.close, read)
    undo.callback(os.close, write)
    return read, write


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _start(order: Order, start: Callable[[], int]) -> int:
    try:
        pid = start()
    except OSError as failure:
        raise _explain(order, failure) from failure
    except (ValueError, subprocess.SubprocessError) as failure:
        raise RpcError("invalid_argument", f"error starting process '{order.command}': {failure}") from failure
    _make_ordinary(pid)
    return pid


def _by_vfork(order: Order, streams: tuple[int, int, int], impersonator: Impersonator) -> int:
    """Nothing of the agent is copied. `subprocess` can do that too, but takes half a millisecond more around it."""
    rights = impersonator.being(order.user) if impersonator.can_be(order.user) else contextlib.nullcontext()
    with rights, _standing_in(order.cwd):
        return os.posix_spawn(
            _program(order),
            [order.command, *order.arguments],
            order.environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)],
            setsid=True,
            setsigdef=_IGNORED_BY_PYTHON,
        )


@contextlib.contextmanager
def _standing_in(directory: str) -> Iterator[None]:
    """The child begins where the agent stands. The agent itself uses whole paths only, in every thread."""
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir("/")


def _program(order: Order) -> str:
    """The file that a command without a slash means, by the PATH that it is given."""
    if "/" in order.command:
        return order.command
    for directory in os.get_exec_path(order.environment):
        path = os.path.join(directory, order.command)
        if os.path.isfile(path) and os.access(path, os.X_OK, effective_ids=True):
            return path
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), order.command)


def _by_fork(order: Order, terminal: int) -> int:
    """A session leader has to claim its terminal from within."""
    user = order.user
    switching = os.geteuid() == 0 and user.uid != 0
    child = subprocess.Popen[bytes](
        [order.command, *order.arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=order.cwd,
        env=order.environment,
        start_new_session=True,
        # Every descriptor of the agent closes on exec by itself; looking for them would cost more than the exec.
        close_fds=False,
        user=user.uid if switching else None,
        group=user.gid if switching else None,
        extra_groups=user.groups if switching else None,
        preexec_fn=_take_terminal,
    )
    # The agent reaps all children itself, in one place: this object must not try.
    child.returncode = 0
    return child.pid


def _make_ordinary(pid: int) -> None:
    """Undo what a command would inherit of the agent's own standing."""
    with contextlib.suppress(OSError):
        if os.getpriority(os.PRIO_PROCESS, 0) != 0:
            os.setpriority(os.PRIO_PROCESS, pid, 0)


def _explain(order: Order, failure: OSError) -> RpcError:
    if failure.errno == errno.ENOENT and not os.path.isdir(order.cwd):
        return RpcError("invalid_argument", f"cwd '{order.cwd}' does not exist")
    if failure.errno in _NOT_RUNNABLE:
        where = f" in '{order.cwd}'" if failure.filename == order.cwd else ""
        return RpcError("invalid_argument", f"error starting process '{order.command}'{where}: {failure.strerror}")
    code = "resource_exhausted" if failure.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE) else "internal"
    return RpcError(code, f"error starting process '{order.command}': {failure.strerror or failure}")
