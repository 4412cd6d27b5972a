"""A flight: one move under way in this process. Whoever asks for the same move shares it."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import anyio

from roost.domain.errors import MoveOvertaken, RoostError, SandboxDead, Unavailable
from roost.domain.ids import SandboxId
from roost.domain.lifecycle import Action
from roost.domain.node import Placed
from roost.domain.sandbox import Operation, Sandbox
from roost.domain.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class FlightOutcome:
    """How a move ended well: the record as it is now, and what came of it."""

    sandbox: Sandbox
    placed: Placed | None = None  # create, resume
    snapshot: Snapshot | None = None  # pause, snapshot


class Flight:
    """The work may be stopped from outside (`overtake`, `time_out`); its end is set once and shared by all who wait."""

    def __init__(self, begun: Sandbox) -> None:
        assert begun.operation is not None, "only a moving sandbox has a flight"
        self.begun = begun
        self.sandbox: SandboxId = begun.id
        self.operation: Operation = begun.operation
        self.scope = anyio.CancelScope()
        self.overtaken_by: Action | None = None
        self.timed_out = False
        self._outcome: FlightOutcome | None = None
        self._error: Exception | None = None
        self._landed = anyio.Event()

    @property
    def action(self) -> Action:
        return self.operation.action

    def gives_way_to(self, action: Action) -> bool:
        """A sandbox that is wanted awake need not fall asleep first."""
        return self.action is Action.PAUSE and action is Action.RESUME

    def overtake(self, by: Action) -> None:
        """Stops the work: something was asked for that makes it pointless."""
        self.overtaken_by = by
        self.scope.cancel()

    def time_out(self) -> None:
        self.timed_out = True
        self.scope.cancel()

    @property
    def overtaken_error(self) -> RoostError:
        by = self.overtaken_by or self.action
        if by is Action.KILL:
            return SandboxDead(self.sandbox, f"killed before its {self.action} was done")
        return MoveOvertaken(self.sandbox, self.action, by)

    def land(self, outcome: FlightOutcome) -> None:
        self._outcome = outcome
        self._landed.set()

    def fail(self, error: Exception) -> None:
        self._error = error
        self._landed.set()

    def abandon(self) -> None:
        """The server stops before the end. The record keeps the operation; the next server repeats it."""
        if not self._landed.is_set():
            self.fail(
                Unavailable(
                    "server_stopping",
                    f"The server stopped while sandbox {self.sandbox} was about to {self.action}."
                    " The next one finishes it; ask again then.",
                    sandbox=self.sandbox,
                )
            )

    async def ended(self) -> None:
        await self._landed.wait()

    async def result(self) -> FlightOutcome:
        """The shared end. Each waiter gets the error as an exception of its own, so that tracebacks do not pile up on one."""
        await self._landed.wait()
        if self._error is not None:
            raise copy.copy(self._error) from self._error
        assert self._outcome is not None, "a flight lands with an outcome or an error"
        return self._outcome
