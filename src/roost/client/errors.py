"""Answers that are not success, as the errors of `roost.domain.errors`.

Three voices speak on one port: `/v1` (`{"error": {"code", "message", …}}`), the agent's RPCs (`{"code": "not_found",
…}`) and its plain routes and the edge (`{"code": 502, …}`). They are told apart by shape; the class follows the code
where it is known, else the status.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from roost.domain import errors as kinds
from roost.domain.errors import RoostError

_BY_STATUS: dict[int, type[RoostError]] = {
    400: kinds.Invalid,
    401: kinds.Unauthenticated,
    403: kinds.Forbidden,
    404: kinds.NotFound,
    405: kinds.Invalid,
    406: kinds.Unsupported,
    409: kinds.Conflict,
    410: kinds.Gone,
    413: kinds.Invalid,
    416: kinds.Invalid,
    422: kinds.Invalid,
    429: kinds.Exhausted,
    431: kinds.Invalid,
    501: kinds.Unsupported,
    502: kinds.Unavailable,
    503: kinds.Unavailable,
    504: kinds.TimedOut,
    507: kinds.Exhausted,
}

_BY_CODE: dict[str, type[RoostError]] = {
    "sandbox_not_found": kinds.SandboxNotFound,
    "sandbox_dead": kinds.SandboxDead,
    "wrong_state": kinds.WrongState,
    "name_taken": kinds.NameTaken,
    "idempotency_request_mismatch": kinds.IdempotencyMismatch,
    "stale_revision": kinds.StaleRevision,
    "move_timed_out": kinds.MoveTimedOut,
    "sandbox_lost": kinds.SandboxLost,
    "guest_unreachable": kinds.GuestUnreachable,
    "template_not_found": kinds.TemplateNotFound,
    "snapshot_not_found": kinds.SnapshotNotFound,
    "snapshot_in_use": kinds.SnapshotInUse,
    "snapshot_damaged": kinds.SnapshotDamaged,
    "snapshot_foreign": kinds.SnapshotForeign,
    "snapshot_has_no_memory": kinds.SnapshotHasNoMemory,
    "node_full": kinds.NodeFull,
    "nothing_kept": kinds.NothingKept,
    "not_dead": kinds.NotDead,
    "question_not_found": kinds.QuestionNotFound,
    "question_closed": kinds.QuestionClosed,
    "engine_failed": kinds.EngineFailed,
}

_BY_CONNECT_CODE: dict[str, type[RoostError]] = {
    "canceled": kinds.TimedOut,
    "deadline_exceeded": kinds.TimedOut,
    "invalid_argument": kinds.Invalid,
    "failed_precondition": kinds.Conflict,
    "out_of_range": kinds.Invalid,
    "not_found": kinds.NotFound,
    "already_exists": kinds.Conflict,
    "aborted": kinds.Conflict,
    "permission_denied": kinds.Forbidden,
    "unauthenticated": kinds.Unauthenticated,
    "resource_exhausted": kinds.Exhausted,
    "unimplemented": kinds.Unsupported,
    "unavailable": kinds.Unavailable,
}


def rebuild(kind: type[RoostError], code: str, message: str, facts: Mapping[str, Any]) -> RoostError:
    """An error as the server raised it. The special classes build their message from arguments; here the message is
    known."""
    error = kind.__new__(kind)
    RoostError.__init__(error, code, message, **facts)
    return error


def from_answer(status: int, body: bytes) -> RoostError:
    """The error that an answer of 400 or more stands for."""
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        text = body[:200].decode(errors="replace").strip()
        return _by_status(status, "unexpected_answer", f"The server answered {status}{': ' + text if text else ''}.", {})
    error = content.get("error")
    if isinstance(error, dict):
        facts = {name: value for name, value in error.items() if name not in ("code", "message")}
        return from_record(str(error.get("code", "unknown")), str(error.get("message", "")), facts, status=status)
    message = str(content.get("message", ""))
    code = content.get("code")
    if isinstance(code, str):
        return from_connect(code, message)
    if isinstance(own_code := content.get("error_code"), str):
        return from_record(own_code, message, {"sandbox": str(content.get("sandboxId", ""))}, status=status)
    if status == 502:
        return _from_edge(message, content)
    return _by_status(status, "agent_refused", message or f"The sandbox answered {status}.", {})


def from_record(code: str, message: str, facts: Mapping[str, Any], *, status: int = 500) -> RoostError:
    """An error as `/v1` writes it, alone or inside an answer that succeeded in part."""
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status, kinds.Fault)
    return rebuild(kind, code, message, facts)


def from_connect(code: str, message: str) -> RoostError:
    """An error in the words of the Connect protocol: a failed unary call, or the end of a stream."""
    return rebuild(_BY_CONNECT_CODE.get(code, kinds.Fault), code, message, {})


def _from_edge(message: str, content: Mapping[str, Any]) -> RoostError:
    sandbox = str(content.get("sandboxId", ""))
    if "port" in content:
        port = content["port"]
        text = f"Nothing listens on port {port} of sandbox {sandbox}."
        return rebuild(kinds.Unavailable, "port_not_open", text, {"sandbox": sandbox, "port": port})
    text = (
        f"Sandbox {sandbox} cannot be reached: it is dead, or asleep and not to be woken by traffic."
        f" `roost info {sandbox}` tells which; `roost resume {sandbox}` wakes it."
    )
    return rebuild(kinds.Unavailable, "sandbox_unreachable", text, {"sandbox": sandbox, "detail": message})


def _by_status(status: int, code: str, message: str, facts: Mapping[str, Any]) -> RoostError:
    return rebuild(_BY_STATUS.get(status, kinds.Fault), code, message, facts)
