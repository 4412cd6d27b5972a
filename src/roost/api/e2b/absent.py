"""What E2B has and this Roost does not, or not yet: 501, in E2B's shape, so that a client says why."""

from __future__ import annotations

from fastapi import APIRouter

from roost.api.access import Caller, KeyedRoute
from roost.api.e2b.errors import not_there

router = APIRouter(tags=["absent"], route_class=KeyedRoute)

BUILDS = "Builds of E2B's first kind, and templates for everybody,"
ABSENT: tuple[tuple[str, str, str], ...] = (
    ("POST", "/templates", BUILDS),
    ("POST", "/v2/templates", BUILDS),
    ("POST", "/templates/{ref}", BUILDS),
    ("PATCH", "/templates/{ref}", BUILDS),
    ("PATCH", "/v2/templates/{ref}", BUILDS),
    ("POST", "/templates/{ref}/builds/{build}", BUILDS),
    ("GET", "/volumes", "Volumes"),
    ("POST", "/volumes", "Volumes"),
    ("GET", "/volumes/{ref}", "Volumes"),
    ("DELETE", "/volumes/{ref}", "Volumes"),
    ("GET", "/volumecontent/{ref}/{part}", "Volumes"),
    ("POST", "/volumecontent/{ref}/{part}", "Volumes"),
    ("PUT", "/volumecontent/{ref}/{part}", "Volumes"),
    ("PATCH", "/volumecontent/{ref}/{part}", "Volumes"),
    ("DELETE", "/volumecontent/{ref}/{part}", "Volumes"),
    ("GET", "/secrets", "Secrets"),
    ("POST", "/secrets", "Secrets"),
    ("GET", "/secrets/{ref}", "Secrets"),
    ("POST", "/secrets/{ref}", "Secrets"),
    ("DELETE", "/secrets/{ref}", "Secrets"),
    ("PATCH", "/api-keys/{ref}", "New names for API keys"),
    ("POST", "/access-tokens", "Access tokens of people"),
    ("DELETE", "/access-tokens/{ref}", "Access tokens of people"),
    ("GET", "/teams/{ref}/metrics", "Metrics of a team"),
    ("GET", "/teams/{ref}/metrics/max", "Metrics of a team"),
    ("GET", "/events/sandboxes", "E2B's events (Roost's are at /v1/events)"),
    ("GET", "/events/sandboxes/{ref}", "E2B's events (Roost's are at /v1/events)"),
    ("GET", "/events/webhooks", "Webhooks"),
    ("POST", "/events/webhooks", "Webhooks"),
    ("GET", "/events/webhooks/{ref}", "Webhooks"),
    ("PATCH", "/events/webhooks/{ref}", "Webhooks"),
    ("DELETE", "/events/webhooks/{ref}", "Webhooks"),
)


def _absent(what: str) -> object:
    async def refuse(_caller: Caller) -> None:
        raise not_there(what)

    return refuse


for _method, _path, _what in ABSENT:
    router.add_api_route(_path, _absent(_what), methods=[_method], include_in_schema=False)  # pyright: ignore[reportArgumentType]
