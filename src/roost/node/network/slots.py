"""The node's network slots: one for each live sandbox, some ready in advance.

A slot is given to one sandbox, kept while that sandbox sleeps (so that its connections outlive the sleep) and cleaned
when it is gone: what the kernel and the node remember of a sandbox never meets another one. `spares` has the slots that
are nobody's, `wires` makes them, `firewall` says what may pass, `ranges` finds the addresses, `dns` answers for names;
here it is decided which slot is whose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from pathlib import Path
from typing import Protocol, TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup, TaskStatus

from roost.domain.address import POOL, SlotPlan, capacity, check_instance, dns_address, plan_slot, slot_index_at
from roost.domain.egress import OPEN, Egress
from roost.domain.errors import Fault, NotFound
from roost.domain.node import SlotCounts
from roost.node.network import firewall, nftables, ranges, spares, wires
from roost.node.network.dns import Forwarder, QuerySeen, ResolvConf
from roost.node.network.firewall import HostServices
from roost.node.network.gate.authority import Authority
from roost.node.network.gate.gates import Gate, Gates
from roost.node.network.names import Names
from roost.node.network.restricted import RestrictedSlots
from roost.node.network.spares import Ground, Left, Spares, new_tenancy

T = TypeVar("T")


class Background(Protocol):
    async def __call__(self, *, task_status: TaskStatus[None]) -> None: ...


RUN_DIRECTORY = Path("/run/roost")
GUEST_API_PORT = 4780
DNS_PORT = 4753  # not 53: on many machines something listens there on every address
NOTHING = Egress(internet=False)

_IP_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Slot:
    """What a sandbox and those who talk to it need to know of its slot."""

    index: int
    guest_netns: str  # absolute path, for the OCI spec
    address: str  # the host reaches any port of the guest here


@dataclass(frozen=True, slots=True)
class Counters:
    """Bytes through a slot since it was made, as the guest sees them."""

    received_bytes: int
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class SlotSettings:
    """How slots are made here."""

    network: IPv4Network = POOL  # the pool that the instance's range is cut from
    spare: int = 4  # slots kept ready
    kept: int = spares.KEPT  # at most so many that sandboxes have left
    rest_s: float = spares.REST_S  # between two sandboxes in one slot
    dns_port: int = DNS_PORT
    guest_api_port: int = GUEST_API_PORT
    resolv_conf: Path = Path("/etc/resolv.conf")
    run_directory: Path = RUN_DIRECTORY
    authority: Path = Path("/var/lib/roost/egress")  # where the gates' authority is kept
    private_proxies: bool = False  # whether a proxy of a sandbox's owner may have a private address


class Slots:
    """The slots of one instance. `tasks` runs the forwarder and the making of spares, from `open` to `close`."""

    def __init__(
        self,
        *,
        instance: str,
        tasks: TaskGroup,
        settings: SlotSettings | None = None,
        on_query: QuerySeen | None = None,
    ) -> None:
        self._instance = check_instance(instance)
        self._tasks = tasks
        self._settings = settings or SlotSettings()
        self._on_query = on_query
        self._network: IPv4Network | None = None
        self._held: dict[int, SlotPlan] = {}
        self._egress: dict[int, Egress] = {}  # as it was last set; of an adopted slot it is not known
        self._resolv_conf = ResolvConf(self._settings.resolv_conf)
        self._gates = Gates(
            tasks=tasks,
            names=Names(resolvers=self._resolv_conf.resolvers),
            authority=Authority(self._settings.authority),
            private_proxies=self._settings.private_proxies,
        )
        self._open_gates: dict[int, Gate] = {}
        self._restricted = RestrictedSlots(self._settings.run_directory / "limited", self._instance)
        self._silent: frozenset[int] = frozenset()  # told nothing until it is known what they may ask for
        self._spares = Spares(wanted=self._settings.spare, rest_s=self._settings.rest_s, kept=self._settings.kept)
        self._holding: set[int] = set()  # those whose guests nothing reaches for the moment
        self._readied: set[int] = set()  # those that no sandbox has been started in since they were readied
        self._background: list[tuple[anyio.CancelScope, anyio.Event]] = []

    @property
    def network(self) -> IPv4Network:
        """The range of this instance. Known once it is open."""
        if self._network is None:
            raise Fault("slots_closed", "The node's network is not open: nothing can be asked of it before `open`.")
        return self._network

    def counts(self) -> SlotCounts:
        """How many are held and ready, and how many there can be."""
        return SlotCounts(len(self._held), self._spares.count, capacity(self.network))

    async def open(self, adopt: Collection[int]) -> None:
        """The node's network is up: range, host's firewall, forwarder; spares are being made.

        The slots in `adopt` stay exactly as they are, connections included; those of them that are not whole (a machine
        that was restarted) are not adopted: `get` says so. Every other slot of this instance is removed.
        """
        directory = self._settings.run_directory / "networks"
        self._network = await self._in_thread(
            lambda: ranges.take(self._instance, self._settings.network, directory), "take an address range"
        )
        if await self._in_thread(_switch_forwarding_on, "switch forwarding on"):
            log.warning("ip_forward was off on this machine and is on now: sandboxes reach the internet through it")
        mtu_bytes = await self._in_thread(wires.uplink_mtu_bytes, "read the MTU of the default route")
        await self._in_thread(wires.share_netns_directory, f"prepare {wires.NETNS_DIRECTORY}")
        await self._sort_out(set(adopt), mtu_bytes)
        await self._tasks.start(self._in_background, self._forwarder().serve)
        await self._tasks.start(self._in_background, self._spares.run)

    async def claim(self) -> Slot:
        """A slot that is nobody else's, with egress open: one of the spares, else made on the spot. Raises NodeFull."""
        plan = await self._spares.take()
        self._held[plan.index] = plan
        self._egress[plan.index] = OPEN
        self._readied.add(plan.index)
        return _slot(plan)

    async def get(self, index: int) -> Slot:
        """The slot of that index, if it is claimed or adopted. Raises NotFound."""
        return _slot(self._plan(index))

    async def prepare(self, slot: Slot) -> None:
        """The guest namespace is as a starting sandbox needs it: call it before each run and restore. May repeat."""
        await self.let_in(slot)
        plan = self._plan(slot.index)
        if plan.index in self._readied:
            self._readied.remove(plan.index)
            return
        await self._apart(lambda: wires.ready(plan), f"ready slot {plan.index}")

    async def hold(self, slot: Slot) -> None:
        """Nothing that arrives reaches the guest until `let_in`: whoever sent it sends it again. May be repeated."""
        plan = self._plan(slot.index)
        self._holding.add(plan.index)
        await self._apart(lambda: wires.hold(plan), f"hold what arrives at slot {plan.index}")

    async def let_in(self, slot: Slot) -> None:
        """May be repeated."""
        if slot.index in self._holding:
            plan = self._plan(slot.index)
            await self._apart(lambda: wires.let_in(plan), f"let in what arrives at slot {plan.index}")
            self._holding.discard(slot.index)

    async def rest(self, slot: Slot) -> None:
        """The sandbox sleeps: its connections outlive that, but for those that go through its gate. May be repeated."""
        gate = self._open_gates.pop(slot.index, None)
        if gate is not None:
            self._egress.pop(slot.index, None)  # to be set again when it wakes, and the gate opened
            await gate.close()

    async def release(self, slot: Slot) -> None:
        """The slot is nobody's; nothing may run in it any more. May be repeated."""
        await self.rest(slot)
        await self.let_in(slot)
        plan = self._held.pop(slot.index, None)
        if plan is None:
            return
        has_own_rules = self._egress.pop(plan.index, None) != OPEN
        self._readied.discard(plan.index)
        with anyio.CancelScope(shield=True):
            if has_own_rules:
                await self._in_thread(lambda: self._restricted.drop(plan.index), f"forget what slot {plan.index} may ask for")
        self._spares.put(Left(plan, has_own_rules))

    async def set_egress(self, slot: Slot, egress: Egress) -> None:
        """From now on the sandbox reaches what `egress` says; open connections it no longer covers are cut off. May be
        repeated.
        """
        plan = self._plan(slot.index)
        if self._egress.get(plan.index) == egress:
            return
        self._egress.pop(plan.index, None)  # unknown until it is done
        self._silent |= {plan.index}
        gate = await self._gates.open(plan, egress) if egress.gated else None
        try:
            ruleset = firewall.render_egress(self.services, egress, gate.port if gate else None)

            def load() -> None:
                if egress.limits_names:
                    self._restricted.put(plan.index)
                wires.enter(plan.router_netns)
                nftables.apply(ruleset, to=f"slot {plan.index}")
                if not egress.limits_names:
                    self._restricted.drop(plan.index)

            await self._apart(load, f"change the egress of slot {plan.index}")
        except BaseException:
            if gate is not None:
                await gate.close()
            raise
        before = self._open_gates.pop(plan.index, None)
        if gate is not None:
            self._open_gates[plan.index] = gate
        self._egress[plan.index] = egress
        self._silent -= {plan.index}
        if before is not None:
            await before.close()

    async def authority(self) -> str:
        """The certificate that a guest with rules must trust, as PEM."""
        return await self._in_thread(self._gates.authority.certificate, "make the authority for egress rules")

    async def counters(self, slot: Slot) -> Counters:
        """What went through the slot. Two small reads from the kernel's memory: nothing waits."""
        statistics = Path("/sys/class/net", self._plan(slot.index).host_link, "statistics")
        try:
            return Counters(
                received_bytes=int((statistics / "tx_bytes").read_text()),  # what the host sends, the guest receives
                sent_bytes=int((statistics / "rx_bytes").read_text()),
            )
        except OSError as error:
            raise Fault("slot_broken", f"The link of slot {slot.index} is gone: {error}.", slot=slot.index) from error

    async def close(self, *, remove: bool) -> None:
        """The forwarder and the making of spares have ended and spares are gone; claimed slots live on. May be
        repeated.

        With `remove`, nothing of this instance is left: slots, firewall, forwarder's address, range.
        """
        if self._network is None:
            return
        with anyio.CancelScope(shield=True):
            while self._background:
                scope, ended = self._background.pop()
                scope.cancel()
                await ended.wait()
            while self._open_gates:
                await self._open_gates.popitem()[1].close()
            await self._spares.close()
            if remove:
                await self._remove_all()
                network, directory = self._network, self._settings.run_directory / "networks"
                ruleset = firewall.render_host_removal(self._instance)
                await self._in_thread(lambda: nftables.apply(ruleset, to="the host"), "remove the host's firewall")
                await self._in_thread(lambda: ranges.give_back(self._instance, network, directory), "give the address range back")
                self._network = None

    @property
    def services(self) -> HostServices:
        """Where this node serves its guests. Known once it is open."""
        return HostServices(dns_address(self.network), self._settings.dns_port, self._settings.guest_api_port)

    def at(self, source: str) -> int | None:
        """The slot that an address at the services stands for; None if it is no slot's. Nobody can take another's."""
        return _slot_index(self.network, source)

    def _plan(self, index: int) -> SlotPlan:
        try:
            return self._held[index]
        except KeyError:
            raise NotFound(
                "slot_not_found",
                f"Slot {index} is not there: it was released, or did not outlive the machine's restart.",
                slot=index,
            ) from None

    async def _sort_out(self, keep: set[int], mtu_bytes: int) -> None:
        """Holds the slots to keep that are whole, removes every other trace, and knows which numbers are free."""
        self._silent = await self._in_thread(self._restricted.all, "look for slots that may ask for some names only")
        found = await self._in_thread(lambda: wires.traces(self._instance), "look for slots")
        every = {index: plan_slot(self._instance, self.network, index) for index in range(1, capacity(self.network) + 1)}
        self._held = {index: every[index] for index in found & every.keys() & keep if wires.is_whole(every[index])}
        self._egress.clear()
        for index, plan in self._held.items():  # a server that died may have held something off
            await self._apart(partial(wires.let_in, plan), f"let in what arrives at slot {index}")
        tenancies = {i: wires.read_tenancy(plan) if i in self._held else new_tenancy() for i, plan in every.items()}
        by_link = {every[index].host_link: tenancy for index, tenancy in tenancies.items()}
        tells_apart = await self._in_thread(lambda: self._set_up_host(by_link), "set up the host's firewall")
        ground = Ground(self._instance, self.network, self.services, mtu_bytes, tells_tenants_apart=tells_apart)
        self._spares.open(ground, (index for index in every if index not in found), tenancies)
        await self._remove(every[index] for index in found & every.keys() - self._held.keys())

    def _set_up_host(self, tenancies: Mapping[str, int]) -> bool:
        """Whether it can tell the tenants of a slot apart."""
        try:
            nftables.apply(firewall.render_host(self._instance, self.network, self.services, tenancies), to="the host")
        except Fault as error:
            nftables.apply(firewall.render_host(self._instance, self.network, self.services, {}), to="the host")
            log.warning("this kernel has no connection zones: no network slot is used twice", reason=error.message)
            return False
        return True

    async def _remove_all(self) -> None:
        self._egress.clear()
        self._held.clear()
        found = await self._in_thread(lambda: wires.traces(self._instance), "look for slots")
        every = range(1, capacity(self.network) + 1)
        await self._remove(plan_slot(self._instance, self.network, index) for index in found & set(every))

    async def _remove(self, plans: Iterable[SlotPlan]) -> None:
        plans = list(plans)
        await self._spares.remove(plans)
        await self._in_thread(lambda: [self._restricted.drop(plan.index) for plan in plans], "forget what slots may ask for")

    async def _in_background(self, work: Background, *, task_status: TaskStatus[None]) -> None:
        """Runs `work` until `close`."""
        ended = anyio.Event()
        with anyio.CancelScope() as scope:
            self._background.append((scope, ended))
            try:
                await work(task_status=task_status)
            finally:
                ended.set()

    def _forwarder(self) -> Forwarder:
        return Forwarder(
            listen=(str(self.services.address), self.services.dns_port),
            resolvers=self._resolv_conf.resolvers,
            slot_of=self.at,
            egress_of=self._known_egress,
            on_query=self._on_query,
        )

    def _known_egress(self, index: int) -> Egress | None:
        known = self._egress.get(index)
        return NOTHING if known is None and index in self._silent else known

    async def _apart(self, work: Callable[[], T], what: str) -> T:
        """Runs what enters a namespace. Ends only when the work has ended, cancelled or not."""
        return await self._in_thread(lambda: wires.apart(work), what)

    async def _in_thread(self, work: Callable[[], T], what: str) -> T:
        return await self._spares.in_thread(work, what)


def _slot(plan: SlotPlan) -> Slot:
    return Slot(index=plan.index, guest_netns=str(wires.NETNS_DIRECTORY / plan.guest_netns), address=str(plan.router_address))


def _slot_index(network: IPv4Network, source: str) -> int | None:
    try:
        return slot_index_at(network, IPv4Address(source))
    except AddressValueError:
        return None


def _switch_forwarding_on() -> bool:
    """Returns whether it was off."""
    if _IP_FORWARD.read_text().strip() == "1":
        return False
    _IP_FORWARD.write_text("1")
    return True
