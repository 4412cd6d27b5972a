"""Connections to sandboxes: how each port is reached, and the idle ones kept for the next request."""

from __future__ import annotations

import asyncio
from enum import Enum, auto

import anyio

from roost.contracts.routes import Route
from roost.domain.ids import SandboxId
from roost.edge.limits import AGENT_PORT, EdgeLimits
from roost.edge.upstreams.idle import IdleConnections
from roost.edge.upstreams.upstream import BridgeHandshake, PortClosed, PortUnreachable, Upstream


class Way(Enum):
    DIRECT = auto()  # TCP to the sandbox's address
    BRIDGE = auto()  # through the agent, for what listens on the sandbox's loopback only


class _Known:
    """What was learnt about one incarnation of a sandbox."""

    __slots__ = ("idle", "incarnation", "ways")

    def __init__(self, incarnation: int) -> None:
        self.incarnation = incarnation
        self.ways: dict[int, Way] = {}
        self.idle: dict[int, IdleConnections[Upstream]] = {}


class Lines:
    def __init__(self, limits: EdgeLimits) -> None:
        self._limits = limits
        self._known: dict[SandboxId, _Known] = {}

    def take_idle(self, route: Route, port: int) -> Upstream | None:
        """A connection left over from an earlier request, the newest first."""
        known = self._known.get(route.sandbox)
        if known is None or known.incarnation != route.incarnation:
            return None
        idle = known.idle.get(port)
        upstream = idle.take() if idle is not None else None
        if upstream is not None and upstream.address != route.address:
            upstream.abort()
            return None
        return upstream

    def give_back(self, upstream: Upstream) -> None:
        """Keeps a connection whose last answer is complete, or closes it."""
        known = self._known.get(upstream.sandbox)
        if known is None or known.incarnation != upstream.incarnation:
            upstream.close()
            return
        idle = known.idle.get(upstream.port)
        if idle is None:
            limits = self._limits
            idle = known.idle[upstream.port] = IdleConnections(limits.idle_upstreams, limits.idle_upstream_s)
        idle.put(upstream)

    async def dial(self, route: Route, port: int) -> Upstream:
        """A new connection to the port. Raises PortClosed, PortUnreachable."""
        known = self._learn(route)
        if port == AGENT_PORT:
            return await self._open(route, port, Way.DIRECT)
        first, second = Way.DIRECT, Way.BRIDGE
        if known.ways.get(port) is Way.BRIDGE:
            first, second = second, first
        try:
            upstream, way = await self._open(route, port, first), first
        except PortClosed as refused:
            try:
                upstream, way = await self._open(route, port, second), second
            except PortUnreachable:
                raise refused from None
        known.ways[port] = way
        return upstream

    async def dial_screen(self, route: Route, port: int) -> Upstream:
        """A new connection to a server of screens, which listens on the sandbox's loopback and speaks first. Raises PortClosed,
        PortUnreachable."""
        self._learn(route)
        return await self._open(route, port, Way.BRIDGE, speaks_first=True)

    def drop(self, sandbox: SandboxId) -> None:
        """Closes what is idle and forgets what was learnt."""
        known = self._known.pop(sandbox, None)
        if known is not None:
            for idle in known.idle.values():
                idle.close()

    def close(self) -> None:
        for sandbox in list(self._known):
            self.drop(sandbox)

    def _learn(self, route: Route) -> _Known:
        known = self._known.get(route.sandbox)
        if known is None or known.incarnation != route.incarnation:
            self.drop(route.sandbox)
            known = self._known[route.sandbox] = _Known(route.incarnation)
        return known

    async def _connect(self, route: Route, port: int, to: int) -> Upstream:
        """A guest that slept may remember an older connection from the port that ours comes from, and ignore it for as long: then
        another port is tried."""
        assert route.address is not None, "a route is dialled only while the sandbox runs"
        patience_s = self._limits.connect_timeout_s / 5
        while True:
            upstream = Upstream(route.sandbox, route.incarnation, port, route.address, self._limits)
            with anyio.move_on_after(patience_s):
                await asyncio.get_running_loop().create_connection(lambda made=upstream: made, route.address, to)
                return upstream
            patience_s *= 2

    async def _open(self, route: Route, port: int, way: Way, *, speaks_first: bool = False) -> Upstream:
        assert route.address is not None, "a route is dialled only while the sandbox runs"
        try:
            with anyio.fail_after(self._limits.connect_timeout_s):
                upstream = await self._connect(route, port, AGENT_PORT if way is Way.BRIDGE else port)
                if way is Way.BRIDGE:
                    await BridgeHandshake(upstream, speaks_first=speaks_first).join()
                if port in route.ingress.https_ports and port != AGENT_PORT:
                    await upstream.begin_tls()
        except ConnectionRefusedError as error:
            raise PortClosed(route.sandbox, port) from error
        except TimeoutError as error:
            raise PortUnreachable(route.sandbox, port, f"no answer within {self._limits.connect_timeout_s:g} s") from error
        except OSError as error:
            raise PortUnreachable(route.sandbox, port, error.strerror or str(error)) from error
        return upstream
