"""Sandboxes: create, find, list, change, kill; how long they run, and how busy they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from roost.contracts.clock import Clock
from roost.contracts.store import Idempotency, Query, Reader, Store, Transaction
from roost.contracts.usage import UsageLog
from roost.control.access.tokens import holders
from roost.control.fleet.nodes import Nodes
from roost.control.fleet.pulses import Pulses
from roost.control.lifecycle.flights import Flights
from roost.control.lifecycle.moves import Intent, NewSandbox
from roost.control.sandboxes.checks import (
    check_egress,
    check_ingress,
    check_metadata,
    check_name,
    check_policy,
    check_room,
    check_seconds,
)
from roost.control.sandboxes.pages import Page, read_page
from roost.control.sandboxes.references import CreateSource, check_key, find_sandbox, find_source
from roost.control.sandboxes.requests import CreateSandbox, SandboxChanges, SandboxFilter, Unset, check_request
from roost.control.sandboxes.trash import Trash
from roost.control.templates.builtins import BuiltinBuilds
from roost.domain import ids
from roost.domain.access import Principal, Thing, Verb, require, within
from roost.domain.activity import Activity, explain
from roost.domain.egress import OPEN, Egress
from roost.domain.errors import (
    IdempotencyMismatch,
    Invalid,
    RoostError,
    SandboxDead,
    SandboxNotFound,
    TemplateNotFound,
    WrongState,
)
from roost.domain.events import Event, EventKind
from roost.domain.ids import NodeId, SandboxId, TeamId
from roost.domain.lifecycle import ASLEEP, LIVING, Action, State
from roost.domain.node import Usage
from roost.domain.rules import unmasked
from roost.domain.sandbox import Hold, Ingress, Sandbox, SleepPolicy

MOST_SAMPLES = 20_000
LATELY_S = 30.0

_Change = Callable[[Sandbox], Sandbox]


class Sandboxes:
    def __init__(
        self,
        *,
        store: Store,
        usage: UsageLog,
        flights: Flights,
        nodes: Nodes,
        pulses: Pulses,
        clock: Clock,
        random: ids.Random,
        builds: BuiltinBuilds,
        trash: Trash,
        private_proxies: bool = False,
    ) -> None:
        self._private_proxies = private_proxies
        self._builds = builds
        self._trash = trash
        self._store = store
        self._usage = usage
        self._flights = flights
        self._nodes = nodes
        self._pulses = pulses
        self._clock = clock
        self._random = random

    async def create(self, principal: Principal, request: CreateSandbox) -> Sandbox:
        """The sandbox runs. Under the same idempotency key the same request gets the same sandbox. Raises Invalid,
        TemplateNotFound, TemplateNotReady, TemplateUnmade, NameTaken, IdempotencyMismatch, NodeFull, or what the node raises;
        then nothing was made."""
        require(principal, Verb.MAKE, Thing(principal.team), TemplateNotFound(request.template))
        check_request(request, private_proxies=self._private_proxies)
        earlier: list[SandboxId] = []
        node = await self._place(principal, request)

        async def prepare(transaction: Transaction) -> Sequence[NewSandbox]:
            if request.idempotency_key and (known := await self._known(transaction, principal.team, request)):
                earlier.append(known)
                return ()
            await check_key(transaction, principal)
            source = await self._find_source(transaction, principal, request.template)
            if request.size.memory_mb is not None and not source.cold:
                check_room(request.size.memory_mb, source.memory_bytes)
            draft = self._draft(principal, request, source)
            new = NewSandbox(replace(draft, node=node or source.node), cold=source.cold)
            if request.idempotency_key:
                await self._remember(transaction, principal.team, request, new.draft.id)
            return (new,)

        started = await self._flights.create(prepare)
        if earlier:
            return await self._flights.settle(earlier[0])
        return (await started[0].result()).sandbox

    async def get(self, principal: Principal, ref: str) -> Sandbox:
        async with self._store.reading() as reader:
            return await find_sandbox(reader, principal, ref, Verb.LOOK)

    async def know(self, id: SandboxId) -> Sandbox:
        """By its id, whosever it is: for its own guest, which is known by the wire it comes from. Raises SandboxNotFound."""
        async with self._store.reading() as reader:
            record = await reader.get(Sandbox, id)
        if record is None:
            raise SandboxNotFound(id)
        return record

    async def list(self, principal: Principal, wanted: SandboxFilter) -> Page[Sandbox]:
        """Raises Invalid for a bad limit or a cursor that belongs to another question."""
        equal = within(principal, "id") | ({"template": wanted.template} if wanted.template is not None else {})
        query = Query(
            equal=equal,
            one_of={"state": sorted(wanted.states or LIVING)},
            metadata=wanted.metadata,
            created_from=wanted.created_from,
            oldest_first=wanted.oldest_first,
        )

        def matches(record: Sandbox) -> bool:
            named = wanted.name_prefix is None or (record.name or "").startswith(wanted.name_prefix)
            return named and (wanted.started_after is None or record.started_at > wanted.started_after)

        async with self._store.reading() as reader:
            return await read_page(reader, Sandbox, query, limit=wanted.limit, cursor=wanted.cursor, matches=matches)

    async def update(self, principal: Principal, ref: str, changes: SandboxChanges) -> Sandbox:
        """Raises Invalid, NameTaken, SandboxNotFound, SandboxDead. A new name is the guest's host name from its next start on."""
        changed: dict[str, object] = {}
        if not isinstance(changes.name, Unset):
            check_name(changes.name)
            changed["name"] = changes.name
        if not isinstance(changes.metadata, Unset):
            check_metadata(changes.metadata)
            changed["metadata"] = dict(changes.metadata)
        later = {name for name in ("policy", "egress", "ingress") if not isinstance(getattr(changes, name), Unset)}

        def change(record: Sandbox) -> Sandbox:
            return self._changed(record, {**changed, **self._changes_of(record, changes)})

        record = await self._change(principal, ref, "change", sorted({*changed, *later}), change)
        if "egress" in later:
            await self._apply_egress(record)
        return record

    async def kill(self, principal: Principal, ref: str, *, why: str = "killed", keep: bool = True) -> Sandbox:
        """Dead afterwards, whatever it was doing. May be called twice. What it can come back from is kept for a while, unless
        `keep` says no: then nothing is left of it, also of one that was killed before."""
        async with self._store.reading() as reader:
            record = await find_sandbox(reader, principal, ref, Verb.CHANGE)
        killed = (await self._flights.ask(Intent(record.id, Action.KILL, why=why, keep=keep))).sandbox
        if keep or killed.trash is None:
            return killed
        await self._trash.drop(killed.id, "it was to be deleted at once")
        return await self.know(killed.id)

    async def extend(self, principal: Principal, ref: str, timeout_s: float, *, allow_shorter: bool = True) -> Sandbox:
        """It runs for `timeout_s` from now. Unless `allow_shorter`, a later deadline, or none at all, is left as it is."""
        check_seconds("timeout_s", timeout_s)
        at = self._clock.now() + timeout_s

        def extended(record: Sandbox) -> Sandbox:
            if record.state in ASLEEP:
                raise WrongState(record.id, record.state, "extend its time")
            is_longer = record.expires_at is not None and at > record.expires_at
            return replace(record, expires_at=at) if allow_shorter or is_longer else record

        return await self._change(principal, ref, "extend its time", ["expires_at"], extended)

    async def set_egress(self, principal: Principal, ref: str, egress: Egress) -> Sandbox:
        """What it may reach from now on; of a sleeping one, from its next waking on. Raises SandboxNotFound, SandboxDead, or what
        the node raises: then it holds from its next waking on."""
        check_egress(egress, private_proxies=self._private_proxies)
        changed = await self._change(
            principal,
            ref,
            "change what it may reach",
            ["egress"],
            lambda record: replace(record, egress=_unmasked(egress, record.egress)),
        )
        await self._apply_egress(changed)
        return changed

    async def _apply_egress(self, changed: Sandbox) -> None:
        """What it may reach is so, and stays."""
        # A move that began before the change carries the old one: only when it has ended is the new one sure to stay.
        with suppress(RoostError):
            await self._flights.settle(changed.id)
        await self._nodes.set_egress(await self.know(changed.id))

    async def hold(self, principal: Principal, ref: str, seconds: float, reason: str) -> Sandbox:
        """It does not fall asleep from idleness for so long. A timeout ends it all the same."""
        check_seconds("seconds", seconds)
        if len(reason) > 200:
            raise Invalid("reason_too_long", "The reason of a hold has at most 200 characters.", length=len(reason))
        hold = Hold(self._clock.now() + seconds, reason or "held")
        return await self._change(principal, ref, "be held", ["hold"], lambda record: replace(record, hold=hold))

    async def release(self, principal: Principal, ref: str) -> Sandbox:
        """The hold is gone. May be called twice."""
        return await self._change(principal, ref, "be released", ["hold"], lambda record: replace(record, hold=None))

    async def usage(self, principal: Principal, ref: str, start: float, end: float) -> Sequence[Usage]:
        """Metering samples of that time, oldest first."""
        record = await self.get(principal, ref)
        saved = await self._usage.usage(record.id, start, end, MOST_SAMPLES)
        newest = saved[-1].at if saved else start
        fresh = [sample for sample in self._pulses.unsaved(record.id) if newest <= sample.at <= end]
        return saved + [sample for sample in fresh if not saved or sample.at > newest]

    async def latest_usage(self, principal: Principal, ref: str) -> Sequence[Usage]:
        """The newest metering samples, oldest first; none of one that was not metered lately."""
        now = self._clock.now()
        return await self.usage(principal, ref, now - LATELY_S, now)

    async def activity(self, principal: Principal, ref: str) -> Activity:
        """Why it is awake and when it will sleep."""
        record = await self.get(principal, ref)
        return explain(record, self._pulses.signals(record), self._clock.now())

    # How it is done

    async def _place(self, principal: Principal, request: CreateSandbox) -> NodeId | None:
        """Decided before the transaction: a node may have to be asked, and nobody else could write meanwhile. None if it was made
        already."""
        async with self._store.reading() as reader:
            if request.idempotency_key and await reader.get(Idempotency, f"{principal.team}/{request.idempotency_key}"):
                return None
            source = await self._find_source(reader, principal, request.template)
        return await self._nodes.place(source.node)

    async def _find_source(self, transaction: Reader, principal: Principal, ref: str) -> CreateSource:
        try:
            return await find_source(transaction, principal, ref)
        except TemplateNotFound as missing:
            raise (self._builds.excuse(ref) or missing) from None

    def _draft(self, principal: Principal, request: CreateSandbox, source: CreateSource) -> Sandbox:
        return Sandbox(
            id=ids.new_sandbox_id(self._random),
            team=principal.team,
            name=request.name,
            template=source.template,
            origin=source.snapshot,
            node=source.node,
            state=State.CREATING,
            incarnation=0,
            size=request.size.of(source.size),
            access_token=ids.new_token(self._random),
            created_at=0.0,
            started_at=0.0,
            changed_at=0.0,
            metadata=dict(request.metadata),
            env={**source.env, **request.env},
            policy=request.policy,
            egress=_unmasked(request.egress, OPEN),
            ingress=self._guarded(replace(request.ingress, token=None)),
            user=source.user,
            workdir=source.workdir,
            has_desktop=source.has_desktop,
            token_holders=holders(principal),
        )

    async def _known(self, transaction: Transaction, team: TeamId, request: CreateSandbox) -> SandboxId | None:
        known = await transaction.get(Idempotency, f"{team}/{request.idempotency_key}")
        if known is None:
            return None
        if known.digest != request.digest():
            raise IdempotencyMismatch(request.idempotency_key or "")
        record = await transaction.get(Sandbox, known.sandbox)
        if record is None or record.state not in LIVING:
            raise SandboxDead(known.sandbox, record.reason if record else None)
        return known.sandbox

    async def _remember(self, transaction: Transaction, team: TeamId, request: CreateSandbox, sandbox: SandboxId) -> None:
        entry = Idempotency(f"{team}/{request.idempotency_key}", request.digest(), sandbox, self._clock.now())
        await transaction.put(entry, expect_revision=None)

    async def _change(self, principal: Principal, ref: str, what: str, fields: Sequence[str], change: _Change) -> Sandbox:
        """Changes anything but the state. Reads and writes in one transaction, so it cannot undo a move that ends meanwhile."""
        async with self._store.transaction() as transaction:
            record = await find_sandbox(transaction, principal, ref, Verb.CHANGE)
            if record.state not in LIVING:
                raise SandboxDead(record.id, record.reason)
            changed = change(record)
            if changed == record:
                return record
            changed = await transaction.put(changed, expect_revision=record.revision)
            facts = {"fields": ", ".join(fields), "verb": what}
            await transaction.append(Event(EventKind.UPDATED, record.team, self._clock.now(), record.id, facts))
        return changed

    def _changes_of(self, record: Sandbox, changes: SandboxChanges) -> dict[str, object]:
        """The parts of which only some fields change, as they are then. Raises Invalid."""
        changed: dict[str, object] = {}
        if not isinstance(changes.policy, Unset):
            wanted = changes.policy if isinstance(changes.policy, SleepPolicy) else changes.policy(record.policy)
            check_policy(wanted)
            changed["policy"] = wanted
        if not isinstance(changes.egress, Unset):
            egress = _unmasked(changes.egress(record.egress), record.egress)
            check_egress(egress, private_proxies=self._private_proxies)
            changed["egress"] = egress
        if not isinstance(changes.ingress, Unset):
            ingress = changes.ingress(record.ingress)
            check_ingress(ingress)
            changed["ingress"] = self._guarded(ingress)
        return changed

    def _guarded(self, ingress: Ingress) -> Ingress:
        """One that is not public has a token; the same one as long as it is not."""
        if ingress.public:
            return replace(ingress, token=None)
        return ingress if ingress.token is not None else replace(ingress, token=ids.new_token(self._random))

    def _changed(self, record: Sandbox, fields: Mapping[str, object]) -> Sandbox:
        changed = replace(record, **fields)
        if changed.policy.timeout_s == record.policy.timeout_s or record.state in ASLEEP:
            return changed
        timeout_s = changed.policy.timeout_s
        return replace(changed, expires_at=None if timeout_s is None else self._clock.now() + timeout_s)


def _unmasked(wanted: Egress, kept: Egress) -> Egress:
    return replace(wanted, rules=unmasked(wanted.rules, kept.rules))
