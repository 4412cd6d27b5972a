"""Which addresses a name has now, as the node sees it. What the gate lets through by name goes to one of these."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from ipaddress import IPv4Address

import anyio

from roost.domain.egress import Egress
from roost.node.network.dns import ATTEMPT_TIMEOUT_S, Resolvers, ask_by_datagram, ask_by_stream, ask_in_turn, resolvers_for
from roost.node.network.dns_wire import addresses_in, is_truncated, query_for

LONGEST_KEPT_S = 60.0  # whatever an answer says: a host that moves is followed within a minute
MOST_KEPT = 4096


class Names:
    """Answers are kept as long as they say, a minute at most."""

    def __init__(self, *, resolvers: Resolvers, attempt_timeout_s: float = ATTEMPT_TIMEOUT_S) -> None:
        self._resolvers = resolvers
        self._attempt_timeout_s = attempt_timeout_s
        self._kept: OrderedDict[tuple[str, tuple[str, ...]], tuple[float, tuple[IPv4Address, ...]]] = OrderedDict()

    async def addresses(self, name: str, egress: Egress | None) -> tuple[IPv4Address, ...]:
        """Asked of those that the sandbox's owner named, if any, else of the host's resolvers. Empty if it has none, or nobody
        knows."""
        key = name, (egress.dns or ()) if egress is not None else ()
        until, addresses = self._kept.get(key, (0.0, ()))
        if anyio.current_time() < until:
            return addresses
        asked = query_for(name, secrets.token_bytes(2))
        resolvers = resolvers_for(egress, self._resolvers)
        answer = await ask_in_turn(resolvers, asked, ask_by_datagram, self._attempt_timeout_s)
        if answer is not None and is_truncated(answer):
            answer = await ask_in_turn(resolvers, asked, ask_by_stream, self._attempt_timeout_s)
        if answer is None:
            return ()
        found = addresses_in(answer)
        if found.addresses:
            self._kept[key] = anyio.current_time() + min(found.ttl_s, LONGEST_KEPT_S), found.addresses
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return found.addresses
