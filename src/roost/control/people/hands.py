"""Who drives: the agent, or one person at a time. The one writer of a sandbox's `driver`.

A person takes over by a link alone: its token is the credential. The seat is given up when they hand back, when nobody has been
before a screen of theirs for a while, or when their link ends. Every change is an event, written in the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from roost.contracts.clock import Clock
from roost.contracts.ledger import Ledger
from roost.contracts.store import Query, Reader, Store, Transaction
from roost.control.fleet.routes import RouteTable
from roost.control.people.notices import GuestNotices
from roost.domain.errors import Conflict, Forbidden, Gone, SandboxDead, Unauthenticated
from roost.domain.events import Event, EventKind
from roost.domain.ids import LinkId, SandboxId
from roost.domain.lifecycle import LIVING
from roost.domain.link import Link, LinkMode, link_digest
from roost.domain.sandbox import Driver, Sandbox

GRACE_S = 10.0
"""How long a person who drives may be gone: long enough for a page that is loaded again."""
LONGEST_TOKEN = 512


class Why(StrEnum):
    """How a person stopped driving. Told in the event."""

    HANDED_BACK = "handed back"
    WENT_AWAY = "the browser went away"
    LINK_ENDED = "the link ended"
    TAKEN_OVER = "somebody else took over"
    ROLLED_BACK = "the sandbox was rolled back"
    KILLED = "the sandbox was killed"
    DIED = "the sandbox died"


@dataclass(frozen=True, slots=True)
class Seat:
    """What the holder of a link may know."""

    sandbox: Sandbox
    link: Link

    @property
    def driver(self) -> Driver | None:
        return self.sandbox.driver


class Hands:
    def __init__(self, *, store: Store, clock: Clock, routes: RouteTable, ledger: Ledger, notices: GuestNotices) -> None:
        self._store = store
        self._clock = clock
        self._routes = routes
        self._ledger = ledger
        self._notices = notices
        self._began_at: float | None = None  # when it was first looked who is lost: of who watched before nothing is known

    async def look(self, token: str) -> Seat:
        """Raises Unauthenticated, Gone. Strangers ask too: it costs no write transaction."""
        async with self._store.reading() as reader:
            return await find_seat(reader, token, self._clock.now())

    async def take(self, token: str, *, force: bool = False) -> Driver:
        """The link's holder drives, and programs inside know. Asked again it changes nothing. Raises Unauthenticated, Gone,
        Forbidden for a link to watch by, and Conflict when another person drives, unless forced."""
        await self.look(token)
        now = self._clock.now()
        async with self._store.transaction() as transaction:
            seat = await find_seat(transaction, token, now)
            if seat.link.mode is not LinkMode.CONTROL:
                raise Forbidden(
                    "view_only",
                    f"This link is for watching sandbox {seat.sandbox.id} only. Ask its owner for one with mode `control`.",
                    sandbox=seat.sandbox.id,
                )
            if seat.driver is not None and seat.driver.link == seat.link.id:
                return seat.driver
            if seat.driver is not None and not force:
                raise _taken(seat.sandbox.id, seat.driver)
            record = await leave(transaction, seat.sandbox, Why.TAKEN_OVER, now)
            driver = Driver(seat.link.id, seat.link.who, now)
            facts = {"who": driver.who, "link": driver.link}
            await transaction.append(Event(EventKind.DRIVER_TOOK, record.team, now, record.id, facts))
            record = await transaction.put(replace(record, driver=driver), expect_revision=record.revision)
        await self._notices.tell(record.id)
        return driver

    async def give(self, token: str) -> None:
        """The link's holder drives no longer. May be called twice. Raises Unauthenticated, Gone."""
        await self.look(token)
        now = self._clock.now()
        async with self._store.transaction() as transaction:
            seat = await find_seat(transaction, token, now)
            if seat.driver is None or seat.driver.link != seat.link.id:
                return
            record = await leave(transaction, seat.sandbox, Why.HANDED_BACK, now)
        await self._notices.tell(record.id)

    async def release_lost(self) -> float | None:
        """Whoever has not been seen for too long drives no longer. Returns when the next one may be given up."""
        if self._began_at is None:
            self._began_at = self._clock.now()  # a server that found much to recover has not been there for anybody so far
        coming: list[float] = []
        for route in list(self._routes.living()):
            if route.driver is None:
                continue
            at = self._lost_at(route.sandbox, route.driver)
            if at > self._clock.now():
                coming.append(at)
            else:
                await self._release(route.sandbox, route.driver.link)
        return min(coming, default=None)

    async def _release(self, sandbox: SandboxId, link: LinkId) -> None:
        now = self._clock.now()
        async with self._store.transaction() as transaction:
            record = await transaction.get(Sandbox, sandbox)
            if record is None or record.driver is None or record.driver.link != link:
                return
            if self._lost_at(sandbox, record.driver) > now:
                return  # somebody came back while we waited for the database
            await leave(transaction, record, Why.WENT_AWAY, now)

    def _lost_at(self, sandbox: SandboxId, driver: Driver) -> float:
        counted_since = self._ledger.known_since
        began_at = max(self._began_at or 0.0, self._clock.now() if counted_since is None else counted_since)
        return lost_at(driver, self._ledger.watched_at(sandbox, driver.link), began_at)


def lost_at(driver: Driver, watched_at: float | None, began_at: float) -> float:
    """When a person counts as gone, if they do not show themselves before. A server or an edge that started just now gives all
    of them time to come back."""
    return max(driver.since, watched_at or 0.0, began_at) + GRACE_S


async def leave(transaction: Transaction, record: Sandbox, why: Why, now: float) -> Sandbox:
    """The record with nobody but the agent in the seat, written if that is a change."""
    driver = record.driver
    if driver is None:
        return record
    facts = {"who": driver.who, "link": driver.link, "why": why.value, "seconds": round(max(0.0, now - driver.since), 3)}
    await transaction.append(Event(EventKind.DRIVER_GAVE, record.team, now, record.id, facts))
    return await transaction.put(replace(record, driver=None), expect_revision=record.revision)


async def find_seat(reader: Reader, token: str, now: float) -> Seat:
    """By digest: how long that takes says nothing about a token. A link to a port seats nobody. Raises Unauthenticated, Gone."""
    digest = link_digest(token[:LONGEST_TOKEN])
    found = await reader.find(Link, Query(equal={"digest": digest}, limit=1))
    if not found or found[0].port is not None:
        raise Unauthenticated("link_unknown", "This link leads nowhere: it was revoked, or never was. Ask for a new one.")
    link = found[0]
    if link.is_over(now):
        raise Gone("link_expired", "This link has expired. Ask for a new one.", link=link.id, sandbox=link.sandbox)
    record = await reader.get(Sandbox, link.sandbox)
    if record is None or record.state not in LIVING:
        raise SandboxDead(link.sandbox, record.reason if record else None)
    return Seat(record, link)


def _taken(sandbox: SandboxId, driver: Driver) -> Conflict:
    return Conflict(
        "somebody_drives",
        f"{driver.who} drives sandbox {sandbox} already. Ask them to hand back, or take over with `force`.",
        sandbox=sandbox,
        who=driver.who,
        since=datetime.fromtimestamp(driver.since, UTC),
    )
