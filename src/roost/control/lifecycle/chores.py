"""What the keeper does unasked, a chore each: deadlines, idle sleep and repair, people's links and seats, collecting.

See `keeper.Chore` for what a chore promises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Followed, Query, Store
from roost.contracts.usage import UsageLog
from roost.control.access.revocations import Revocations
from roost.control.builds.builds import TemplateBuilds
from roost.control.builds.layers import Layers
from roost.control.builds.uploads import BuildUploads
from roost.control.fleet.living import LivingSandboxes
from roost.control.fleet.nodes import Nodes
from roost.control.fleet.pulses import Pulses
from roost.control.fleet.route_feed import ServedRoutes
from roost.control.lifecycle.collector import Collector
from roost.control.lifecycle.flights import Flights
from roost.control.lifecycle.guard import guard
from roost.control.lifecycle.moves import Intent
from roost.control.lifecycle.recovery import Recovery
from roost.control.lifecycle.repairs import Repairs
from roost.control.lifecycle.sandbox_tasks import SandboxTasks
from roost.control.people.hands import GRACE_S, Hands
from roost.control.people.links import Links
from roost.control.people.live import Live
from roost.control.people.notices import GuestNotices
from roost.control.people.questions import Questions
from roost.control.sandboxes.trash import Trash
from roost.domain.activity import Decision, decide
from roost.domain.errors import Unavailable
from roost.domain.ids import NodeId, SandboxId
from roost.domain.lifecycle import LIVING, Action, State
from roost.domain.link import Link
from roost.domain.node import Departure, NodeReport
from roost.domain.question import Question, QuestionState
from roost.domain.sandbox import OnTimeout, Sandbox
from roost.domain.team import ApiKey
from roost.telemetry.log import get_logger
from roost.telemetry.metrics import count_sandbox

LOOK_EVERY_S = 5.0
LOOK_AT_SLEEPERS_EVERY_S = 30.0
"""While none is awake there is nothing to meter, and what ends unasked is told by the node."""
COLLECT_EVERY_S = 600.0
TELL_AGAIN_S = 2.0
REVOKER_HAS_S = 30.0
"""How long whoever revokes a key has for all of it, before the keeper looks."""
SAVE_EVERY_SAMPLES = 12
"""A minute of metering in one write."""

log = get_logger(__name__)


class Quiet:
    """A chore that no record makes due, and that leaves nothing to save."""

    def due_by(self, record: Followed) -> float | None:
        return None

    async def stop(self) -> None:
        return None


class EndAtDeadline(Quiet):
    """Sandboxes whose timeout came are paused or killed."""

    def __init__(self, *, store: Store, clock: Clock, flights: Flights, tasks: SandboxTasks) -> None:
        self._store = store
        self._clock = clock
        self._flights = flights
        self._tasks = tasks

    async def run(self) -> float | None:
        now = self._clock.now()
        horizon = now + LOOK_EVERY_S
        async with self._store.reading() as reader:
            due = await reader.find(Sandbox, Query(due_before=horizon))
        for record in due:
            if record.expires_at is not None and record.expires_at <= now:
                self._tasks.start(record.id, self._end)
        coming = (record.expires_at for record in due if record.expires_at is not None and record.expires_at > now)
        return min(coming, default=horizon)

    def due_by(self, record: Followed) -> float | None:
        return record.expires_at if isinstance(record, Sandbox) else None

    async def _end(self, sandbox: SandboxId) -> None:
        async with self._store.reading() as reader:
            record = await reader.get(Sandbox, sandbox)
        if record is None or record.state is not State.RUNNING:
            return
        if record.expires_at is None or record.expires_at > self._clock.now():
            return
        action = Action.PAUSE if record.policy.on_timeout is OnTimeout.PAUSE else Action.KILL
        intent = Intent(record.id, action, why="its timeout came", keep_memory=record.policy.keep_memory, keep=True)
        await self._flights.ask(intent)


class SleepWhenIdle:
    """Of the look around: sandboxes in which nothing happens are paused."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        flights: Flights,
        pulses: Pulses,
        served_routes: ServedRoutes,
        tasks: SandboxTasks,
    ) -> None:
        self._store = store
        self._clock = clock
        self._flights = flights
        self._pulses = pulses
        self._served_routes = served_routes
        self._tasks = tasks

    def read(self, here: Sequence[Sandbox], report: NodeReport) -> None:
        present = {(each.sandbox, each.incarnation): each for each in report.present}
        now = self._clock.now()
        for record in here:
            presence = present.get((record.id, record.incarnation))
            if record.state is not State.RUNNING or presence is None:
                continue
            self._pulses.read(record, presence.usage)
            if decide(record, self._pulses.signals(record), now) is Decision.SLEEP:
                self._tasks.start(record.id, self._sleep)

    async def _sleep(self, sandbox: SandboxId) -> None:
        if not await self._served_routes.refresh():
            return  # nobody knows what moves through the edge now
        async with self._store.reading() as reader:
            record = await reader.get(Sandbox, sandbox)
        if record is None or record.state is not State.RUNNING:
            return
        if decide(record, self._pulses.signals(record), self._clock.now()) is Decision.SLEEP:
            await self._flights.ask(Intent(record.id, Action.PAUSE, why="idle", keep_memory=record.policy.keep_memory))


class LookAround(Quiet):
    """What the nodes have against what the records say, and how busy each sandbox is: every few seconds while one is awake."""

    def __init__(
        self,
        *,
        living: LivingSandboxes,
        clock: Clock,
        nodes: Nodes,
        pulses: Pulses,
        idle: SleepWhenIdle,
        repairs: Repairs,
        trash: Trash,
        live: Live,
    ) -> None:
        self._living = living
        self._clock = clock
        self._nodes = nodes
        self._pulses = pulses
        self._idle = idle
        self._repairs = repairs
        self._trash = trash
        self._live = live

    async def run(self) -> float | None:
        begun_at = self._clock.now()
        await guard(self._look)
        all_asleep = all(record.state is State.PAUSED for record in await self._living.all())
        return begun_at + (LOOK_AT_SLEEPERS_EVERY_S if all_asleep else LOOK_EVERY_S)

    def due_by(self, record: Followed) -> float | None:
        return self._clock.now() + LOOK_EVERY_S if isinstance(record, Sandbox) else None

    async def _look(self) -> None:
        living = await self._living.all()  # before the node looks: see domain.reconcile
        reports = await self._nodes.look()
        self._pulses.keep_only({record.id for record in living})
        self._pulses.dozing = frozenset(sandbox for report in reports for sandbox in report.dozing)
        for state, count in Counter(dict.fromkeys(LIVING, 0) | Counter(record.state for record in living)).items():
            count_sandbox(state, count)
        for report in reports:
            await guard(self._trash.drop_if_tight, report)
            self._idle.read([record for record in living if record.node == report.node], report)
            await self._repairs.repair_what_stays(living, report)
        self._live.beat(living)


class SaveUsage(Quiet):
    """Metering samples go to the store, a minute at a time."""

    def __init__(self, *, clock: Clock, pulses: Pulses, usage: UsageLog) -> None:
        self._clock = clock
        self._pulses = pulses
        self._usage = usage

    async def run(self) -> float | None:
        await self._save(at_least=SAVE_EVERY_SAMPLES)
        return self._clock.now() + LOOK_EVERY_S

    async def stop(self) -> None:
        await self._save(at_least=1)

    async def _save(self, *, at_least: int) -> None:
        for sandbox, samples in self._pulses.take_unsaved(at_least).items():
            await guard(self._usage.add_usage, sandbox, samples)


class FollowDepartures(Quiet):
    """Hears of processes that end unasked. One that was shut down from inside has ended; any other end is a loss, and the
    sandbox falls back to what is left of it."""

    def __init__(self, *, cluster: Cluster, flights: Flights, tasks: SandboxTasks, recovery: Recovery) -> None:
        self._cluster = cluster
        self._flights = flights
        self._tasks = tasks
        self._recovery = recovery
        self._followed: set[NodeId] = set()

    async def run(self) -> float | None:
        for node in await self._cluster.nodes():
            if node not in self._followed:
                self._followed.add(node)
                self._tasks.spawn(self._follow, node)
        return None

    async def _follow(self, node: NodeId) -> None:
        while True:
            try:
                async for departure in self._cluster.node(node).watch():
                    self._tasks.spawn(self._record, departure)
                return  # it was closed
            except Unavailable as error:
                log.warning("a node's process is gone", node=node, error=error.message)
            await guard(self._recovery.retell, node)  # waits until it is there again

    async def _record(self, departure: Departure) -> None:
        log.info("a sandbox ended by itself", sandbox=departure.sandbox, detail=departure.detail, in_order=departure.in_order)
        fact = Action.EXIT if departure.in_order else Action.LOSE
        await self._flights.process_ended(departure.sandbox, departure.incarnation, fact, departure.detail)


class EndLinks(Quiet):
    """What an expired link opened is cut, and who drove by it drives no longer."""

    def __init__(self, *, links: Links) -> None:
        self._links = links

    async def run(self) -> float | None:
        return await self._links.end_due()

    def due_by(self, record: Followed) -> float | None:
        return record.expires_at if isinstance(record, Link) else None


class EndSeats(Quiet):
    """A person whose browser went away drives no longer."""

    def __init__(self, *, hands: Hands) -> None:
        self._hands = hands

    async def run(self) -> float | None:
        return await self._hands.release_lost()

    def due_by(self, record: Followed) -> float | None:
        if isinstance(record, Sandbox) and record.driver is not None:
            return record.driver.since + GRACE_S
        return None


class TellGuests(Quiet):
    """Guests that do not know yet who drives, or which token opens them, are told."""

    def __init__(self, *, clock: Clock, notices: GuestNotices, tasks: SandboxTasks) -> None:
        self._clock = clock
        self._notices = notices
        self._tasks = tasks

    async def run(self) -> float | None:
        if not self._notices.owes_any:
            return None
        self._tasks.spawn(self._notices.tell_owed)
        return self._clock.now() + TELL_AGAIN_S

    def due_by(self, record: Followed) -> float | None:
        return self._clock.now() if isinstance(record, Sandbox) and self._notices.is_owed(record) else None


class FinishRevocations(Quiet):
    """What revoked keys left behind is taken back, where whoever revoked them did not come to the end."""

    def __init__(self, *, clock: Clock, revocations: Revocations) -> None:
        self._clock = clock
        self._revocations = revocations

    async def run(self) -> float | None:
        await self._revocations.finish_all()
        return None

    def due_by(self, record: Followed) -> float | None:
        is_revoked = isinstance(record, ApiKey) and record.revoked_at is not None
        return self._clock.now() + REVOKER_HAS_S if is_revoked else None


class EndQuestions(Quiet):
    """Questions that nobody answered in time are closed, and those of the dead."""

    def __init__(self, *, clock: Clock, questions: Questions) -> None:
        self._clock = clock
        self._questions = questions

    async def run(self) -> float | None:
        now = self._clock.now()
        return min(await self._questions.expire() or now + LOOK_EVERY_S, now + LOOK_EVERY_S)

    def due_by(self, record: Followed) -> float | None:
        return record.expires_at if isinstance(record, Question) and record.state is QuestionState.OPEN else None


class CollectBuilds(Quiet):
    """Layers and uploads that no build needs go, and the oldest builds of each template."""

    def __init__(self, *, clock: Clock, builds: TemplateBuilds, layers: Layers, uploads: BuildUploads) -> None:
        self._clock = clock
        self._builds = builds
        self._layers = layers
        self._uploads = uploads
        self._next_at = clock.now() + COLLECT_EVERY_S

    async def run(self) -> float | None:
        if self._clock.now() >= self._next_at:
            self._next_at = self._clock.now() + COLLECT_EVERY_S
            await guard(self._layers.collect)
            await guard(self._uploads.collect)
            await guard(self._builds.forget)
        return self._next_at


class Collect(Quiet):
    """What has outlived its purpose goes: old records, events and questions, snapshots that nothing names."""

    def __init__(self, *, clock: Clock, nodes: Nodes, collector: Collector, questions: Questions, repairs: Repairs) -> None:
        self._clock = clock
        self._nodes = nodes
        self._collector = collector
        self._questions = questions
        self._repairs = repairs
        self._next_at = clock.now() + COLLECT_EVERY_S

    async def run(self) -> float | None:
        if self._clock.now() >= self._next_at:
            self._next_at = self._clock.now() + COLLECT_EVERY_S
            reports = await self._nodes.look()
            await guard(self._collector.collect)
            await guard(self._questions.forget)
            for report in reports:
                await self._repairs.drop_strays(report)
        return self._next_at
