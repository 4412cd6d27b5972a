"""The routes of a control in another process, kept in memory here: the `Routes` contract on a `RouteFeed`.

While control is away, the routes that are known still hold: traffic goes on. A sandbox that sleeps waits for control to wake it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from dataclasses import replace

import anyio
import anyio.abc

from roost.contracts.route_feed import EdgeReport, RouteFeed, RouteNews
from roost.contracts.routes import Route
from roost.domain.errors import RoostError, SandboxNotFound, Unavailable
from roost.domain.ids import SandboxId
from roost.edge.ledger import TrafficLedger

BEAT_S = 1.0
"""Between two reports at most. Whoever decides about sleep asks for one of that moment."""
_AGAIN_S = 0.1

log = logging.getLogger(__name__)


class RouteCopy:
    """`run` must run for anything to change. `edge` names this process among all that follow."""

    def __init__(self, feed: RouteFeed, ledger: TrafficLedger, edge: str) -> None:
        self._feed = feed
        self._ledger = ledger
        self._edge = edge
        self._routes: dict[str, Route] = {}
        self._coming: dict[str, Route] | None = None  # all routes, while they are told
        self._position = -1
        self._is_current = False  # control is there, and what it told is known
        self._changed: dict[SandboxId, Route] = {}  # not yet acted on
        self._news = anyio.Event()
        self._moved = anyio.Event()

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Follows control, whenever there is one, until cancelled. Started once all routes are known."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow)
            tasks.start_soon(self._beat)
            await self.until_current()
            task_status.started()

    async def until_current(self) -> None:
        """Control is there, and everything that it has told is known."""
        while not self._is_current:
            await self._moved.wait()

    def locate(self, sandbox: str) -> Route | None:
        return self._routes.get(sandbox)

    def living(self) -> Iterable[Route]:
        return self._routes.values()

    async def wake(self, sandbox: SandboxId, why: str) -> Route:
        position = await self._feed.wake(sandbox, why)
        while not self._is_current or self._position < position:
            await self._moved.wait()
        route = self._routes.get(sandbox)
        if route is None:
            raise SandboxNotFound(sandbox)
        if route.address is None:
            raise Unavailable("asleep_again", f"Sandbox {sandbox} woke and fell asleep again. Try again.", sandbox=sandbox)
        return route

    async def changes(self) -> AsyncIterator[Route]:
        """For one reader: that it asks for more tells control that it acted on what it got."""
        while True:
            while self._changed:
                yield self._changed.pop(next(iter(self._changed)))
            self._report()
            self._news = anyio.Event()
            await self._news.wait()

    async def _follow(self) -> None:
        while True:
            try:
                news = self._feed.follow(self._edge)
                assert isinstance(news, AsyncGenerator)
                async with aclosing(news):
                    async for each in news:
                        self._take(each)
            except Unavailable as error:
                log.warning("control is away; sandboxes that run are reached all the same: %s", error.message)
            except RoostError:
                log.exception("routes cannot be followed")
            self._is_current = False
            await anyio.sleep(_AGAIN_S)

    async def _beat(self) -> None:
        while True:
            await anyio.sleep(BEAT_S)
            if not self._changed:
                self._report()

    def _take(self, news: RouteNews) -> None:
        if news.is_first:
            self._coming = {}
        if self._coming is not None:
            self._coming.update((route.sandbox, route) for route in news.routes)
            if news.position is None:
                return
            before, self._routes, self._coming = self._routes, self._coming, None
            self._changed.update(_differences(before, self._routes))
            self._ledger.report_again()  # this control may know nothing yet
            self._is_current = True
        else:
            self._apply(news)
        assert news.position is not None, "only all routes come in parts"
        self._position = news.position
        self._news.set()
        self._moved.set()
        self._moved = anyio.Event()

    def _apply(self, news: RouteNews) -> None:
        for route in news.routes:
            self._routes[route.sandbox] = route
            self._changed[route.sandbox] = route
        for sandbox in news.gone:
            self._ledger.forget(sandbox)
            if (last := self._routes.pop(sandbox, None)) is not None:
                self._changed[sandbox] = replace(last, address=None, wakes=False)

    def _report(self) -> None:
        """Everything up to the position is acted on: the reader of changes has none left."""
        if not self._is_current:
            return
        traffic = self._ledger.take_changed()
        if not self._feed.report(EdgeReport(self._edge, self._position, traffic)):
            self._ledger.report_again(each.sandbox for each in traffic)


def _differences(before: dict[str, Route], now: dict[str, Route]) -> dict[SandboxId, Route]:
    changed = {route.sandbox: route for id, route in now.items() if before.get(id) != route}
    gone = {route.sandbox: replace(route, address=None, wakes=False) for id, route in before.items() if id not in now}
    return changed | gone
