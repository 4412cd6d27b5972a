"""E2B's error shape: `{"code": <status>, "message": <prose>, "error_code": <word>}`.

Its clients read `code` from the body, and some read it before the status: every refusal at this door carries one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from roost.api import http
from roost.api.http import AsciiJson, headers_of, status_of
from roost.domain import errors
from roost.domain.errors import RoostError, Unsupported

# E2B's own words, where its clients act on them.
CAPACITY = "sandbox_capacity_unavailable"
MEMORY_UNUSABLE = "sandbox_snapshot_guest_agent_unresponsive"  # the client is told to boot from the disk instead

_STATUS: dict[type[RoostError], int] = {
    errors.Gone: 404,  # a dead sandbox is none
    errors.NodeFull: 503,
    errors.SnapshotInUse: 400,
}
_WORDS: dict[type[RoostError], str] = {
    errors.NodeFull: CAPACITY,
    errors.SnapshotDamaged: MEMORY_UNUSABLE,
    errors.SnapshotForeign: MEMORY_UNUSABLE,
}


def e2b_status_of(error: RoostError) -> int:
    return next((number for kind, number in _STATUS.items() if isinstance(error, kind)), status_of(error))


def content(error: RoostError, status: int | None = None) -> dict[str, Any]:
    word = next((word for kind, word in _WORDS.items() if isinstance(error, kind)), error.code)
    return {"code": status or e2b_status_of(error), "message": error.message, "error_code": word}


def answer(error: RoostError, status: int | None = None, headers: Mapping[str, str] | None = None) -> JSONResponse:
    number = status or e2b_status_of(error)
    return AsciiJson(content(error, number), number, headers={**headers_of(number), **(headers or {})})


def not_there(what: str) -> Unsupported:
    return Unsupported("not_there", f"{what} are not part of this Roost yet. The compatibility table says what is.", what=what)


def handle_errors(app: FastAPI) -> None:
    """Every way a request can fail has its answer, in E2B's shape."""
    http.handle_errors(app, answer, "internal_server_error")
