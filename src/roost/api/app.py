"""The application: every door of the control plane, put together once."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, FastAPI, Security

from roost.api.access import API_KEY, BEARER
from roost.api.e2b.app import E2bRoute, create_e2b, refuse
from roost.api.http import BodyLimit, HeardByEdges, handle_errors
from roost.api.services import Services
from roost.api.v1 import (
    builds,
    driver,
    events,
    fleet,
    keys,
    links,
    moves,
    node,
    questions,
    sandboxes,
    session,
    snapshots,
    templates,
    tokens,
    uploads,
)
from roost.api.web import web_routes

DESCRIPTION = """
Computers for AI agents. They run until told otherwise, sleep with their memory, wake where they left off, can be kept
and multiplied.

Every error is `{"error": {"code", "message", …}}`: `code` is a stable word for programs, `message` prose for people,
further fields are the facts that the message names. Commands, files and ports of a sandbox are reached through its
`url`, not here.
"""
TAGS = [
    {"name": "sandboxes", "description": "Whole Linux machines, each for one agent."},
    {"name": "links", "description": "Screens for people without a key, and who drives."},
    {"name": "snapshots", "description": "Moments of sandboxes, kept: disk and memory."},
    {"name": "templates", "description": "What sandboxes are made from."},
    {"name": "builds", "description": "Templates of your own, made step by step."},
    {"name": "fleet", "description": "Everything at once, for pages."},
    {"name": "questions", "description": "What agents ask people."},
    {"name": "events", "description": "What happened, and what happens."},
    {"name": "keys", "description": "API keys."},
    {"name": "session", "description": "Browsers that are signed in."},
    {"name": "server", "description": "The server itself."},
]


def create_app(services: Services, pages: Path | None = None) -> FastAPI:
    """`pages`: where Mission Control's built pages are."""
    app = FastAPI(
        title="Roost",
        version=services.about.version,
        description=DESCRIPTION.strip(),
        openapi_tags=TAGS,
        docs_url=None,
        redoc_url=None,
    )
    app.state.services = services
    handle_errors(app)
    app.add_middleware(BodyLimit, refuse=refuse)
    app.add_middleware(HeardByEdges, until_heard=services.served_routes.until_heard)
    keyed = APIRouter(dependencies=[Security(BEARER), Security(API_KEY)])
    for noun in (
        sandboxes,
        moves,
        tokens,
        links,
        snapshots,
        templates,
        builds,
        uploads,
        fleet,
        questions,
        events,
        keys,
        session,
        node,
    ):
        keyed.include_router(noun.router)
    for noun in (node, session, driver):
        app.include_router(noun.open_router)
    app.include_router(keyed)
    app.router.routes.extend(web_routes(services.about, pages))
    app.router.routes.append(E2bRoute(create_e2b(services)))
    return app
