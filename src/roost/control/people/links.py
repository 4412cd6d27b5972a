"""Links to screens and ports: made, listed, revoked, and ended when their time comes.

The edge finds them in the route table, which follows the feed of changes.
"""

from __future__ import annotations

from roost.contracts.clock import Clock
from roost.contracts.store import Query, Store
from roost.control.fleet.routes import RouteTable
from roost.control.people.hands import Why, leave
from roost.control.sandboxes.references import check_key, find_sandbox
from roost.domain import ids
from roost.domain.access import Principal, Verb
from roost.domain.errors import Exhausted, Invalid, NotFound, SandboxDead
from roost.domain.ids import AGENT_PORT, LinkId, SandboxId
from roost.domain.lifecycle import LIVING
from roost.domain.link import Link, LinkMode, link_digest
from roost.domain.sandbox import Sandbox
from roost.domain.team import ApiKey, may_hold

LONGEST_S = 30 * 24 * 3600.0
LONGEST_LABEL = 100
BATCH = 50
"""Links that are ended in one transaction."""
MOST_LINKS = 200
"""Of one sandbox, that have not expired."""


class Links:
    def __init__(self, *, store: Store, clock: Clock, random: ids.Random, routes: RouteTable) -> None:
        self._store = store
        self._clock = clock
        self._random = random
        self._routes = routes
        self._ended: set[LinkId] = set()  # expired, and whoever had to know was told

    async def make(
        self,
        principal: Principal,
        ref: str,
        *,
        mode: LinkMode | None = None,
        port: int | None = None,
        seconds: float = 3600.0,
        label: str = "",
    ) -> tuple[Link, str]:
        """A link and its token, shown this once: to a port, or else to the screen, to watch unless `mode` says more. Raises
        Invalid, SandboxNotFound, SandboxDead, Exhausted."""
        _check(seconds, label)
        if port is not None:
            _check_port(port, mode)
        now = self._clock.now()
        token = ids.new_token(self._random)
        async with self._store.transaction() as transaction:
            await check_key(transaction, principal)
            record = await find_sandbox(transaction, principal, ref, Verb.CHANGE)
            if record.state not in LIVING:
                raise SandboxDead(record.id, record.reason)
            others = await transaction.find(Link, Query(equal={"sandbox": record.id}))
            if sum(not other.is_over(now) for other in others) >= MOST_LINKS:
                raise Exhausted(
                    "too_many_links",
                    f"Sandbox {record.id} has {MOST_LINKS} links already. Revoke some, or give them shorter lives.",
                    sandbox=record.id,
                    limit=MOST_LINKS,
                )
            link = Link(
                id=ids.new_link_id(self._random),
                sandbox=record.id,
                team=principal.team,
                mode=mode or LinkMode.VIEW if port is None else None,
                label=label,
                digest=link_digest(token),
                created_at=now,
                expires_at=now + seconds,
                port=port,
                key=principal.key,
            )
            link = await transaction.put(link, expect_revision=None)
        return link, token

    async def list(self, principal: Principal, ref: str) -> tuple[Link, ...]:
        """Those that open something, newest first. Raises SandboxNotFound."""
        now = self._clock.now()
        async with self._store.reading() as reader:
            record = await find_sandbox(reader, principal, ref, Verb.LOOK)
            if record.state not in LIVING:
                return ()
            links = await reader.find(Link, Query(equal={"sandbox": record.id}))
        return tuple(link for link in links if not link.is_over(now))

    async def revoke(self, principal: Principal, ref: str, id: str) -> None:
        """It opens nothing any more, what it opened is cut, and who drove by it drives no longer. Raises SandboxNotFound,
        NotFound."""
        async with self._store.transaction() as transaction:
            record = await find_sandbox(transaction, principal, ref, Verb.CHANGE)
            link = await transaction.get(Link, id)
            if link is None or link.sandbox != record.id:
                message = f"Sandbox {record.id} has no link {id!r}. `roost links` lists the ones there are."
                raise NotFound("link_not_found", message, link=id, sandbox=record.id)
            await transaction.delete(Link, link.id)
            if record.driver is not None and record.driver.link == link.id:
                await leave(transaction, record, Why.LINK_ENDED, self._clock.now())

    async def end_of(self, key: ApiKey) -> None:
        """Links that the revoked key made, or may have made, open nothing any more. May be called twice."""
        async with self._store.reading() as reader:
            links = await reader.find(Link, Query(equal={"team": key.team}))
        made = [link for link in links if may_hold(key, None if link.key is None else (link.key,), link.sandbox)]
        for batch in (made[start : start + BATCH] for start in range(0, len(made), BATCH)):
            async with self._store.transaction() as transaction:
                for link in batch:
                    await transaction.delete(Link, link.id)
                    record = await transaction.get(Sandbox, link.sandbox)
                    if record is not None and record.driver is not None and record.driver.link == link.id:
                        await leave(transaction, record, Why.LINK_ENDED, self._clock.now())

    async def end_due(self) -> float | None:
        """What was opened by a link that has expired is cut, and who drove by it drives no longer. Returns when the next one
        expires."""
        now = self._clock.now()
        expired = [link for link in self._routes.links() if link.is_over(now)]
        for link in expired:
            if link.id not in self._ended:
                await self._unseat(link.sandbox, link.id)
                self._routes.remind(link.sandbox)
        self._ended = {link.id for link in expired}
        return min((link.expires_at for link in self._routes.links() if not link.is_over(now)), default=None)

    async def _unseat(self, sandbox: SandboxId, link: LinkId) -> None:
        async with self._store.transaction() as transaction:
            record = await transaction.get(Sandbox, sandbox)
            if record is None or record.driver is None or record.driver.link != link:
                return
            await leave(transaction, record, Why.LINK_ENDED, self._clock.now())


def _check(seconds: float, label: str) -> None:
    if not 0 < seconds <= LONGEST_S:
        raise Invalid(
            "seconds_invalid",
            f"A link lives for more than 0 and at most {LONGEST_S:.0f} seconds (30 days). Make a new one when it has expired.",
            seconds=seconds,
        )
    if len(label) > LONGEST_LABEL or not label.isprintable():
        raise Invalid("label_invalid", f"A link's label has at most {LONGEST_LABEL} printable characters.", label=label[:100])


def _check_port(port: int, mode: LinkMode | None) -> None:
    if not 0 < port < 65536:
        raise Invalid("port_invalid", f"{port} is not a port: ports are the numbers 1 to 65535.", port=port)
    if port == AGENT_PORT:
        message = f"Port {port} is the agent's own: who may speak to it has the sandbox's access token. Link to another port."
        raise Invalid("port_invalid", message, port=port)
    if mode is not None:
        message = f"A link to a port has no mode: `{mode}` is for a screen. Leave out either the mode or the port."
        raise Invalid("mode_invalid", message, port=port, mode=mode.value)
