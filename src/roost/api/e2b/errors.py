"""E2B's error shape: `{"code": <status>, "message": <prose>, "error_code": <word>}`.

Its clients read `code` from the body, and some read it before the status: every refusal at this door carries one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from roost.api.http import TOO_LARGE, AsciiJson, headers_of, invalid_request, status_of
from roost.domain import errors
from roost.domain.errors import RoostError, Unsupported

log = logging.getLogger(__name__)

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
    """Every way a request can fail has its answer, as in `api.http`, in E2B's shape."""

    @app.exception_handler(RoostError)
    async def _ours(_request: Request, error: RoostError) -> JSONResponse:
        return answer(error)

    @app.exception_handler(RequestValidationError)
    async def _malformed(_request: Request, error: RequestValidationError) -> JSONResponse:
        return answer(invalid_request(error))

    @app.exception_handler(HTTPException)
    async def _unroutable(request: Request, error: HTTPException) -> JSONResponse:
        return answer(_from_http(request, error), error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def _bug(request: Request, error: Exception) -> JSONResponse:
        log.error("%s %s broke", request.method, request.url.path, exc_info=error)
        text = "Something broke inside the server. Its log says what; nothing was your fault."
        return answer(errors.Fault("internal_server_error", text))


def _from_http(request: Request, error: HTTPException) -> RoostError:
    path = request.url.path
    if error.status_code == 404:
        return errors.NotFound("no_such_path", f"There is nothing at {path}.", path=path)
    if error.status_code == 405:
        return errors.Invalid("method_not_allowed", f"{path} does not answer {request.method}.", path=path)
    return errors.Invalid("too_large" if error.status_code == TOO_LARGE else "invalid", str(error.detail))
