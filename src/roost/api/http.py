"""Errors and limits over HTTP: the only place of the control plane with status numbers in it.

Whatever goes wrong is answered as `{"error": {"code", "message", …facts}}`. Bad input is the caller's (4xx), never ours
(5xx).
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from fastapi import FastAPI, Request
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roost.domain import errors
from roost.domain.build_failures import UploadTooLarge
from roost.domain.errors import Invalid, RoostError

log = logging.getLogger(__name__)

Refusal = Callable[[Scope, RoostError, int], JSONResponse]

MAX_BODY_BYTES = 1_000_000
MAX_BUILD_BYTES = 8_000_000  # a definition holds the files that stand in it
MAX_QUESTION_BYTES = 1_500_000  # a screenshot of 1 MB, in base64

TOO_LARGE = 413
STATUS: dict[type[RoostError], int] = {
    errors.Invalid: 400,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Gone: 410,
    UploadTooLarge: TOO_LARGE,
    errors.Exhausted: 429,
    errors.Fault: 500,
    errors.Unsupported: 501,
    errors.Unavailable: 503,
    errors.TimedOut: 504,
}

_HEADERS: dict[int, dict[str, str]] = {
    401: {"WWW-Authenticate": 'Bearer realm="roost"'},
    503: {"Retry-After": "1"},
}


class AsciiJson(JSONResponse):
    """Escapes whatever is not ASCII: an error may quote what no encoding can hold."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":")).encode()


def headers_of(status: int) -> Mapping[str, str]:
    """What an answer of this status carries besides its body."""
    return _HEADERS.get(status, {})


def status_of(error: RoostError) -> int:
    """The nearest ancestor with a number decides."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def error_content(error: RoostError) -> dict[str, Any]:
    """An error as a JSON object. Facts never hide the code or the message."""
    return {**jsonable_encoder(error.facts, custom_encoder={bytes: repr}), "code": error.code, "message": error.message}


def answer(error: RoostError, status: int | None = None, headers: Mapping[str, str] | None = None) -> JSONResponse:
    number = status or status_of(error)
    return AsciiJson({"error": error_content(error)}, number, headers={**headers_of(number), **(headers or {})})


class Reply(Protocol):
    """How a door puts an error."""

    def __call__(
        self, error: RoostError, status: int | None = None, headers: Mapping[str, str] | None = None
    ) -> JSONResponse: ...


def handle_errors(app: FastAPI, reply: Reply = answer, bug_code: str = "internal") -> None:
    """Every way a request can fail has its answer, in the door's own shape."""

    @app.exception_handler(RoostError)
    async def _ours(_request: Request, error: RoostError) -> JSONResponse:
        return reply(error)

    @app.exception_handler(RequestValidationError)
    async def _malformed(_request: Request, error: RequestValidationError) -> JSONResponse:
        return reply(invalid_request(error))

    @app.exception_handler(HTTPException)
    async def _unroutable(request: Request, error: HTTPException) -> JSONResponse:
        return reply(_from_http(request, error), error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def _bug(request: Request, error: Exception) -> JSONResponse:
        log.error("%s %s broke", request.method, request.url.path, exc_info=error)
        return reply(errors.Fault(bug_code, "Something broke inside the server. Its log says what; nothing was your fault."))


def invalid_request(error: RequestValidationError) -> Invalid:
    """The first thing that is wrong, named by its path, and how many more there are."""
    problems = error.errors()
    first = problems[0]
    where = [str(part) for part in first["loc"] if part not in ("body", "query", "path", "header")]
    field = ".".join(where)
    if first["type"] == "json_invalid":
        detail = first.get("ctx", {}).get("error", "it does not parse")
        return Invalid("invalid", f"The body is not JSON: {detail}.")
    if first["type"] == "extra_forbidden":
        message = f"There is no field {field!r} here. The OpenAPI document at /openapi.json lists the ones there are."
    elif first["type"] == "missing":
        message = f"The field {field!r} is missing." if field else "The body is missing: a JSON object is needed."
    else:
        reason = first["msg"].removeprefix("Value error, ")
        message = f"The field {field!r} is not usable: {reason}." if field else f"The request is not usable: {reason}."
    if len(problems) > 1:
        message += f" ({len(problems) - 1} more like this.)"
    return Invalid("invalid", message, field=field or None)


def _from_http(request: Request, error: HTTPException) -> RoostError:
    if error.status_code == 404:
        return errors.NotFound("no_such_path", f"There is nothing at {request.url.path}.", path=request.url.path)
    if error.status_code == 405:
        text = f"{request.url.path} does not answer {request.method}."
        return Invalid("method_not_allowed", text, path=request.url.path, method=request.method)
    if error.status_code == TOO_LARGE:
        return Invalid("too_large", str(error.detail), limit_bytes=MAX_BODY_BYTES)
    return Invalid("invalid", str(error.detail))


def body_limit(scope: Scope) -> int:
    """How large a body may be. Only a question brings a picture; uploads are counted by who keeps them."""
    method, path = scope["method"], scope["path"]
    if method == "PUT" and path.startswith(("/v1/uploads/", "/e2b/uploads/")):
        return sys.maxsize
    if method == "POST" and (path == "/v1/builds" or (path.startswith("/v2/templates/") and "/builds/" in path)):
        return MAX_BUILD_BYTES
    return MAX_QUESTION_BYTES if method == "POST" and path.endswith("/questions") else MAX_BODY_BYTES


class BodyLimit:
    """Refuses bodies beyond the limit: by their announced length, or once that much has come."""

    def __init__(self, app: ASGIApp, refuse: Refusal | None = None) -> None:
        self._app = app
        self._refuse: Refusal = refuse or (lambda _scope, error, status: answer(error, status))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit_bytes = body_limit(scope)
        refusal = f"The body is larger than {limit_bytes} bytes. Large things go to the sandbox itself, not through the API."
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if announced.isdigit() and int(announced) > limit_bytes:
            error = Invalid("too_large", refusal, limit_bytes=limit_bytes)
            await self._refuse(scope, error, TOO_LARGE)(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit_bytes:
                raise HTTPException(TOO_LARGE, refusal)
            return message

        await self._app(scope, counted, send)


class HeardByEdges:
    """Nothing is answered before edges have acted on what was committed by then: what was revoked opens nothing any more, and
    what was made can be reached."""

    def __init__(self, app: ASGIApp, until_heard: Callable[[], Awaitable[object]]) -> None:
        self._app = app
        self._until_heard = until_heard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_when_heard(message: Message) -> None:
            await self._until_heard()
            await send(message)

        await self._app(scope, receive, send_when_heard)
