"""Every error that crosses a room of the house.

    RoostError
    ├── Refused            the caller can fix it
    │   ├── Invalid            the request makes no sense as it stands
    │   ├── Unauthenticated    who are you?
    │   ├── Forbidden          known, but not allowed
    │   ├── NotFound           no such thing
    │   ├── Gone               there was one; it is dead
    │   ├── Conflict           not in this state, or somebody else was first
    │   ├── Exhausted          a limit is reached
    │   └── Unsupported        this Roost cannot do that
    ├── Unavailable        may succeed later, unchanged
    ├── TimedOut           took longer than it may
    └── Fault              ours: a bug or a broken machine

`code` is a stable word for programs, `message` prose for people, `facts` the things the message names. Status numbers live in
the doors (`api.http`, `edge.pages`), never here. What can go wrong with images of registries is in `image_errors`,
with the definition of a template in `build_errors`.
"""

from __future__ import annotations

from typing import Any


class RoostError(Exception):
    """Something went wrong that a caller can be told about."""

    def __init__(self, code: str, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.facts = facts

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, (type(self), self.code, self.message, self.facts)


def rebuild(kind: type[RoostError], code: str, message: str, facts: dict[str, Any]) -> RoostError:
    """An error as it was in another process, without the constructor that made it there."""
    error = kind.__new__(kind)
    RoostError.__init__(error, code, message)
    error.facts = facts
    return error


class Refused(RoostError):
    """The caller asked for something that cannot be, and can change that."""


class Invalid(Refused):
    """The request makes no sense as it stands."""


class Unauthenticated(Refused):
    """No credential, or one that is not ours."""


class Forbidden(Refused):
    """A known caller, not allowed to do this."""


class NotFound(Refused):
    """No such thing, or not one this caller may know of."""


class Gone(Refused):
    """There was such a thing; it has ended."""


class Conflict(Refused):
    """The thing is in a state that does not allow it, or somebody else was first."""


class Exhausted(Refused):
    """A limit is reached: of the machine, the disk or a quota."""


class Unsupported(Refused):
    """This Roost cannot do that."""


class Unavailable(RoostError):
    """Not now; the same request may succeed later."""


class TimedOut(RoostError):
    """It took longer than it may."""


class Fault(RoostError):
    """Ours: a bug, or a broken machine."""


# Sandboxes


class SandboxNotFound(NotFound):
    def __init__(self, sandbox: str) -> None:
        super().__init__(
            "sandbox_not_found", f"There is no sandbox {sandbox!r}. `roost ls` lists the ones there are.", sandbox=sandbox
        )


class SandboxDead(Gone):
    def __init__(self, sandbox: str, reason: str | None = None) -> None:
        because = f" ({reason})" if reason else ""
        super().__init__(
            "sandbox_dead",
            f"Sandbox {sandbox} is dead{because}. `roost ls --dead` lists those that can be undeleted.",
            sandbox=sandbox,
            reason=reason,
        )


class WrongState(Conflict):
    def __init__(self, sandbox: str, state: str, action: str) -> None:
        super().__init__(
            "wrong_state", f"Sandbox {sandbox} is {state}: it cannot {action} now.", sandbox=sandbox, state=state, action=action
        )


class NameTaken(Conflict):
    def __init__(self, name: str, holder: str) -> None:
        super().__init__(
            "name_taken",
            f"The name {name!r} belongs to sandbox {holder}. Choose another, or kill that one.",
            name=name,
            sandbox=holder,
        )


class IdempotencyMismatch(Conflict):
    def __init__(self, key: str) -> None:
        super().__init__(
            "idempotency_request_mismatch",
            f"Idempotency key {key!r} was used before with a different request. Use a new key for a new request.",
            key=key,
        )


class StaleRevision(Conflict):
    """Somebody else wrote the record first. Read it again and decide again."""

    def __init__(self, kind: str, record: str) -> None:
        super().__init__("stale_revision", f"The {kind} {record} was changed by somebody else meanwhile.", kind=kind, id=record)


class MoveTimedOut(TimedOut):
    def __init__(self, sandbox: str, action: str, limit_s: float) -> None:
        super().__init__(
            "move_timed_out",
            f"Sandbox {sandbox} did not {action} within {limit_s:g} s. The server goes on trying; ask again for its state.",
            sandbox=sandbox,
            action=action,
            limit_s=limit_s,
        )


class MoveOvertaken(Conflict):
    def __init__(self, sandbox: str, action: str, by: str) -> None:
        super().__init__(
            "move_overtaken",
            f"The {action} of sandbox {sandbox} was given up: a {by} arrived meanwhile. Ask again if it is still wanted.",
            sandbox=sandbox,
            action=action,
            by=by,
        )


class SandboxLost(Unavailable):
    """The process behind a sandbox is gone: it crashed, or its machine did."""

    def __init__(self, sandbox: str, detail: str) -> None:
        super().__init__("sandbox_lost", f"The process of sandbox {sandbox} is gone: {detail}.", sandbox=sandbox, detail=detail)


class GuestUnreachable(Unavailable):
    """The agent inside does not answer. Never the output of a command."""

    def __init__(self, sandbox: str, detail: str) -> None:
        super().__init__(
            "guest_unreachable", f"The agent inside sandbox {sandbox} does not answer: {detail}.", sandbox=sandbox, detail=detail
        )


class NothingKept(Gone):
    """A dead sandbox of which nothing is left to come back from."""

    def __init__(self, sandbox: str) -> None:
        super().__init__(
            "nothing_kept",
            f"Nothing of sandbox {sandbox} is kept any more: its time is over, its room was needed, or it was deleted at once.",
            sandbox=sandbox,
        )


class NotDead(Conflict):
    def __init__(self, sandbox: str, state: str) -> None:
        super().__init__(
            "not_dead", f"Sandbox {sandbox} is {state}: only a dead one can be undeleted.", sandbox=sandbox, state=state
        )


# Questions


class QuestionNotFound(NotFound):
    def __init__(self, question: str) -> None:
        super().__init__(
            "question_not_found",
            f"There is no question {question!r}. `roost questions --all` lists the ones there are.",
            question=question,
        )


class QuestionClosed(Conflict):
    def __init__(self, question: str, state: str) -> None:
        super().__init__(
            "question_closed",
            f"Question {question} is {state} already: nobody waits for an answer any more.",
            question=question,
            state=state,
        )


# Snapshots and templates


class TemplateNotFound(NotFound):
    def __init__(self, template: str) -> None:
        super().__init__(
            "template_not_found",
            f"There is no template {template!r}. `roost templates` lists the ones there are.",
            template=template,
        )


class SnapshotNotFound(NotFound):
    def __init__(self, snapshot: str) -> None:
        super().__init__(
            "snapshot_not_found",
            f"There is no snapshot {snapshot!r}. `roost snapshots` lists the ones there are.",
            snapshot=snapshot,
        )


class SnapshotNameTaken(Conflict):
    def __init__(self, name: str, holder: str) -> None:
        super().__init__(
            "snapshot_name_taken",
            f"The name {name!r} belongs to {holder}. Choose another, or delete that one.",
            name=name,
            holder=holder,
        )


class TemplateNotReady(Unavailable):
    def __init__(self, template: str, step: str, elapsed_s: float, wait_s: float) -> None:
        super().__init__(
            "template_not_ready",
            f"Template {template!r} is being made since {elapsed_s:.0f} s ({step}). Ask again in about {wait_s:.0f} s.",
            template=template,
            step=step,
            elapsed_s=round(elapsed_s),
            wait_s=round(wait_s),
        )


class TemplateUnmade(Unavailable):
    def __init__(self, template: str, why: str, wait_s: float) -> None:
        super().__init__(
            "template_unmade",
            f"Template {template!r} could not be made. It is tried again in about {wait_s:.0f} s. {why}",
            template=template,
            wait_s=round(wait_s),
        )


class TemplateBuildFailed(Invalid):
    def __init__(self, template: str, step: str, exit_code: int, output: str) -> None:
        super().__init__(
            "template_build_failed",
            f"Template {template!r} could not be built: `{step}` ended with exit code {exit_code}."
            f" The last it said:\n{output[-500:].strip()}",
            template=template,
            step=step,
            exit_code=exit_code,
            output=output,
        )


class SnapshotInUse(Conflict):
    def __init__(self, snapshot: str, user: str) -> None:
        super().__init__(
            "snapshot_in_use", f"Snapshot {snapshot} is needed by {user}. Kill or move that first.", snapshot=snapshot, user=user
        )


class SnapshotDamaged(Conflict):
    """An image is not what was written. Nothing is started from it."""

    def __init__(self, snapshot: str, file: str, detail: str, last_good: str | None = None) -> None:
        offer = f" The last good one is {last_good}." if last_good else ""
        super().__init__(
            "snapshot_damaged",
            f"Snapshot {snapshot} is damaged: {file} {detail}. Its memory cannot be used; its disk can:"
            f" resume with memory left out (`roost resume --cold`) to boot from the disk.{offer}",
            snapshot=snapshot,
            file=file,
            detail=detail,
            last_good=last_good,
        )


class SnapshotForeign(Conflict):
    """An image was made by another engine, or for another machine."""

    def __init__(self, snapshot: str, what: str, made_with: str, here: str) -> None:
        super().__init__(
            "snapshot_foreign",
            f"Snapshot {snapshot} needs {what} {made_with}; this node has {here}. Its memory cannot be used here; its disk can:"
            f" resume with memory left out (`roost resume --cold`).",
            snapshot=snapshot,
            what=what,
            made_with=made_with,
            here=here,
        )


class SnapshotHasNoMemory(Conflict):
    def __init__(self, snapshot: str) -> None:
        super().__init__(
            "snapshot_has_no_memory",
            f"Snapshot {snapshot} holds a disk only. Resume cold (`--cold`) to boot from it.",
            snapshot=snapshot,
        )


# The machine


class NodeFull(Exhausted):
    def __init__(self, what: str, needed: str, free: str) -> None:
        # A sleep takes disk space: it would make that worse.
        remedy = "Kill sandboxes, or delete snapshots." if what.startswith("disk") else "Pause or kill sandboxes."
        super().__init__(
            "node_full",
            f"The machine has no {what} left: {needed} needed, {free} free. {remedy}",
            what=what,
            needed=needed,
            free=free,
        )


class EngineFailed(Fault):
    def __init__(self, what: str, detail: str) -> None:
        super().__init__("engine_failed", f"The engine could not {what}: {detail}", what=what, detail=detail)
