"""How E2B's API is joined to the server: an application of its own behind the paths that E2B's clients call.

Routes match the path as it was sent, still percent-encoded: a template may be called `team/name:tag`, and clients send that as
one segment, `team%2Fname%3Atag`. What a route gets out of the path is decoded by `Ref`.
"""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Security
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from roost.api.access import API_KEY, BEARER
from roost.api.e2b import absent, builds, errors, keys, logs, metrics, moves, network, sandboxes, snapshots, teams, templates
from roost.api.http import answer as v1_answer
from roost.api.services import Services
from roost.domain.errors import RoostError

DESCRIPTION = "E2B's API, for E2B's own clients. Roost's is at /v1, described at /openapi.json."

NOUNS = frozenset(
    (
        "access-tokens",
        "api-keys",
        "default-templates",
        "e2b",
        "events",
        "health",
        "sandboxes",
        "secrets",
        "snapshots",
        "teams",
        "templates",
        "v2",
        "v3",
        "volumecontent",
        "volumes",
    )
)
"""The first parts of the paths that are E2B's. All others are Roost's own."""


def create_e2b(services: Services) -> FastAPI:
    app = FastAPI(
        title="Roost for E2B's clients",
        version=services.about.version,
        description=DESCRIPTION,
        openapi_url="/e2b/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.services = services
    errors.handle_errors(app)
    keyed = APIRouter(dependencies=[Security(BEARER), Security(API_KEY)])
    for noun in (builds, absent, metrics, sandboxes, moves, logs, network, snapshots, templates, teams, keys):
        keyed.include_router(noun.router)
    keyed.include_router(moves.v2_router)
    app.include_router(teams.open_router)
    app.include_router(builds.open_router)
    app.include_router(keyed)
    return app


def is_e2b(scope: Scope) -> bool:
    return scope["type"] == "http" and _raw_path(scope).split("/", 2)[1] in NOUNS


def refuse(scope: Scope, error: RoostError, status: int) -> JSONResponse:
    """An error in the shape of whichever API the request is for: for what is refused before either has seen it."""
    return errors.answer(error, status) if is_e2b(scope) else v1_answer(error, status)


class E2bRoute(BaseRoute):
    """Everything under E2B's nouns, with any method: what is not there is answered in E2B's shape."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return (Match.FULL if is_e2b(scope) else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "path": _raw_path(scope), "root_path": ""}, receive, send)


def _raw_path(scope: Scope) -> str:
    raw: bytes | None = scope.get("raw_path")
    path = raw.decode("latin-1").partition("?")[0] if raw else quote(scope["path"])
    return path if path.startswith("/") else f"/{path}"
