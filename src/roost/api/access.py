"""Who is asking: an API key as a Bearer token or in `X-API-Key`, or a browser that was signed in with one. What they may, control
decides."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, HTTPBearer

from roost.api.services import Services
from roost.domain.access import Principal
from roost.domain.errors import Forbidden, Unauthenticated

# For the OpenAPI document: the check itself is made by KeyedRoute, which takes a session's cookie as well.
BEARER = HTTPBearer(auto_error=False, scheme_name="bearer", description="An API key.")
API_KEY = APIKeyHeader(name="X-API-Key", auto_error=False, scheme_name="api_key", description="The same key.")


class KeyedRoute(APIRoute):
    """A route that asks for the key before it reads anything else of the request."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def identified(request: Request) -> Response:
            await identify(request)
            return await handle(request)

        return identified


async def identify(request: Request) -> None:
    """Notes whom the request stands for: by its key, else by its session. Raises Unauthenticated, Forbidden."""
    services = _services(request)
    has_key = "authorization" in request.headers or "x-api-key" in request.headers
    session = None if has_key else services.sessions.find(request)
    if session is None:
        request.state.principal = await services.keys.identify(credential_of(request))
    else:
        services.sessions.check_same_site(request)
        request.state.principal = await services.keys.stand_for(session)
    request.state.is_session = session is not None


def check_key(request: Request) -> None:
    """For what would outlive a session: a browser that is signed in is not enough, since a page that should not be there can use
    that. Raises Forbidden."""
    if request.state.is_session:
        raise Forbidden(
            "key_needed",
            "A signed-in browser may not do this by its session alone: it makes a secret that outlives it."
            " Give the API key again, as `Authorization: Bearer <key>`.",
        )


def credential_of(request: Request) -> str:
    """Raises Unauthenticated when the request carries none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    key = request.headers.get("x-api-key")
    if key:
        return key.strip()
    raise Unauthenticated(
        "no_key",
        "The request carries no API key. Send `Authorization: Bearer <key>`; `roost env` prints the key on the server's machine.",
    )


def _services(request: Request) -> Services:
    return request.app.state.services


def _principal(request: Request) -> Principal:
    return request.state.principal


async def _get_services(request: Request) -> Services:
    return _services(request)


async def _get_principal(request: Request) -> Principal:
    return _principal(request)


async def _get_key_holder(request: Request) -> Principal:
    check_key(request)
    return _principal(request)


Use = Annotated[Services, Depends(_get_services)]
Caller = Annotated[Principal, Depends(_get_principal)]
KeyHolder = Annotated[Principal, Depends(_get_key_holder)]
"""A caller who gave the key itself with this very request."""
