"""Gates open and close: a listener in a slot's router namespace, and all the connections that came through it.

A gate holds one policy. A new policy is a new gate: whatever went through the old one is cut off, so that nothing
outlives the rule that let it through. The same when the sandbox falls asleep or dies.
"""

from __future__ import annotations

import resource
import socket
import struct
from collections import Counter
from collections.abc import Callable
from ipaddress import IPv4Address

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus

from roost.domain.address import GATEWAY_ADDRESS, SlotPlan
from roost.domain.egress import Egress
from roost.domain.errors import Fault
from roost.node.network import wires
from roost.node.network.gate.authority import Authority
from roost.node.network.gate.conduct import Conductor
from roost.node.network.gate.dial import Destination, Dialer
from roost.node.network.gate.wire import Wire
from roost.node.network.names import Names

MOST_OF_SLOT = 1024  # connections
WAITING = 256  # connections that the kernel accepts ahead
ACCEPT_AGAIN_S = 1.0  # when the process has run out of file descriptors
_SO_ORIGINAL_DST = 80

log = structlog.get_logger(__name__)


class Gates:
    """Of one instance. `tasks` runs them."""

    def __init__(self, *, tasks: TaskGroup, names: Names, authority: Authority, private_proxies: bool = False) -> None:
        self._tasks = tasks
        self._names = names
        self._authority = authority
        self._private_proxies = private_proxies
        self._open: Counter[int] = Counter()
        self._most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4  # two for each, and others need some too

    @property
    def authority(self) -> Authority:
        return self._authority

    async def open(self, plan: SlotPlan, egress: Egress) -> Gate:
        """It takes connections, which are dealt with as the policy says. Raises Fault."""
        try:
            listener = await to_thread.run_sync(lambda: wires.apart(lambda: _listen(plan.router_netns)))
        except OSError as error:
            raise Fault("gate_failed", f"The gate of slot {plan.index} could not be opened: {error}.", slot=plan.index) from error
        dialer = Dialer(netns=plan.router_netns, egress=egress, names=self._names, private_proxies=self._private_proxies)
        conductor = Conductor(egress=egress, dialer=dialer, authority=self._authority, slot=plan.index)
        gate = Gate(listener, conductor, plan.index, lambda change: self._count(plan.index, change))
        try:
            await self._tasks.start(gate.run)
        except BaseException:
            listener.close()
            raise
        return gate

    def _count(self, slot: int, change: int) -> bool:
        """Counts a connection in or out; whether there was room for it."""
        if change > 0 and (self._open[slot] >= MOST_OF_SLOT or self._open.total() >= self._most):
            return False
        self._open[slot] += change
        if not self._open[slot]:
            del self._open[slot]
        return True


class Gate:
    """One slot's, with one policy. `run` runs until `close`."""

    def __init__(self, listener: socket.socket, conductor: Conductor, slot: int, count: Callable[[int], bool]) -> None:
        self._listener = listener
        self._conductor = conductor
        self._slot = slot
        self._count = count
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()
        self.port: int = listener.getsockname()[1]

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        try:
            with self._scope:
                async with anyio.create_task_group() as tasks:
                    task_status.started()
                    await self._accept(tasks)
        finally:
            self._listener.close()
            self._ended.set()

    async def close(self) -> None:
        """Nobody listens any more, and every connection that came through is cut. May be repeated."""
        self._scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._ended.wait()

    async def _accept(self, tasks: TaskGroup) -> None:
        while True:
            await anyio.wait_readable(self._listener)
            try:
                sock, _ = self._listener.accept()
            except BlockingIOError:
                continue
            except OSError as error:
                log.error("a gate rests: connections cannot be accepted", slot=self._slot, reason=str(error))
                await anyio.sleep(ACCEPT_AGAIN_S)
                continue
            wire = Wire(sock)
            if self._count(1):
                tasks.start_soon(self._serve, wire, sock)
            else:
                wire.reset()

    async def _serve(self, guest: Wire, sock: socket.socket) -> None:
        """The outermost frame of one connection: whatever goes wrong with it, the others are served."""
        is_over = False
        try:
            if meant := _original_destination(sock):
                await self._conductor.conduct(guest, meant)
                is_over = True
        except Exception:
            log.exception("a connection through a gate could not be dealt with", slot=self._slot)
        finally:
            self._count(-1)
            if is_over:
                await guest.aclose()
            else:
                guest.reset()


def _listen(netns: str) -> socket.socket:
    wires.enter(netns)
    listener = socket.create_server((str(GATEWAY_ADDRESS), 0), backlog=WAITING)
    listener.setblocking(False)
    return listener


def _original_destination(sock: socket.socket) -> Destination | None:
    """Where the guest meant to go before the kernel sent it here. None for one that is gone, or came by no rule."""
    try:
        port, address = struct.unpack_from(">2xH4s", sock.getsockopt(socket.SOL_IP, _SO_ORIGINAL_DST, 16))
    except OSError:
        return None
    meant = Destination(IPv4Address(address), port)
    return meant if meant.address != GATEWAY_ADDRESS else None
