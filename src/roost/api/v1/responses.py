"""Which errors a route may answer, for the OpenAPI document. Every keyed route may answer those of `ALWAYS`."""

from __future__ import annotations

from typing import Any

from roost.api.v1.models import ErrorAnswer

_MEANING = {
    400: "The request makes no sense as it stands.",
    401: "No API key, or one that is not ours.",
    403: "Known, but not allowed; or a page of another site asked.",
    404: "No such thing.",
    409: "Not in this state, or somebody else was first.",
    410: "There was one; it is dead.",
    413: "The body is too large.",
    429: "A limit is reached: of the machine, the disk or a quota.",
    500: "Ours: a bug, or a broken machine.",
    501: "This Roost cannot do that.",
    503: "Not now; the same request may succeed later.",
    504: "It took longer than it may.",
}
ALWAYS = (400, 401, 403, 500, 503)
MOVE = (404, 409, 410, 429, 504)  # whatever makes a sandbox do something


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The routes' `responses`: these, those of `ALWAYS`, and a catch-all."""
    documented: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorAnswer, "description": _MEANING[status]} for status in sorted({*ALWAYS, *statuses})
    }
    return {**documented, "default": {"model": ErrorAnswer, "description": "Any other error."}}


def errors_beside_stream(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """As `errors`, for a route whose success is no JSON: its errors are."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}}
    return {status: {"description": answer["description"], "content": content} for status, answer in errors(*statuses).items()}
