"""Joins the use cases, once. The server, the flows and the API's tests all get their control plane from here.

A new use case is a class in this package and two lines here: a field of `Control`, and its constructor.
"""

from __future__ import annotations

from dataclasses import dataclass

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.ledger import Ledger
from roost.contracts.route_feed import TakesReports
from roost.contracts.store import Store
from roost.contracts.usage import UsageLog
from roost.control.access.keys import Keys
from roost.control.access.revocations import Revocations
from roost.control.access.tokens import Tokens
from roost.control.builds.bases import Bases
from roost.control.builds.builders import Builders
from roost.control.builds.builds import TemplateBuilds
from roost.control.builds.finishing import Finishing
from roost.control.builds.layers import LAYER_DAYS, Layers
from roost.control.builds.logs import BuildLogs
from roost.control.builds.queue import AT_ONCE, BuildQueue
from roost.control.builds.records import BuildRecords
from roost.control.builds.runner import BuildRunner
from roost.control.builds.uploads import UPLOAD_LIMIT_BYTES, BuildUploads
from roost.control.fleet.living import LivingSandboxes
from roost.control.fleet.nodes import Nodes
from roost.control.fleet.pulses import Pulses
from roost.control.fleet.route_feed import ServedRoutes
from roost.control.fleet.routes import Directory, RouteTable
from roost.control.lifecycle.alarm import DeadlineTimer
from roost.control.lifecycle.chores import (
    Collect,
    CollectBuilds,
    EndAtDeadline,
    EndLinks,
    EndQuestions,
    EndSeats,
    FinishRevocations,
    FollowDepartures,
    LookAround,
    SaveUsage,
    SleepWhenIdle,
    TellGuests,
)
from roost.control.lifecycle.collector import DAY_S, EVENT_DAYS, Collector
from roost.control.lifecycle.flights import Flights
from roost.control.lifecycle.keeper import Keeper
from roost.control.lifecycle.moves import MoveLimits, Moves
from roost.control.lifecycle.recovery import Recovery
from roost.control.lifecycle.repairs import Repairs
from roost.control.lifecycle.sandbox_tasks import SandboxTasks
from roost.control.people.events import EventLog
from roost.control.people.hands import Hands
from roost.control.people.links import Links
from roost.control.people.live import Live
from roost.control.people.notices import GuestNotices
from roost.control.people.overview import Overview
from roost.control.people.questions import Questions
from roost.control.sandboxes.forks import Forks
from roost.control.sandboxes.power import Power
from roost.control.sandboxes.rollbacks import Rollbacks
from roost.control.sandboxes.sandboxes import Sandboxes
from roost.control.sandboxes.snapshots import Snapshots
from roost.control.sandboxes.trash import Trash
from roost.control.sandboxes.undeletes import Undeletes
from roost.control.templates.builtins import BuiltinBuilds
from roost.control.templates.sites import Sites
from roost.control.templates.tags import TemplateTags
from roost.control.templates.templates import Templates
from roost.domain import ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What control stands on."""

    store: Store
    usage: UsageLog
    cluster: Cluster
    ledger: Ledger
    clock: Clock
    random: ids.Random
    reports: TakesReports | None = None  # of edges in other processes


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlOptions:
    """What an operator may set."""

    warm: int = 2  # clones of each template that a node keeps ready
    warm_desktops: int = 1
    trash_s: float = DAY_S
    event_s: float = EVENT_DAYS * DAY_S
    private_proxies: bool = False
    builds: int = AT_ONCE
    upload_limit_bytes: int = UPLOAD_LIMIT_BYTES
    layer_s: float = LAYER_DAYS * DAY_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The control plane. `flights.run`, `keeper.run` and `build_queue.run` must run for anything to happen."""

    sandboxes: Sandboxes
    tokens: Tokens
    power: Power
    snapshots: Snapshots
    forks: Forks
    undeletes: Undeletes
    rollbacks: Rollbacks
    templates: Templates
    template_tags: TemplateTags
    builds: TemplateBuilds
    build_queue: BuildQueue
    uploads: BuildUploads
    layers: Layers
    keys: Keys
    links: Links
    hands: Hands
    questions: Questions
    events: EventLog
    overview: Overview
    nodes: Nodes
    flights: Flights
    keeper: Keeper
    routes: RouteTable
    directory: Directory
    served_routes: ServedRoutes
    live: Live
    pulses: Pulses


def compose(on: Dependencies, options: ControlOptions | None = None) -> Control:
    """By plain constructors; nothing runs yet."""
    options = options or ControlOptions()
    store, cluster, clock, random = on.store, on.cluster, on.clock, on.random
    alarm, events, nodes, builds = (
        DeadlineTimer(clock=clock),
        EventLog(store=store),
        Nodes(cluster=cluster),
        BuiltinBuilds(clock=clock),
    )
    sites = Sites()
    pulses, tasks = Pulses(clock=clock, ledger=on.ledger), SandboxTasks(clock=clock)
    live, routes, living = Live(clock=clock, pulses=pulses), RouteTable(), LivingSandboxes(store=store)
    notices = GuestNotices(store=store, nodes=nodes, clock=clock)
    moves = Moves(store=store, clock=clock, random=random, limits=MoveLimits(trash_s=options.trash_s))
    trash = Trash(store=store, cluster=cluster, clock=clock)
    flights = Flights(store=store, cluster=cluster, clock=clock, moves=moves, trash=trash)
    power = Power(store=store, flights=flights)
    served_routes = ServedRoutes(table=routes, waker=power, clock=clock, listener=on.reports)
    templates = Templates(
        store=store,
        cluster=cluster,
        clock=clock,
        random=random,
        nodes=nodes,
        builds=builds,
        sites=sites,
        warm=options.warm,
        warm_desktops=options.warm_desktops,
    )
    building = _compose_builds(on, options, nodes, sites)
    links = Links(store=store, clock=clock, random=random, routes=routes)
    hands = Hands(store=store, clock=clock, routes=routes, ledger=on.ledger, notices=notices)
    tokens = Tokens(store=store, notices=notices, clock=clock, random=random)
    revocations = Revocations(store=store, links=links, tokens=tokens)
    keys = Keys(store=store, clock=clock, random=random, revocations=revocations)
    questions = Questions(store=store, events=events, flights=flights, clock=clock, random=random)
    repairs = Repairs(store=store, cluster=cluster, clock=clock, flights=flights, sites=sites)
    collector = Collector(
        store=store, usage=on.usage, cluster=cluster, clock=clock, routes=routes, trash=trash, event_s=options.event_s
    )
    idle = SleepWhenIdle(store=store, clock=clock, flights=flights, pulses=pulses, served_routes=served_routes, tasks=tasks)
    recovery = Recovery(
        store=store,
        moves=moves,
        nodes=nodes,
        routes=routes,
        repairs=repairs,
        notices=notices,
        questions=questions,
        templates=templates,
    )
    keeper = Keeper(
        clock=clock,
        alarm=alarm,
        tasks=tasks,
        recovery=recovery,
        chores=(
            FollowDepartures(cluster=cluster, flights=flights, tasks=tasks, recovery=recovery),
            LookAround(
                living=living, clock=clock, nodes=nodes, pulses=pulses, idle=idle, repairs=repairs, trash=trash, live=live
            ),
            SaveUsage(clock=clock, pulses=pulses, usage=on.usage),
            Collect(clock=clock, nodes=nodes, collector=collector, questions=questions, repairs=repairs),
            EndAtDeadline(store=store, clock=clock, flights=flights, tasks=tasks),
            EndLinks(links=links),
            EndSeats(hands=hands),
            TellGuests(clock=clock, notices=notices, tasks=tasks),
            FinishRevocations(clock=clock, revocations=revocations),
            EndQuestions(clock=clock, questions=questions),
            CollectBuilds(clock=clock, builds=building.builds, layers=building.layers, uploads=building.uploads),
        ),
    )
    for listener in (
        routes.hear,
        living.hear,
        keys.hear,
        notices.hear,
        live.hear,
        keeper.hear,
    ):  # the keeper last: it acts on what others know
        store.subscribe(listener)
    return Control(
        sandboxes=Sandboxes(
            store=store,
            usage=on.usage,
            flights=flights,
            nodes=nodes,
            pulses=pulses,
            clock=clock,
            random=random,
            builds=builds,
            trash=trash,
            private_proxies=options.private_proxies,
        ),
        tokens=tokens,
        power=power,
        snapshots=Snapshots(store=store, cluster=cluster, clock=clock, flights=flights),
        forks=Forks(store=store, cluster=cluster, clock=clock, random=random, flights=flights, nodes=nodes),
        undeletes=Undeletes(store=store, clock=clock, random=random, flights=flights, nodes=nodes, trash=trash),
        rollbacks=Rollbacks(store=store, cluster=cluster, clock=clock, moves=moves, flights=flights),
        templates=templates,
        template_tags=TemplateTags(store=store, cluster=cluster, clock=clock, random=random),
        builds=building.builds,
        build_queue=building.queue,
        uploads=building.uploads,
        layers=building.layers,
        keys=keys,
        links=links,
        hands=hands,
        questions=questions,
        events=events,
        overview=Overview(store=store, pulses=pulses, live=live, clock=clock),
        nodes=nodes,
        flights=flights,
        keeper=keeper,
        routes=routes,
        directory=Directory(table=routes, waker=power),
        served_routes=served_routes,
        live=live,
        pulses=pulses,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Building:
    builds: TemplateBuilds
    queue: BuildQueue
    uploads: BuildUploads
    layers: Layers


def _compose_builds(on: Dependencies, options: ControlOptions, nodes: Nodes, sites: Sites) -> _Building:
    store, cluster, clock, random = on.store, on.cluster, on.clock, on.random
    layers = Layers(store=store, cluster=cluster, clock=clock, sites=sites, keep_s=options.layer_s)
    logs, records = BuildLogs(store=store, clock=clock), BuildRecords(store=store, clock=clock)
    builders = Builders(cluster=cluster, random=random, sites=sites)
    runner = BuildRunner(
        cluster=cluster,
        nodes=nodes,
        random=random,
        sites=sites,
        layers=layers,
        logs=logs,
        records=records,
        bases=Bases(store=store, cluster=cluster, random=random, sites=sites, layers=layers),
        builders=builders,
        finishing=Finishing(
            store=store, cluster=cluster, clock=clock, random=random, sites=sites, builders=builders, logs=logs
        ),
    )  # fmt: skip
    queue = BuildQueue(store=store, clock=clock, records=records, runner=runner, logs=logs, at_once=options.builds)
    uploads = BuildUploads(
        store=store, cluster=cluster, clock=clock, random=random, nodes=nodes, limit_bytes=options.upload_limit_bytes
    )
    builds = TemplateBuilds(
        store=store, clock=clock, random=random, queue=queue, records=records, logs=logs, uploads=uploads
    )  # fmt: skip
    return _Building(builds=builds, queue=queue, uploads=uploads, layers=layers)
