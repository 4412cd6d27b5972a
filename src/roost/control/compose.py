"""Joins the use cases, once. The server, the flows and the API's tests all get their control plane from here.

A new use case is a class in this package and two lines here: a field of `Control`, and its constructor.
"""

from __future__ import annotations

from dataclasses import dataclass

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.guest import Guest
from roost.contracts.ledger import Ledger
from roost.contracts.store import Store
from roost.control.alarm import Alarm
from roost.control.builds import Builds
from roost.control.collector import DAY_S, EVENT_DAYS, Collector
from roost.control.directory import Directory, RouteTable
from roost.control.drivers import Drivers
from roost.control.feed import Feed
from roost.control.fleet import Fleet
from roost.control.flights import Flights
from roost.control.forks import Forks
from roost.control.keeper import Keeper
from roost.control.keys import Keys
from roost.control.links import Links
from roost.control.live import Live
from roost.control.moves import Limits, Moves
from roost.control.nodes import Nodes
from roost.control.notices import DriverNotices
from roost.control.power import Power
from roost.control.pulses import Pulses
from roost.control.questions import Questions
from roost.control.repairs import Repairs
from roost.control.rollbacks import Rollbacks
from roost.control.sandboxes import Sandboxes
from roost.control.snapshots import Snapshots
from roost.control.templates import Templates
from roost.control.trash import Trash
from roost.control.undeletes import Undeletes
from roost.domain import ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What control stands on."""

    store: Store
    cluster: Cluster
    guest: Guest
    ledger: Ledger
    clock: Clock
    random: ids.Random


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What an operator may set."""

    warm: int = 2  # clones of each template that a node keeps ready
    warm_desktops: int = 1
    trash_s: float = DAY_S
    event_s: float = EVENT_DAYS * DAY_S
    private_proxies: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The control plane. `flights.run` and `keeper.run` must run for anything to happen."""

    sandboxes: Sandboxes
    power: Power
    snapshots: Snapshots
    forks: Forks
    undeletes: Undeletes
    rollbacks: Rollbacks
    templates: Templates
    keys: Keys
    links: Links
    drivers: Drivers
    questions: Questions
    feed: Feed
    fleet: Fleet
    nodes: Nodes
    flights: Flights
    keeper: Keeper
    routes: RouteTable
    directory: Directory
    live: Live
    pulses: Pulses


def compose(on: Dependencies, options: Options | None = None) -> Control:
    """By plain constructors; nothing runs yet."""
    options = options or Options()
    store, cluster, clock, random = on.store, on.cluster, on.clock, on.random
    alarm, feed, nodes, builds = Alarm(clock=clock), Feed(store=store), Nodes(cluster=cluster), Builds(clock=clock)
    pulses = Pulses(clock=clock, ledger=on.ledger)
    live = Live(clock=clock, pulses=pulses)
    notices = DriverNotices(nodes=nodes, clock=clock, alarm=alarm)
    routes = RouteTable(live.changed, notices.hear)
    moves = Moves(store=store, clock=clock, random=random, limits=Limits(trash_s=options.trash_s))
    trash = Trash(store=store, cluster=cluster, clock=clock, routes=routes)
    flights = Flights(store=store, cluster=cluster, clock=clock, moves=moves, routes=routes, alarm=alarm, trash=trash)
    power = Power(store=store, flights=flights)
    templates = Templates(
        store=store,
        cluster=cluster,
        guest=on.guest,
        clock=clock,
        random=random,
        nodes=nodes,
        builds=builds,
        warm=options.warm,
        warm_desktops=options.warm_desktops,
    )
    links = Links(store=store, clock=clock, random=random, routes=routes, alarm=alarm)
    drivers = Drivers(store=store, clock=clock, routes=routes, alarm=alarm, ledger=on.ledger, notices=notices)
    keys = Keys(store=store, clock=clock, random=random)
    questions = Questions(store=store, feed=feed, flights=flights, keys=keys, alarm=alarm, clock=clock, random=random)
    keeper = Keeper(
        store=store,
        cluster=cluster,
        clock=clock,
        flights=flights,
        nodes=nodes,
        routes=routes,
        pulses=pulses,
        alarm=alarm,
        templates=templates,
        repairs=Repairs(store=store, cluster=cluster, flights=flights, templates=templates),
        collector=Collector(store=store, cluster=cluster, clock=clock, routes=routes, trash=trash, event_s=options.event_s),
        links=links,
        drivers=drivers,
        notices=notices,
        live=live,
        questions=questions,
        trash=trash,
    )
    return Control(
        sandboxes=Sandboxes(
            store=store,
            flights=flights,
            nodes=nodes,
            routes=routes,
            pulses=pulses,
            alarm=alarm,
            clock=clock,
            random=random,
            builds=builds,
            trash=trash,
            private_proxies=options.private_proxies,
        ),
        power=power,
        snapshots=Snapshots(store=store, cluster=cluster, clock=clock, flights=flights),
        forks=Forks(store=store, cluster=cluster, clock=clock, random=random, flights=flights, nodes=nodes),
        undeletes=Undeletes(store=store, clock=clock, random=random, flights=flights, nodes=nodes, trash=trash),
        rollbacks=Rollbacks(store=store, cluster=cluster, clock=clock, moves=moves, flights=flights, routes=routes),
        templates=templates,
        keys=keys,
        links=links,
        drivers=drivers,
        questions=questions,
        feed=feed,
        fleet=Fleet(store=store, feed=feed, pulses=pulses, live=live, clock=clock),
        nodes=nodes,
        flights=flights,
        keeper=keeper,
        routes=routes,
        directory=Directory(table=routes, waker=power, clock=clock),
        live=live,
        pulses=pulses,
    )
