"""Power: sleep and wake."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from roost.contracts.store import Query, Store
from roost.control.lifecycle.flights import Flights
from roost.control.lifecycle.moves import Intent
from roost.control.sandboxes.references import find_sandbox
from roost.domain.access import MACHINE, Principal, Verb, forbidden, require
from roost.domain.errors import RoostError
from roost.domain.ids import SandboxId
from roost.domain.lifecycle import ON_A_NODE, Action
from roost.domain.sandbox import Sandbox

SLEEPS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class ResumeResult:
    """Awake. `cold`: it booted from its disk; `lost` are the commands that ran in the memory that was left out."""

    sandbox: Sandbox
    cold: bool = False
    lost: tuple[str, ...] = ()


class Power:
    def __init__(self, *, store: Store, flights: Flights) -> None:
        self._store = store
        self._flights = flights

    async def pause(self, principal: Principal, ref: str, *, keep_memory: bool = True, why: str = "api") -> Sandbox:
        """Asleep afterwards: its memory (unless left out) and disk are in a snapshot. Raises SandboxNotFound, SandboxDead,
        MoveOvertaken, MoveTimedOut, or what the node raises; then it runs on."""
        record = await self._find(principal, ref)
        intent = Intent(record.id, Action.PAUSE, why=why, keep_memory=keep_memory)
        return (await self._flights.ask(intent)).sandbox

    async def resume(self, principal: Principal, ref: str, *, cold: bool = False, why: str = "api") -> ResumeResult:
        """Awake afterwards. One that sleeps without its memory boots. Raises SnapshotDamaged or SnapshotForeign when its memory
        cannot be used: the caller may then agree to `cold`, which boots its disk and says what was lost."""
        record = await self._find(principal, ref)
        return await self._resume(record.id, cold=cold, why=why)

    async def ensure_running(self, sandbox: SandboxId, why: str) -> Sandbox:
        """Awake afterwards, for somebody whose right to it was checked. Raises as resume."""
        return (await self._resume(sandbox, cold=False, why=why)).sandbox

    async def pause_all(self, principal: Principal, *, why: str = "the server goes down") -> list[Sandbox | RoostError]:
        """Every sandbox of every team that runs, or is about to, sleeps. One that cannot is an error in the answer. Raises
        Forbidden."""
        require(principal, Verb.OPERATE, MACHINE, forbidden(principal, Verb.OPERATE))
        async with self._store.reading() as reader:
            records = await reader.find(Sandbox, Query(one_of={"state": sorted(ON_A_NODE)}))
        results: list[Sandbox | RoostError] = []
        turn = anyio.CapacityLimiter(SLEEPS_AT_ONCE)

        async def sleep(record: Sandbox) -> None:
            async with turn:
                intent = Intent(record.id, Action.PAUSE, why=why, keep_memory=record.policy.keep_memory)
                try:
                    results.append((await self._flights.ask(intent)).sandbox)
                except RoostError as error:
                    results.append(error)

        async with anyio.create_task_group() as group:
            for record in records:
                group.start_soon(sleep, record)
        return results

    async def _resume(self, sandbox: SandboxId, *, cold: bool, why: str) -> ResumeResult:
        outcome = await self._flights.ask(Intent(sandbox, Action.RESUME, why=why, keep_memory=not cold))
        if outcome.placed is None:
            return ResumeResult(outcome.sandbox)
        return ResumeResult(outcome.sandbox, outcome.placed.cold, outcome.placed.lost)

    async def _find(self, principal: Principal, ref: str) -> Sandbox:
        async with self._store.reading() as reader:
            return await find_sandbox(reader, principal, ref, Verb.CHANGE)
