"""One viewer of a sandbox's screen: a WebSocket that ends here, and behind it the RFB server inside.

The screen's pictures pass as they come. What the viewer says is read message by message (`rfb`): input goes on only while the
viewer's link drives. The connection stays open while the sandbox sleeps, and wakes it only for the input of who drives.
"""

from __future__ import annotations

from enum import IntEnum
from functools import partial

import anyio

from roost.contracts.routes import Route
from roost.domain.errors import Gone, Invalid, NotFound, RoostError
from roost.edge import pages
from roost.edge.admission.links import LinkState, link_state
from roost.edge.admission.permits import ScreenPermit, drives
from roost.edge.admission.resolve import Target
from roost.edge.http.websocket import HandshakeRefused, WebSocket
from roost.edge.limits import SCREEN_PORT
from roost.edge.screens import rfb
from roost.edge.switchboard import Switchboard
from roost.edge.turn import Client
from roost.edge.upstreams.reach import Reach
from roost.edge.upstreams.upstream import PortClosed, Upstream

_WHY = "somebody opened its screen"
_FRAMING_BYTES = 64 * 1024  # that a message of RFB may be cut into WebSocket messages


class Code(IntEnum):
    """Why a WebSocket was closed. Those of 4000 and more are ours."""

    NOT_FOLLOWED = 1008  # the viewer says what is not understood
    BROKEN = 1011  # the screen's server inside hung up
    RESTARTED = 1012  # the sandbox or this server goes on elsewhere: open it again
    TRY_LATER = 1013
    LINK_ENDED = 4001  # revoked, or never was
    LINK_EXPIRED = 4003
    SANDBOX_ENDED = 4004
    NO_SCREEN = 4005  # nothing listens there, now: a desktop that boots is not up yet


_LINK_REASONS = {
    LinkState.ENDED: (Code.LINK_ENDED, "This link was revoked, or never was. Ask for a new one."),
    LinkState.EXPIRED: (Code.LINK_EXPIRED, "This link has expired. Ask for a new one."),
}


class ScreenSession:
    __slots__ = (
        "_account",
        "_asleep",
        "_beating",
        "_board",
        "_client",
        "_driving",
        "_ended",
        "_held_bytes",
        "_link",
        "_parked",
        "_permit",
        "_reach",
        "_sandbox",
        "_stopped",
        "_unanswered",
        "_upstream",
        "_viewer",
        "_waits",
        "_wakes",
        "_websocket",
    )

    def __init__(self, board: Switchboard, client: Client, permit: ScreenPermit, target: Target) -> None:
        self._board = board
        self._client = client
        self._permit = permit
        self._link = permit.link
        self._sandbox = target.sandbox
        self._account = board.ledger.account(target.sandbox)
        self._websocket: WebSocket | None = None
        self._viewer = rfb.Viewer()
        self._reach: Reach | None = None  # while there is no upstream
        self._upstream: Upstream | None = None
        self._parked = bytearray()  # for the screen, while it cannot be had
        self._asleep = False
        self._wakes = True
        self._waits = False  # for the sandbox to wake
        self._driving = False
        self._beating: anyio.CancelScope | None = None
        self._unanswered = 0  # questions whether anybody is there, since anything was heard
        self._stopped = False  # the client is not read: the screen cannot take more
        self._held_bytes = 0  # answers to pings, written to a client that takes nothing
        self._ended = True  # until it has begun

    def begin(self) -> None:
        """The WebSocket is opened at once, also while the sandbox wakes: what goes wrong later can be told on it."""
        try:
            websocket = WebSocket(self._permit.head, rfb.LONGEST_MESSAGE_BYTES + _FRAMING_BYTES)
        except HandshakeRefused as error:
            self._client.answer(pages.malformed(error.message))
            return
        self._websocket = websocket
        self._client.write(websocket.to_send())
        refused = _LINK_REASONS.get(self._permit.state)
        if refused is not None or self._link is None:
            code, reason = refused or _LINK_REASONS[LinkState.ENDED]
            websocket.close(code, reason)
            self._client.write(websocket.to_send())
            self._client.become_tunnel()
            self._client.next_request(close=True)
            return
        self._ended = False
        self._board.join(self._sandbox, self)
        self._account.began(quiet=False)
        self._account.watched(self._link.id)
        route = self._board.routes.locate(self._sandbox)
        if route is not None:
            self._follow(route)
        self._client.become_tunnel()
        if not self._ended:
            self._reach = Reach(self._board, self, self._sandbox, _WHY, self._dial)
            self._reach.start()

    async def _dial(self, route: Route) -> Upstream:
        return await self._board.lines.dial_screen(route, SCREEN_PORT)

    def reached(self, upstream: Upstream) -> None:
        self._reach = None
        self._upstream = upstream
        upstream.receiver = self
        if upstream.early:
            self.upstream_data(upstream.early)
        self._unload()
        if not self._client.is_full:
            upstream.resume_reading()

    def unreached(self, error: RoostError) -> None:
        self._reach = None
        match error:
            case PortClosed():
                self._close(Code.NO_SCREEN, "This sandbox shows no screen: its desktop is starting, or it was made without one.")
            case NotFound() | Gone():
                self._close(Code.SANDBOX_ENDED, "The sandbox is gone.")
            case _:
                self._close(Code.TRY_LATER, error.message)

    # From the viewer

    def client_data(self, data: bytes) -> None:
        websocket, link = self._websocket, self._link
        if self._ended or websocket is None or link is None:
            return
        self._unanswered = 0
        self._account.watched(link.id)
        for piece in websocket.receive(data):
            self._hear(piece)
            if self._ended:
                return
        self._write(websocket.to_send(), must_arrive=True)
        if not websocket.is_open:
            self._end()
            self._client.next_request(close=True)

    def _hear(self, data: bytes) -> None:
        said = self._viewer.take(data, drives=self._drives())
        if said.passed:
            self._pass(said.passed, wakes=said.has_input)
        if said.refusal is not None:
            self._close(Code.NOT_FOLLOWED, said.refusal)

    def _pass(self, data: bytes, *, wakes: bool = False) -> None:
        if self._upstream is not None and not self._asleep:
            self._upstream.write(data)
            self._account.received(len(data))
            return
        self._parked += data
        if len(self._parked) > self._board.limits.parked_bytes:
            self._close(Code.NOT_FOLLOWED, "Too much was said to a screen that sleeps.")
        elif wakes and self._asleep:
            self._wake()

    def _unload(self) -> None:
        """What waited goes on."""
        if self._parked and self._upstream is not None:
            data = bytes(self._parked)
            self._parked.clear()
            self._pass(data)

    def client_body_end(self) -> None:
        pass  # a tunnel's body has no end

    def client_body_broken(self, error: Invalid) -> None:
        pass

    def client_eof(self) -> bool:
        return False

    def client_lost(self, error: Exception | None) -> None:
        self._end()

    def client_full(self) -> None:
        if self._upstream is not None:
            self._upstream.pause_reading()

    def client_ready(self) -> None:
        self._held_bytes = 0
        if self._upstream is not None:
            self._upstream.resume_reading()

    @property
    def ends_by_itself(self) -> bool:
        return False

    # From the screen

    def upstream_data(self, data: bytes) -> None:
        self._account.sent(len(data))
        if self._websocket is not None:
            self._write(self._websocket.send(data))

    def upstream_eof(self) -> bool:
        return False

    def upstream_lost(self, error: Exception | None) -> None:
        self._upstream = None
        self._close(Code.BROKEN, "The screen's server in the sandbox ended the connection.")

    def upstream_full(self) -> None:
        self._stopped = True
        self._client.stop_reading()

    def upstream_ready(self) -> None:
        self._stopped = False
        self._client.resume_reading()

    # What the route says: sleep, wake, links, who drives

    @property
    def waits_for_wake(self) -> bool:
        return self._asleep and self._waits

    def park(self, route: Route) -> None:
        if self._reach is not None:
            self._reach.reconsider()
        if not self._obeys(route) or self._upstream is None:
            return
        self._asleep = True
        self._wakes = route.wakes
        self._follow(route)
        # The input of who drives may have left for a sandbox that fell asleep before it took it.
        if self._driving and self._upstream.has_unacknowledged():
            self._wake()

    def unpark(self, route: Route) -> None:
        if not self._obeys(route):
            return
        if self._upstream is not None and self._upstream.address != route.address:
            self._close(Code.RESTARTED, "The sandbox woke up elsewhere. Open its screen again.")
            return
        self._asleep = self._waits = False
        self._follow(route)
        self._unload()

    def sandbox_died(self) -> None:
        self._close(Code.SANDBOX_ENDED, "The sandbox has ended.")

    def cut(self) -> None:
        self._close(Code.RESTARTED, "The server ended this connection. Open the screen again.")

    def _obeys(self, route: Route) -> bool:
        if self._ended or self._link is None:
            return False
        now = self._board.clock.now()
        state = LinkState.EXPIRED if self._link.is_over(now) else link_state(route, self._link.digest, now)
        if state is LinkState.GOOD:
            return True
        self._close(*_LINK_REASONS[state])
        return False

    def _drives(self, route: Route | None = None) -> bool:
        route = route or self._board.routes.locate(self._sandbox)
        return self._link is not None and drives(route, self._link, self._board.clock.now())

    def _follow(self, route: Route) -> None:
        """Begins or ends to drive. Nothing that was pressed stays so when it ends."""
        driving = self._drives(route)
        if driving == self._driving:
            return
        self._driving = driving
        if driving:
            self._unanswered = 0
            beating = self._beating = anyio.CancelScope()
            self._board.spawn(partial(self._beat, beating), f"watch who drives {self._sandbox}")
            return
        self._stop_beating()
        if released := self._viewer.let_go():
            self._pass(released)

    async def _beat(self, beating: anyio.CancelScope) -> None:
        """Asks again and again whether the browser of who drives is still there: a machine that was closed says no goodbye."""
        clock, limits = self._board.clock, self._board.limits
        assert self._link is not None and self._websocket is not None
        with beating:
            while True:
                await clock.sleep_until(clock.now() + limits.beat_s)
                if self._stopped:  # its answers are not read
                    self._unanswered = 0
                    self._account.watched(self._link.id)
                if self._unanswered >= limits.beats_missed:
                    self._end(seen=False)
                    self._client.abort()
                    return
                self._unanswered += 1
                self._write(self._websocket.ping())

    def _stop_beating(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None

    def _wake(self) -> None:
        self._waits = True
        if self._wakes:
            self._board.wake_parked(self._sandbox)

    # Ending

    def _write(self, data: bytes, *, must_arrive: bool = False) -> None:
        if not data:
            return
        if must_arrive and self._client.is_full:
            self._held_bytes += len(data)
            if self._held_bytes > self._board.limits.parked_bytes:
                self._end()
                self._client.abort()
                return
        self._client.write(data)

    def _close(self, code: Code, reason: str) -> None:
        if self._ended or self._websocket is None:
            return
        self._end()
        self._websocket.close(code, reason)
        self._client.write(self._websocket.to_send())
        self._client.next_request(close=True)

    def _end(self, *, seen: bool = True) -> None:
        """Lets go of everything but the client. `seen`: somebody was there until now."""
        if self._ended:
            return
        self._ended = True
        if self._reach is not None:
            self._reach.give_up()
            self._reach = None
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.write(self._viewer.let_go())
            upstream.close()
        self._stop_beating()
        if seen and self._link is not None:
            self._account.watched(self._link.id)
        self._account.ended()
        self._board.leave(self._sandbox, self)
