"""Where every living sandbox is, in memory: the edge asks on each request and never waits for the database.

`RouteTable` follows the feed of changes. `Directory` is the same table as the edge sees it: the `Routes` contract, with waking.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from typing import Protocol
from weakref import WeakSet

import anyio

from roost.contracts.routes import Route
from roost.contracts.store import Change
from roost.domain.errors import SandboxNotFound, Unavailable
from roost.domain.ids import LinkId, SandboxId
from roost.domain.lifecycle import LIVING, State
from roost.domain.link import Link
from roost.domain.sandbox import Sandbox

REACHABLE = frozenset({State.RUNNING, State.SNAPSHOTTING})
"""States in which traffic is let through. While it falls asleep traffic waits: it would meet a frozen guest."""

STILL = frozenset({State.SNAPSHOTTING})
"""States in which a guest that traffic is let through to may be frozen, for as long as its memory takes to be written."""

ENDED = frozenset(State) - LIVING | {State.KILLING}
"""States that lead nowhere but to the end: connections are cut."""


class WakesSandboxes(Protocol):
    async def ensure_running(self, sandbox: SandboxId, why: str) -> Sandbox: ...


class RouteTable:
    """Hears every committed change. Never blocks. Of two versions of a record the newer one wins, whatever order they come in."""

    def __init__(self) -> None:
        self._routes: dict[str, Route] = {}
        self._revisions: dict[str, int] = {}
        self._links: dict[LinkId, Link] = {}
        self._links_of: dict[SandboxId, dict[str, Link]] = {}  # by digest
        self._watchers: WeakSet[Changes] = WeakSet()
        self.announced = 0
        """How many changes there were so far."""

    def load(self, records: Iterable[Sandbox], links: Iterable[Link]) -> None:
        """What there was before the first change that is heard."""
        records = list(records)
        known = {record.id for record in records}
        for link in links:
            if link.sandbox in known:
                self._put_link(link)
        for record in records:
            self._put(record)

    def hear(self, changes: Sequence[Change]) -> None:
        for change in changes:
            match change.record:
                case Sandbox() as record:
                    self._put(record)
                case Link() as link:
                    self._put_link(link)
                case None if change.kind is Sandbox:
                    self._revisions.pop(change.id, None)
                case None if change.kind is Link:
                    self._drop_link(LinkId(change.id))
                case _:
                    pass

    def _put(self, record: Sandbox) -> None:
        if record.revision < self._revisions.get(record.id, 0):
            return
        self._revisions[record.id] = record.revision  # kept when it ends: a late write must not bring it back
        if record.state in ENDED:
            self._drop(record)
            return
        route = Route(
            sandbox=record.id,
            team=record.team,
            incarnation=record.incarnation,
            address=record.endpoint if record.state in REACHABLE else None,
            access_token=record.access_token,
            wakes=record.policy.wake_on_traffic,
            ingress=record.ingress,
            driver=record.driver,
            links=dict(self._links_of.get(record.id, {})),
            lost=record.lost,
            is_still=record.state in STILL,
        )
        self._replace(route)

    def _put_link(self, link: Link) -> None:
        self._links[link.id] = link
        self._links_of.setdefault(link.sandbox, {})[link.digest] = link
        self._relink(link.sandbox)

    def _drop_link(self, id: LinkId) -> None:
        link = self._links.pop(id, None)
        if link is None:
            return
        others = self._links_of.get(link.sandbox, {})
        others.pop(link.digest, None)
        if not others:
            self._links_of.pop(link.sandbox, None)
        self._relink(link.sandbox)

    def links(self) -> list[Link]:
        """Of all living sandboxes, those that have expired too."""
        return list(self._links.values())

    def remind(self, sandbox: SandboxId) -> None:
        """Time ended one of its links: those who hold connections open look again."""
        if route := self._routes.get(sandbox):
            self._announce(route)

    def locate(self, sandbox: str) -> Route | None:
        return self._routes.get(sandbox)

    def living(self) -> Iterable[Route]:
        return self._routes.values()

    def changes(self) -> Changes:
        watcher = Changes()
        self._watchers.add(watcher)
        return watcher

    def __len__(self) -> int:
        return len(self._routes)

    def _relink(self, sandbox: SandboxId) -> None:
        if route := self._routes.get(sandbox):
            self._replace(replace(route, links=dict(self._links_of.get(sandbox, {}))))

    def _replace(self, route: Route) -> None:
        if self._routes.get(route.sandbox) != route:
            self._routes[route.sandbox] = route
            self._announce(route)

    def _drop(self, record: Sandbox) -> None:
        for link in self._links_of.pop(record.id, {}).values():
            del self._links[link.id]
        if route := self._routes.pop(record.id, None):
            self._announce(Route(route.sandbox, route.team, record.incarnation, None, route.access_token, wakes=False))

    def _announce(self, route: Route) -> None:
        self.announced += 1
        for watcher in self._watchers:
            watcher.add(route)


class Changes:
    """A stream of changed routes for one reader. Changes not yet read are merged by sandbox, so a slow reader keeps at most
    one for each and always ends up with the newest."""

    def __init__(self) -> None:
        self._pending: dict[SandboxId, Route] = {}
        self._is_nudged = False
        self._news = anyio.Event()

    def add(self, route: Route) -> None:
        self._pending.pop(route.sandbox, None)
        self._pending[route.sandbox] = route
        self._news.set()

    def __aiter__(self) -> AsyncIterator[Route]:
        return self

    def nudge(self) -> None:
        """Its reader gets a batch, with or without changes."""
        self._is_nudged = True
        self._news.set()

    async def next_batch(self) -> list[SandboxId]:
        """Everything not yet read, at once: whose route changed."""
        while not self._pending and not self._is_nudged:
            self._news = anyio.Event()
            await self._news.wait()
        self._is_nudged = False
        changed = list(self._pending)
        self._pending.clear()
        return changed

    async def __anext__(self) -> Route:
        while not self._pending:
            self._news = anyio.Event()
            await self._news.wait()
        return self._pending.pop(next(iter(self._pending)))


class Directory:
    """The `Routes` contract on the table of this process. How long a caller waits for a wake is the caller's business."""

    def __init__(self, *, table: RouteTable, waker: WakesSandboxes) -> None:
        self._table = table
        self._waker = waker

    def locate(self, sandbox: str) -> Route | None:
        return self._table.locate(sandbox)

    def living(self) -> Iterable[Route]:
        return self._table.living()

    def changes(self) -> AsyncIterator[Route]:
        return self._table.changes()

    async def wake(self, sandbox: SandboxId, why: str) -> Route:
        await self._waker.ensure_running(sandbox, why)
        route = self._table.locate(sandbox)
        if route is None:
            raise SandboxNotFound(sandbox)
        if route.address is None:
            raise Unavailable("asleep_again", f"Sandbox {sandbox} woke and fell asleep again. Try again.", sandbox=sandbox)
        return route
