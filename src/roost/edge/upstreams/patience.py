"""How long a request to a sandbox's agent waits for it.

Root inside can stop the agent, or put something in its place that takes every request and answers none: its callers would wait
for ever. So an agent that is silent is asked, on a connection of its own, whether it is still there, and only one that says so is
waited for. A caller that gave a deadline (Connect's) has it kept, whatever the agent says elsewhere. Sleep is no silence, and its
time does not count.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable

import anyio

from roost.contracts.routes import Route
from roost.domain.errors import RoostError
from roost.edge.admission.resolve import Target
from roost.edge.http.head import RequestHead
from roost.edge.limits import AGENT_PORT
from roost.edge.switchboard import Switchboard
from roost.edge.upstreams.upstream import Upstream

_DEADLINE = b"connect-timeout-ms"
_MILLISECONDS = re.compile(rb"[0-9]{1,10}")


class AgentPatience:
    """Of one exchange. Runs between `start` and `stop`; calls `give_up` when the agent is not to be waited for any longer. Other
    ports than the agent's may be silent for as long as they like."""

    __slots__ = ("_asking", "_begun", "_board", "_give_up", "_heard", "_left_s", "_loop", "_since", "_target", "_timer")

    def __init__(self, board: Switchboard, head: RequestHead, target: Target, give_up: Callable[[], None]) -> None:
        self._board = board
        self._target = target
        self._give_up = give_up
        self._loop = asyncio.get_running_loop()
        self._left_s = deadline_of(head)  # of the caller's deadline, as of `_since`
        self._since = 0.0
        self._begun = False  # the agent has said something
        self._heard = False  # ... since it was last looked at
        self._timer: asyncio.TimerHandle | None = None
        self._asking: anyio.CancelScope | None = None

    def start(self) -> None:
        """The agent is waited for from now on. May be called twice."""
        if self._target.port == AGENT_PORT and self._timer is None and self._asking is None:
            self._since = self._loop.time()
            self._arm()

    def heard(self) -> None:
        self._begun = self._heard = True

    def stop(self) -> None:
        """The agent is waited for no longer, or not for now. May be called twice."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._spend()
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
            self._spend()

    def _arm(self) -> None:
        limits = self._board.limits
        wait_s = limits.agent_silence_s if self._begun else limits.agent_head_s
        if self._left_s is not None:
            wait_s = min(wait_s, max(self._left_s, 0.0) + limits.agent_grace_s)
        self._timer = self._loop.call_later(wait_s, self._look)

    def _look(self) -> None:
        self._timer = None
        self._spend()
        route = self._board.routes.locate(self._target.sandbox)
        heard, self._heard = self._heard, False
        if heard or route is None or route.address is None or route.is_still:
            self._arm()
        elif self._left_s is not None and self._left_s <= -self._board.limits.agent_grace_s:
            self._give_up()
        else:
            self._ask(route)

    def _ask(self, route: Route) -> None:
        asking = self._asking = anyio.CancelScope()

        async def ask() -> None:
            is_there = False
            with asking:
                is_there = await _is_there(self._board, route, self._limit_s())
            if self._asking is not asking:
                return  # nobody wants to know any more
            self._asking = None
            self._spend()
            now = self._board.routes.locate(route.sandbox)
            if is_there or self._heard or now != route:
                self._arm()
            else:
                self._give_up()

        if not self._board.spawn(ask, f"ask whether the agent of {route.sandbox} is there"):
            self._asking = None

    def _limit_s(self) -> float:
        """How long the question may stay open: no longer than the caller's deadline leaves."""
        limits = self._board.limits
        return limits.agent_health_s if self._left_s is None else min(limits.agent_health_s, self._left_s + limits.agent_grace_s)

    def _spend(self) -> None:
        now = self._loop.time()
        if self._left_s is not None:
            self._left_s -= now - self._since
        self._since = now


def deadline_of(head: RequestHead) -> float | None:
    """In how many seconds the caller wants the whole answer; None: it did not say, or not so that it can be understood."""
    given = next((value for name, value, _ in head.fields if name == _DEADLINE), b"")
    return int(given) / 1000 if _MILLISECONDS.fullmatch(given) else None


async def _is_there(board: Switchboard, route: Route, limit_s: float) -> bool:
    """Whether the agent answers a question of ours, whatever it says."""
    board.ledger.account(route.sandbox).quiet_requests += 1
    with anyio.move_on_after(limit_s), contextlib.suppress(RoostError):
        return await _Question(await board.lines.dial(route, AGENT_PORT)).ask()
    return False


class _Question:
    __slots__ = ("_answer", "_upstream")

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        upstream.receiver = self

    async def ask(self) -> bool:
        """Our side closes first: whoever does remembers the connection for a minute, and a guest's minutes can be long."""
        try:
            self._upstream.write(b"GET /health HTTP/1.1\r\nHost: %b\r\n\r\n" % self._upstream.address.encode())
            return await self._answer
        finally:
            self._upstream.abort()

    def upstream_data(self, data: bytes) -> None:
        self._told(True)

    def upstream_eof(self) -> bool:
        return False

    def upstream_lost(self, error: Exception | None) -> None:
        self._told(False)

    def upstream_full(self) -> None:
        pass

    def upstream_ready(self) -> None:
        pass

    def _told(self, is_there: bool) -> None:
        if not self._answer.done():
            self._answer.set_result(is_there)
