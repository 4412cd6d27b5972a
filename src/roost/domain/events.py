"""Events: what happened, as product data. Appended in the transaction that made it true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from roost.domain.ids import SandboxId, TeamId


class EventKind(StrEnum):
    CREATED = "sandbox.created"
    PAUSED = "sandbox.paused"
    WOKE = "sandbox.woke"  # why: a caller, or traffic
    SNAPSHOTTED = "sandbox.snapshotted"
    FORKED = "sandbox.forked"
    UPDATED = "sandbox.updated"
    REWOUND = "sandbox.rewound"  # lost its process; back at its last snapshot, what came after is gone
    DIED = "sandbox.died"
    ROLLED_BACK = "sandbox.rolled_back"  # at one of its own snapshots; what it left behind is kept in another
    UNDELETED = "sandbox.undeleted"  # a dead one came back as this sandbox
    TOKENS_ROTATED = "sandbox.tokens_rotated"  # what opened it opens it no longer; why
    FAILED = "sandbox.failed"  # a move failed; the sandbox is back where it was
    DRIVER_TOOK = "driver.took"  # a person took over
    DRIVER_GAVE = "driver.gave"  # the agent drives again, or the next person; why
    QUESTION_ASKED = "question.asked"
    QUESTION_ANSWERED = "question.answered"
    QUESTION_EXPIRED = "question.expired"
    QUESTION_WITHDRAWN = "question.withdrawn"
    SNAPSHOT_DELETED = "snapshot.deleted"
    TEMPLATE_BUILT = "template.built"
    TEMPLATE_FAILED = "template.failed"  # it is tried again at `again_at`


@dataclass(frozen=True, slots=True)
class Event:
    kind: EventKind
    team: TeamId
    at: float
    sandbox: SandboxId | None = None
    facts: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    sequence: int = 0  # given by the store; strictly increasing
