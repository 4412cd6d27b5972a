"""Routes in memory: sandboxes are placed, put to sleep and removed by hand, and wake when their gate is open."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace

import anyio

from roost.contracts.routes import Route
from roost.domain.errors import RoostError, SandboxNotFound
from roost.domain.ids import SandboxId


class FakeRoutes:
    """Passes the contract of `Routes`. Every sandbox wakes at once unless `hold_wakes` was called for it."""

    def __init__(self) -> None:
        self._routes: dict[str, Route] = {}
        self._homes: dict[str, str] = {}  # where a sandbox wakes up
        self._gates: dict[str, anyio.Event] = {}
        self._failures: dict[str, RoostError] = {}
        self._flights: dict[str, _Flight] = {}
        self._listeners: list[_Listener] = []
        self.flights: list[tuple[SandboxId, str]] = []  # every wake that was begun, and why

    def locate(self, sandbox: str) -> Route | None:
        return self._routes.get(sandbox)

    def living(self) -> Iterable[Route]:
        return self._routes.values()

    async def wake(self, sandbox: SandboxId, why: str) -> Route:
        route = self._routes.get(sandbox)
        if route is None:
            raise SandboxNotFound(sandbox)
        if route.address is not None:
            return route
        flight = self._flights.get(sandbox)
        if flight is None:
            flight = self._flights[sandbox] = _Flight()
            self.flights.append((sandbox, why))
        flight.passengers += 1
        try:
            gate = self._gates.get(sandbox)
            if gate is not None:
                await gate.wait()
            return self._land(sandbox)
        finally:
            flight.passengers -= 1
            if not flight.passengers and self._flights.get(sandbox) is flight:
                del self._flights[sandbox]

    def changes(self) -> AsyncIterator[Route]:
        listener = _Listener()
        self._listeners.append(listener)
        return self._follow(listener)

    # What a test does

    def place(self, route: Route) -> None:
        """The route is this from now on."""
        self._routes[route.sandbox] = route
        if route.address is not None:
            self._homes[route.sandbox] = route.address
        self._publish(route)

    def sleep(self, sandbox: SandboxId, *, home: str | None = None, lost: bool = False) -> None:
        """The sandbox sleeps; it will wake up where it was, or at `home`. `lost`: at an earlier moment, since its process is
        gone."""
        if home is not None:
            self._homes[sandbox] = home
        route = replace(self._routes[sandbox], address=None)
        if lost:
            route = replace(route, lost=route.incarnation)
        self._routes[sandbox] = route
        self._publish(route)

    def remove(self, sandbox: SandboxId) -> None:
        """The sandbox is dead."""
        route = replace(self._routes.pop(sandbox), address=None)
        gate = self._gates.pop(sandbox, None)
        if gate is not None:
            gate.set()
        self._publish(route)

    def hold_wakes(self, sandbox: SandboxId) -> anyio.Event:
        """From now on the sandbox wakes only once the returned gate is set."""
        gate = self._gates[sandbox] = anyio.Event()
        return gate

    def fail_wakes(self, sandbox: SandboxId, error: RoostError) -> None:
        self._failures[sandbox] = error

    def waiting(self, sandbox: SandboxId) -> int:
        """How many callers share the flight under way."""
        flight = self._flights.get(sandbox)
        return flight.passengers if flight is not None else 0

    def _land(self, sandbox: SandboxId) -> Route:
        failure = self._failures.get(sandbox)
        if failure is not None:
            raise failure
        route = self._routes.get(sandbox)
        if route is None:
            raise SandboxNotFound(sandbox)
        if route.address is None:
            route = replace(route, address=self._homes[sandbox], incarnation=route.incarnation + 1)
            self._routes[sandbox] = route
            self._publish(route)
        return route

    def _publish(self, route: Route) -> None:
        for listener in self._listeners:
            listener.put(route)

    async def _follow(self, listener: _Listener) -> AsyncIterator[Route]:
        try:
            while True:
                yield await listener.get()
        finally:
            self._listeners.remove(listener)


class _Flight:
    def __init__(self) -> None:
        self.passengers = 0


class _Listener:
    """From the moment of its making it misses no change."""

    def __init__(self) -> None:
        self._changes: deque[Route] = deque()
        self._arrived = anyio.Event()

    def put(self, route: Route) -> None:
        self._changes.append(route)
        self._arrived.set()

    async def get(self) -> Route:
        while not self._changes:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return self._changes.popleft()
