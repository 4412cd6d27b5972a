"""Signing in to Mission Control: an API key for a cookie."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.v1.models import Given, Taken, Text
from roost.api.v1.responses import errors

open_router = APIRouter(prefix="/v1/session", tags=["session"])
router = APIRouter(prefix="/v1/session", tags=["session"], route_class=KeyedRoute)


class SignInBody(Taken):
    key: Annotated[Text, Field(description="An API key.")]


class SessionKeyModel(Given):
    id: str
    name: str
    hint: Annotated[str, Field(description="The last characters of the secret.")]
    scope: Annotated[str, Field(examples=["full"], description="How far it reaches.")]


class SessionModel(Given):
    """Who is signed in, and to what. Sandboxes are at `<scheme>://<port of theirs>-<sandbox>.<domain>:<port>`."""

    team: str
    key: SessionKeyModel
    domain: str
    scheme: str
    port: int
    version: str


@open_router.post("", status_code=204, operation_id="signIn", summary="Sign a browser in", responses=errors(403, 413))
async def sign_in(request: Request, use: Use, body: SignInBody) -> Response:
    """The answer sets a cookie, for 7 days. It is accepted wherever a key is, but for making keys and links that drive. What
    changes something needs the header `Roost-Request: 1` with it. A key that is revoked ends its sessions."""
    use.sessions.check_origin(request)
    key = (await use.keys.identify(body.key)).key
    assert key is not None
    response = Response(status_code=204)
    use.sessions.put(response, key)
    return response


@router.get("", operation_id="getSession", summary="Who is signed in", responses=errors())
async def get(caller: Caller, use: Use) -> SessionModel:
    assert caller.key is not None
    key, about = await use.keys.get(caller.key), use.about
    return SessionModel(
        team=caller.team,
        key=SessionKeyModel(id=key.id, name=key.name, hint=key.hint, scope=str(key.scope)),
        domain=about.domain,
        scheme=about.scheme,
        port=about.port,
        version=about.version,
    )


@open_router.delete("", status_code=204, operation_id="signOut", summary="Sign a browser out", responses=errors(403))
async def sign_out(request: Request, use: Use) -> Response:
    """Clears the cookie. Needs no key: a browser may always forget."""
    use.sessions.check_origin(request)
    response = Response(status_code=204)
    use.sessions.clear(response)
    return response
