"""The route feed over a Unix socket: `RemoteRouteFeed` asks, in the edge's process; `serve_routes` answers, in control's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from roost.contracts.route_feed import EdgeReport, RouteFeed, RouteNews
from roost.domain.ids import SandboxId
from roost.rpc.client import Client
from roost.rpc.method import Method
from roost.rpc.server import Service


@dataclass(frozen=True, slots=True)
class WakeOrder:
    sandbox: SandboxId
    why: str


FOLLOW: Method[str, RouteNews] = Method("routes.follow", str, RouteNews)
REPORT: Method[EdgeReport, None] = Method("routes.report", EdgeReport, None)
WAKE: Method[WakeOrder, int] = Method("routes.wake", WakeOrder, int, repeatable=True)


class RemoteRouteFeed:
    """The `RouteFeed` of another process."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def follow(self, edge: str) -> AsyncIterator[RouteNews]:
        return self._client.stream(FOLLOW, edge)

    def report(self, report: EdgeReport) -> bool:
        return self._client.notify(REPORT, report)

    async def wake(self, sandbox: SandboxId, why: str) -> int:
        return await self._client.call(WAKE, WakeOrder(sandbox, why))


def serve_routes(service: Service, feed: RouteFeed) -> None:
    def report(told: EdgeReport) -> None:
        feed.report(told)

    async def wake(order: WakeOrder) -> int:
        return await feed.wake(order.sandbox, order.why)

    service.on_stream(FOLLOW, feed.follow)
    service.on_notice(REPORT, report)
    service.on_call(WAKE, wake)
