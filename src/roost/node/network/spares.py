"""Slots that are nobody's: made ahead, cleaned after a sandbox has left them, taken away when there are too many.

To make a slot takes the kernel longer than to clean one, and to take one away longer still. So one that was left is used
again by another sandbox; `wires.clean` says what must be forgotten first, `firewall` what a tenancy is. Then it rests, since its
address stays the same: whoever still dials the former sandbox must have given up by then.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import TypeVar

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskStatus

from roost.domain.address import SlotPlan, capacity, plan_slot
from roost.domain.egress import OPEN
from roost.domain.errors import Fault, NodeFull, RoostError
from roost.node.network import firewall, nftables, wires
from roost.node.network.firewall import HostServices

T = TypeVar("T")

MADE_AT_ONCE = 4  # the kernel makes links one at a time anyway
REST_S = 15.0  # three times as long as the edge waits for a connection
KEPT = 64  # at most so many that were left
_TENANCIES = 65535  # as many as there are zones
_ANSWER_FIRST_S = (
    0.1  # whoever waits for a kill or a create is told before slots take the processor, and several are done at once
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ground:
    """What the slots of an instance have in common."""

    instance: str
    network: IPv4Network
    services: HostServices
    mtu_bytes: int
    tells_tenants_apart: bool  # whether the host's firewall can; where it cannot no slot is used twice


@dataclass(frozen=True, slots=True)
class Left:
    """A slot that a sandbox has left."""

    plan: SlotPlan
    has_own_rules: bool  # its firewall is not that of a new slot, or not known


class Spares:
    """`wanted` are kept ready. `run` makes and cleans, until it is cancelled; `close` takes away what is left then."""

    def __init__(self, *, wanted: int, rest_s: float = REST_S, kept: int = KEPT) -> None:
        self._wanted = wanted
        self._rest_s = rest_s
        self._kept = kept
        self._ground: Ground | None = None
        self._tenancies: dict[int, int] = {}  # of all slots there can be
        self._free: deque[int] = deque()  # the longest free first: an address rests as long as it can
        self._ready: deque[SlotPlan] = deque()
        self._resting: deque[tuple[float, SlotPlan]] = deque()  # until when, the first to be ready first
        self._left: list[Left] = []
        self._changed = anyio.Event()
        self._threads = anyio.CapacityLimiter(MADE_AT_ONCE)

    @property
    def count(self) -> int:
        """How many are ready, or rest."""
        return len(self._ready) + len(self._resting)

    def open(self, ground: Ground, free: Iterable[int], tenancies: Mapping[int, int]) -> None:
        """From now on slots are made on this ground, with these numbers. The host's firewall knows the tenancies."""
        self._ground = ground
        self._free = deque(free)
        self._tenancies = dict(tenancies)

    async def take(self) -> SlotPlan:
        """One that is ready for a sandbox; made on the spot when there is none. Raises NodeFull, Fault."""
        self._end_rests()
        if not self._ready:
            return await self._make()
        self._changed.set()
        return self._ready.popleft()

    def put(self, left: Left) -> None:
        """A slot in which nothing runs any more is cleaned, and in time used again."""
        self._left.append(left)
        self._changed.set()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        task_status.started()
        while True:
            self._changed = anyio.Event()
            try:
                await self._clean()
                await self._remove_surplus()
                while self.count < self._wanted:
                    self._ready.append(await self._make())
            except RoostError as error:
                # Claims go on without spares and report what is wrong themselves; the next one tries again here.
                log.warning("no spare slot could be made", reason=error.message)
            await self._changed.wait()
            await anyio.sleep(_ANSWER_FIRST_S)

    async def close(self) -> None:
        """None is left. Only when `run` has ended."""
        plans = [*self._ready, *(plan for _, plan in self._resting), *(left.plan for left in self._left)]
        self._ready.clear()
        self._resting.clear()
        self._left.clear()
        await self.remove(plans)

    async def remove(self, plans: Collection[SlotPlan]) -> None:
        """Nothing of these slots is left on the machine; their numbers are free."""

        async def one(plan: SlotPlan) -> None:
            await self.in_thread(lambda: wires.remove(plan), f"remove slot {plan.index}")

        async with anyio.create_task_group() as removals:
            for plan in plans:
                removals.start_soon(one, plan)
        await self.in_thread(lambda: self._change_tenancies(plans), "end tenancies")
        self._free.extend(plan.index for plan in plans)

    async def in_thread(self, work: Callable[[], T], what: str) -> T:
        """Ends only when the work has ended, cancelled or not."""
        try:
            return await to_thread.run_sync(work, limiter=self._threads)
        except OSError as error:
            raise Fault("network_failed", f"The node could not {what}: {error}.") from error

    async def _make(self) -> SlotPlan:
        ground = self._stand()
        try:
            index = self._free.popleft()
        except IndexError:
            total = capacity(ground.network)
            raise NodeFull("network slots", "1", f"0 of {total}") from None
        plan = plan_slot(ground.instance, ground.network, index)
        ruleset = firewall.render_slot(plan, ground.services, OPEN)
        try:
            tenancy = self._tenancies[index]
            work = lambda: wires.apart(lambda: wires.make(plan, ruleset, ground.mtu_bytes, tenancy))  # noqa: E731
            await self.in_thread(work, f"make slot {index}")
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.remove([plan])
            raise
        return plan

    async def _clean(self) -> None:
        """All that were left so far, on one thread. What cannot be cleaned is never used again."""
        ground, batch, self._left = self._stand(), self._left, []
        if not batch:
            return
        with anyio.CancelScope(shield=True):
            fit = await self.in_thread(lambda: self._cleaned(ground, batch), "clean slots")
            until = anyio.current_time() + self._rest_s
            self._resting.extend((until, plan) for plan in fit)
            await self.remove([left.plan for left in batch if left.plan not in fit])

    async def _remove_surplus(self) -> None:
        surplus: list[SlotPlan] = []
        while self.count > max(self._kept, self._wanted):
            surplus.append(self._ready.popleft() if self._ready else self._resting.popleft()[1])
        with anyio.CancelScope(shield=True):
            await self.remove(surplus)

    def _cleaned(self, ground: Ground, batch: Sequence[Left]) -> list[SlotPlan]:
        """Those of them that can be used again."""
        fit: list[SlotPlan] = []
        for left in batch if ground.tells_tenants_apart else ():
            ruleset = firewall.render_slot(left.plan, ground.services, OPEN) if left.has_own_rules else None
            try:
                wires.apart(lambda plan=left.plan, ruleset=ruleset: wires.clean(plan, ruleset))
            except (OSError, RoostError) as error:
                log.warning("a slot cannot be used again", slot=left.plan.index, reason=str(error))
            else:
                fit.append(left.plan)
        self._change_tenancies(fit)
        for plan in fit:
            wires.write_tenancy(plan, self._tenancies[plan.index])
        return fit

    def _change_tenancies(self, plans: Collection[SlotPlan]) -> None:
        """What these slots' sandboxes had open is nobody's from now on."""
        ground = self._stand()
        if not plans or not ground.tells_tenants_apart:
            return
        before = {plan.host_link: self._tenancies[plan.index] for plan in plans}
        after = {link: new_tenancy(but=tenancy) for link, tenancy in before.items()}
        nftables.apply(firewall.render_tenancies(ground.instance, before, after), to="the host")
        self._tenancies |= {plan.index: after[plan.host_link] for plan in plans}

    def _end_rests(self) -> None:
        now = anyio.current_time()
        while self._resting and self._resting[0][0] <= now:
            self._ready.append(self._resting.popleft()[1])

    def _stand(self) -> Ground:
        if self._ground is None:
            raise Fault("slots_closed", "The node's network is not open: nothing can be asked of it before `open`.")
        return self._ground


def new_tenancy(*, but: int = 0) -> int:
    """At random: which ones a slot has had need not be remembered. Zero is what connections have that are no slot's."""
    while (tenancy := 1 + secrets.randbelow(_TENANCIES)) == but:
        continue
    return tenancy
