"""The one background loop: deadlines, idle sleep, repair, collecting.

It does without being asked what callers ask for with `power` and `sandboxes`, by the same moves. One sandbox that makes trouble
never stops it: each is dealt with in a task of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup, TaskStatus

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Query, Store
from roost.control.alarm import Alarm
from roost.control.collector import Collector
from roost.control.directory import RouteTable
from roost.control.drivers import Drivers
from roost.control.flights import Flights
from roost.control.links import Links
from roost.control.live import Live
from roost.control.moves import Intent
from roost.control.nodes import Nodes
from roost.control.notices import DriverNotices
from roost.control.pulses import Pulses
from roost.control.questions import Questions
from roost.control.repairs import Repairs
from roost.control.templates import Templates
from roost.control.trash import Trash
from roost.domain.activity import Decision, decide
from roost.domain.egress import OPEN
from roost.domain.errors import RoostError
from roost.domain.ids import NodeId, SandboxId
from roost.domain.lifecycle import LIVING, Action, State
from roost.domain.node import Departure, NodeReport, Presence
from roost.domain.reconcile import Lose, Repair, Repeat, reconcile
from roost.domain.sandbox import OnTimeout, Sandbox
from roost.telemetry.log import get_logger
from roost.telemetry.metrics import count_sandbox

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Rhythm:
    look_every_s: float = 5.0
    collect_every_s: float = 600.0
    try_again_after_s: float = 60.0  # when putting a sandbox to sleep failed
    save_every_samples: int = 12  # a minute of metering in one write


@dataclass(slots=True)
class _Memory:
    """What the keeper remembers from one look to the next. Nothing here is needed after a restart."""

    missing: set[Lose] = field(default_factory=set)
    at_work: set[SandboxId] = field(default_factory=set)
    not_before: dict[SandboxId, float] = field(default_factory=dict)


class Keeper:
    def __init__(
        self,
        *,
        store: Store,
        cluster: Cluster,
        clock: Clock,
        flights: Flights,
        nodes: Nodes,
        routes: RouteTable,
        pulses: Pulses,
        alarm: Alarm,
        templates: Templates,
        repairs: Repairs,
        collector: Collector,
        links: Links,
        drivers: Drivers,
        notices: DriverNotices,
        live: Live,
        questions: Questions,
        trash: Trash,
        rhythm: Rhythm | None = None,
    ) -> None:
        self._store = store
        self._cluster = cluster
        self._clock = clock
        self._flights = flights
        self._nodes = nodes
        self._routes = routes
        self._pulses = pulses
        self._alarm = alarm
        self._templates = templates
        self._repairs = repairs
        self._collector = collector
        self._links = links
        self._drivers = drivers
        self._notices = notices
        self._live = live
        self._questions = questions
        self._trash = trash
        self._rhythm = rhythm or Rhythm()
        self._memory = _Memory()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Recovers, says that it is ready, and keeps until cancelled. `Flights.run` must be running."""
        await self.recover()
        try:
            async with anyio.create_task_group() as group:
                for node in await self._cluster.nodes():
                    group.start_soon(self._hear_departures, node, group)
                task_status.started()
                await self._keep(group)
        finally:
            with anyio.CancelScope(shield=True):
                await self._save_usage(at_least=1)

    async def recover(self) -> None:
        """After a start: routes are loaded, every move that an earlier server left is ordered again (and goes on behind this),
        lost sandboxes fall back, orphans and strays are gone."""
        living = await self._living()
        reports = await self._nodes.look()
        await self._links.load(living)
        self._load_routes(living, reports)
        for record in living:
            if record.egress != OPEN:  # an earlier server may have died between writing a change and making it so
                await self._guard(self._nodes.set_egress, record)
            if record.has_desktop:
                self._notices.owe(record)
        for report in reports:
            for repair in reconcile(_on(living, report.node), report, building=self._templates.building):
                await self._guard(self._repairs.make, repair, report.node)
            for stray in await self._repairs.find_strays(report):
                await self._guard(self._repairs.make, stray, report.node)
        await self._guard(self._questions.recover)

    def _load_routes(self, living: list[Sandbox], reports: list[NodeReport]) -> None:
        found = {presence.sandbox: presence for report in reports for presence in report.present if presence.alive}
        for record in living:
            presence = found.get(record.id)
            same = presence is not None and presence.incarnation == record.incarnation
            self._routes.put(record, presence.address if presence and same else None)

    async def _keep(self, group: TaskGroup) -> None:
        look_at = self._clock.now()
        collect_at = look_at + self._rhythm.collect_every_s
        while True:
            now = self._clock.now()
            if now >= look_at:
                await self._guard(self._look, group)
                look_at = now + self._rhythm.look_every_s
            if now >= collect_at:
                await self._guard(self._collect)
                collect_at = now + self._rhythm.collect_every_s
            await self._guard(self._expire, group, look_at)
            await self._guard(self._tend_screens, group)
            await self._guard(self._questions.expire, look_at)
            await self._alarm.wait(look_at)

    # Deadlines

    async def _expire(self, group: TaskGroup, horizon: float) -> None:
        """Ends what is due and sets the alarm for what comes due before the next look."""
        now = self._clock.now()
        async with self._store.reading() as reader:
            due = await reader.find(Sandbox, Query(due_before=max(now, horizon)))
        for record in due:
            if record.expires_at is not None and record.expires_at > now:
                self._alarm.ring_by(record.expires_at)
            else:
                self._start(group, record, self._time_out)

    async def _time_out(self, record: Sandbox) -> None:
        current = await self._running(record)
        if current is None or current.expires_at is None or current.expires_at > self._clock.now():
            return
        action = Action.PAUSE if current.policy.on_timeout is OnTimeout.PAUSE else Action.KILL
        intent = Intent(current.id, action, why="its timeout came", keep_memory=current.policy.keep_memory, keep=True)
        await self._flights.ask(intent)

    async def _tend_screens(self, group: TaskGroup) -> None:
        """Ends links whose time has come, and the driving of people who went away; guests hear of it behind this."""
        self._alarm.ring_by(await self._links.end_due())
        self._alarm.ring_by(await self._drivers.release_lost())
        group.start_soon(self._guard, self._notices.tell_owed)

    # Looking around

    async def _look(self, group: TaskGroup) -> None:
        living = await self._living()  # before the node looks: see domain.reconcile
        reports = await self._nodes.look()
        self._pulses.keep_only({record.id for record in living})
        for state, count in Counter(dict.fromkeys(LIVING, 0) | Counter(record.state for record in living)).items():
            count_sandbox(state, count)
        for report in reports:
            await self._guard(self._trash.drop_if_tight, report)
            here = _on(living, report.node)
            self._read_pulses(here, report, group)
            repairs = reconcile(here, report, building=self._templates.building)
            for repair in self._ripe(repairs, {record.id: record for record in here}):
                await self._guard(self._repairs.make, repair, report.node)
        self._live.beat(living)
        await self._save_usage(at_least=self._rhythm.save_every_samples)

    def _read_pulses(self, here: list[Sandbox], report: NodeReport, group: TaskGroup) -> None:
        present: dict[SandboxId, Presence] = {presence.sandbox: presence for presence in report.present}
        now = self._clock.now()
        for record in here:
            presence = present.get(record.id)
            if record.state is not State.RUNNING or presence is None or presence.incarnation != record.incarnation:
                continue
            self._pulses.read(record, presence.usage)
            if decide(record, self._pulses.signals(record), now) is Decision.SLEEP:
                self._start(group, record, self._fall_asleep)

    async def _fall_asleep(self, record: Sandbox) -> None:
        current = await self._running(record)
        if current is None:
            return
        if decide(current, self._pulses.signals(current), self._clock.now()) is Decision.SLEEP:
            intent = Intent(current.id, Action.PAUSE, why="idle", keep_memory=current.policy.keep_memory)
            await self._flights.ask(intent)

    def _ripe(self, repairs: list[Repair], records: dict[SandboxId, Sandbox]) -> list[Repair]:
        """A move is repeated when it is overdue. A process that is missing may have ended a moment ago, with its departure still
        to be heard: only when it is missing twice it is lost."""
        now = self._clock.now()
        missing = {repair for repair in repairs if isinstance(repair, Lose)}
        ripe: list[Repair] = []
        for repair in repairs:
            if isinstance(repair, Repeat):
                operation = records[repair.sandbox].operation
                if operation is not None and operation.deadline_at <= now:
                    ripe.append(repair)
            elif not isinstance(repair, Lose) or repair in self._memory.missing:
                ripe.append(repair)
        self._memory.missing = missing
        return ripe

    async def _hear_departures(self, node: NodeId, group: TaskGroup) -> None:
        async for departure in self._cluster.node(node).departures():
            group.start_soon(self._guard, self._bury, departure)

    async def _bury(self, departure: Departure) -> None:
        """One that was shut down from inside has ended. Any other end is a loss: it falls back to what is left of it."""
        log.info("a sandbox ended by itself", sandbox=departure.sandbox, detail=departure.detail, in_order=departure.in_order)
        fact = Action.EXIT if departure.in_order else Action.LOSE
        await self._flights.befall(departure.sandbox, departure.incarnation, fact, departure.detail)

    # Collecting

    async def _collect(self) -> None:
        reports = await self._nodes.look()
        await self._collector.collect()
        await self._guard(self._questions.forget)
        for report in reports:
            for stray in await self._repairs.find_strays(report):
                await self._guard(self._repairs.make, stray, report.node)

    async def _save_usage(self, *, at_least: int) -> None:
        for sandbox, samples in self._pulses.take_unsaved(at_least).items():
            await self._guard(self._store.add_usage, sandbox, samples)

    # One sandbox at a time

    def _start(self, group: TaskGroup, record: Sandbox, work: Callable[[Sandbox], Awaitable[None]]) -> None:
        """Once for each sandbox, and not again soon after it failed."""
        memory = self._memory
        if record.id in memory.at_work or memory.not_before.get(record.id, 0.0) > self._clock.now():
            return
        memory.at_work.add(record.id)
        group.start_soon(self._deal_with, record, work)

    async def _deal_with(self, record: Sandbox, work: Callable[[Sandbox], Awaitable[None]]) -> None:
        try:
            done = await self._guard(work, record)
        finally:
            self._memory.at_work.discard(record.id)
        if done:
            self._memory.not_before.pop(record.id, None)
        else:
            self._memory.not_before[record.id] = self._clock.now() + self._rhythm.try_again_after_s

    async def _guard(self, work: Callable[..., Awaitable[None]], *args: object) -> bool:
        """The outermost frame of whatever the keeper does: it reports and goes on. True if the work was done."""
        try:
            await work(*args)
        except RoostError as error:
            log.warning("the keeper could not do its work", work=_name(work), error=str(error))
            return False
        except Exception:
            log.exception("the keeper broke", work=_name(work))
            return False
        return True

    async def _running(self, record: Sandbox) -> Sandbox | None:
        """The record as it is now, if it still runs as the same incarnation."""
        async with self._store.reading() as reader:
            current = await reader.get(Sandbox, record.id)
        if current is None or current.state is not State.RUNNING or current.incarnation != record.incarnation:
            return None
        return current

    async def _living(self) -> list[Sandbox]:
        async with self._store.reading() as reader:
            return await reader.find(Sandbox, Query(one_of={"state": sorted(LIVING)}))


def _on(records: list[Sandbox], node: NodeId) -> list[Sandbox]:
    return [record for record in records if record.node == node]


def _name(work: Callable[..., object]) -> str:
    return getattr(work, "__name__", str(work)).strip("_").replace("_", " ")
