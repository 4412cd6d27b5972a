"""One started process: its output kept in a ring, its readers, its input, its end.

The process never depends on a reader. Its pipes are read whether or not anybody listens. A reader who falls behind
slows the process down, as a pipe would, but only for `stall_s`: then that reader is dropped, with an error that says
so, and the process goes on. The place of a reader whose connection was cut is kept for `LINGER_S` in the same way, so
that it finds its bytes when it comes back, however fast the process writes.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
from collections.abc import Callable

from roost_agent.errors import RpcError
from roost_agent.processes import tree
from roost_agent.processes.ring import Ring
from roost_agent.processes.spawn import Order, Spawned, resize
from roost_agent.processes.status import Ending
from roost_agent.wakeup import Wakeup

Heard = Callable[["Process"], None]

READ_BYTES = 256 * 1024
DEFAULT_PIPE_BYTES = 64 * 1024
# After a kill, or the end of a terminal's leader, strangers that hold the streams open are not waited for any longer.
HOLDOUT_S = 0.5
LINGER_S = 5.0
# A reader this far behind, in parts of the ring, slows the process down. The rest of the ring is for bytes that were
# sent but may never have arrived: whoever lost them asks again.
_BEHIND = 4
_READ = 8


class Reader:
    """Somebody following the output, at a place of their own."""

    __slots__ = ("bell", "on_stalled", "origin", "position", "stalled")

    def __init__(self, position: int, on_stalled: Callable[[], None]) -> None:
        self.origin = position
        self.position = position
        self.bell = Wakeup()
        self.stalled = False
        # Called when this reader has held up the process for too long and was dropped.
        self.on_stalled = on_stalled


class Process:
    """A process from its start until its end has been told."""

    def __init__(self, order: Order, spawned: Spawned, ring: Ring, tag: str | None, stall_s: float, heard: Heard) -> None:
        self.pid = spawned.pid
        self.tag = tag
        self.order = order
        self.ring = ring
        self.terminal = spawned.terminal
        self.ending: Ending | None = None
        self.timed_out = False
        self.over = asyncio.get_running_loop().create_future()
        self.input_lock = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._input = spawned.input
        self._outputs = spawned.outputs
        self._readers: set[Reader] = set()
        # Those of them that are gone without having left.
        self._cut_off: set[Reader] = set()
        self._read_bytes = min(READ_BYTES, ring.capacity // _READ)
        self._held_up = False
        self._stall_s = stall_s
        # Called for every piece of output.
        self._heard = heard
        self._stall_timer: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._killed = False
        for descriptor in self._outputs:
            self._loop.add_reader(descriptor, self._read, descriptor)

    # Output

    def follow(self, position: int, on_stalled: Callable[[], None]) -> Reader:
        """A new reader. It is taken for the one that was cut, if one was: no place is kept any longer."""
        reader = Reader(position, on_stalled)
        self._readers.add(reader)
        self._readers -= self._cut_off
        self._cut_off.clear()
        self._relieve()
        return reader

    def unfollow(self, reader: Reader, *, cut: bool) -> None:
        """The reader leaves; its place is kept for a while when its connection was `cut`."""
        if cut and reader in self._readers and not self.over.done():
            self._cut_off.add(reader)
            self._loop.call_later(LINGER_S, self._give_up, reader)
        else:
            self._give_up(reader)

    def _give_up(self, reader: Reader) -> None:
        self._cut_off.discard(reader)
        self._readers.discard(reader)
        self._relieve()

    def advance(self, reader: Reader, position: int) -> None:
        """The reader has got everything before `position` out of the ring."""
        reader.position = position
        if self._held_up:
            self._relieve()

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, self._read_bytes)
        except BlockingIOError:
            return
        except OSError:  # A terminal without a program on it answers EIO: its end.
            data = b""
        if not data:
            self._reached_end(descriptor)
            return
        if len(data) == DEFAULT_PIPE_BYTES:
            self._widen(descriptor)
        self.ring.append(self._outputs[descriptor], data)
        self._heard(self)
        for reader in self._readers:
            reader.bell.ring()
        if self._readers and self._laggards():
            self._hold_up()

    def _widen(self, descriptor: int) -> None:
        """It was full: from here on fewer, larger reads. Not done at the start, since most commands print little."""
        with contextlib.suppress(OSError):  # Beyond the user's limit for pipes, or no pipe: it does as it is.
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, READ_BYTES)

    def _reached_end(self, descriptor: int) -> None:
        """Nobody holds the other end open. A terminal stays open until its leader is over nonetheless: many programs close
        their streams just before they exit, and closing it in that moment would hang up on them, which kills."""
        if self.terminal and self.ending is None:
            self._loop.remove_reader(descriptor)
        else:
            self._close_output(descriptor)

    def _laggards(self) -> list[Reader]:
        limit = self.ring.capacity // _BEHIND
        return [reader for reader in self._readers if self.ring.cost_after(reader.position) > limit]

    def _hold_up(self) -> None:
        if self._held_up:
            return
        self._held_up = True
        for descriptor in self._outputs:
            self._loop.remove_reader(descriptor)
        self._stall_timer = self._loop.call_later(self._stall_s, self._drop_laggards)

    def _relieve(self) -> None:
        if not self._held_up or self._laggards():
            return
        self._held_up = False
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None
        for descriptor in self._outputs:
            self._loop.add_reader(descriptor, self._read, descriptor)

    def _drop_laggards(self) -> None:
        for reader in self._laggards():
            self._readers.discard(reader)
            if reader in self._cut_off:
                continue
            reader.stalled = True
            reader.bell.ring()
            reader.on_stalled()
        self._relieve()

    # End

    def expire_after(self, timeout_s: float) -> None:
        """Kill the tree after so much awake time, whoever listens then."""
        self._deadline = self._loop.call_later(timeout_s, self._expire)

    def _expire(self) -> None:
        self.timed_out = True
        self.signal(signal.SIGKILL)
        for reader in self._readers:
            reader.bell.ring()

    def signal(self, number: int) -> None:
        """Signal the whole tree. Raises RpcError `not_found` when the process is over."""
        if self.ending is not None and not self._outputs:
            raise RpcError("not_found", f"process with pid {self.pid} is over")
        tree.signal_tree(self.pid, number)
        if number == signal.SIGKILL:
            self._killed = True
            if self.ending is not None:
                self._loop.call_later(HOLDOUT_S, self._close_all_outputs)

    def exited(self, wait_status: int) -> None:
        """Told by the reaper, once."""
        self.ending = Ending.of(wait_status)
        if self._deadline is not None:
            self._deadline.cancel()
        if self._outputs and (self._killed or self.terminal):
            self._loop.call_later(HOLDOUT_S, self._close_all_outputs)
        if self.terminal and not self._held_up:
            for descriptor in self._outputs:  # One that had reached its end is read again, to its end.
                self._loop.add_reader(descriptor, self._read, descriptor)
        self._finish_if_done()

    def _close_output(self, descriptor: int) -> None:
        if self._outputs.pop(descriptor, None) is None:
            return
        self._loop.remove_reader(descriptor)
        if descriptor == self._input:
            self._input = None
        os.close(descriptor)
        self._finish_if_done()

    def _close_all_outputs(self) -> None:
        for descriptor in list(self._outputs):
            self._close_output(descriptor)

    def _finish_if_done(self) -> None:
        if self.ending is None or self._outputs:
            return
        self.close_input()
        if not self.over.done():
            self.over.set_result(None)
        for reader in self._readers:
            reader.bell.ring()

    # Input

    @property
    def input(self) -> int:
        """The descriptor to write to. Raises RpcError `internal` when there is none."""
        if self._input is None:
            raise RpcError("internal", f"stdin of process {self.pid} is closed or was not opened at its start")
        return self._input

    def close_input(self) -> None:
        if self._input is not None and self._input not in self._outputs:
            self._loop.remove_writer(self._input)
            with contextlib.suppress(OSError):
                os.close(self._input)
            self._input = None

    def resize(self, size: tuple[int, int]) -> None:
        if not self.terminal or self._input is None:
            raise RpcError("failed_precondition", f"process {self.pid} has no terminal")
        resize(self._input, size)
