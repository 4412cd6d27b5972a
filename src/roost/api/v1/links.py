"""Links to a sandbox's screen: for people who have no key."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import Field

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.services import About
from roost.api.v1.models import Given, Seconds, Taken, Text, Timestamp
from roost.api.v1.rendering import timestamp
from roost.api.v1.responses import errors
from roost.api.v1.sandboxes import Ref
from roost.domain.link import LinkMode, ScreenLink

AGENT_PORT = 49983

router = APIRouter(prefix="/v1/sandboxes/{ref}/links", tags=["links"], route_class=KeyedRoute)

Id = Annotated[str, Path(description="A link's id.")]


class LinkBody(Taken):
    mode: Annotated[LinkMode, Field(strict=False, description="`control` links may take over.")] = LinkMode.VIEW
    seconds: Annotated[Seconds, Field(description="How long it opens anything; 30 days at most.")] = 3600.0
    label: Annotated[Text, Field(description="Whom it is for: shown when they drive.")] = ""


class LinkModel(Given):
    id: Annotated[str, Field(examples=["l0h3mn29fk4ttq0xv2c71"])]
    mode: LinkMode
    label: str
    created_at: Timestamp
    expires_at: Timestamp


class NewLinkModel(LinkModel):
    token: Annotated[str, Field(description="The secret. It is in this answer and nowhere else.")]
    url: Annotated[str, Field(description="A page for a person; the token is behind the #, which browsers keep to themselves.")]
    websocket: Annotated[str, Field(description="The screen as RFB over WebSocket.")]


class LinkList(Given):
    links: list[LinkModel]


@router.post(
    "", status_code=201, operation_id="makeLink", summary="Make a link to its screen", responses=errors(404, 410, 413, 429)
)
async def make(caller: Caller, use: Use, ref: Ref, body: LinkBody, request: Request) -> NewLinkModel:
    """Whoever has it may watch or, by a `control` link, take over, until it expires or is revoked."""
    link, token = await use.links.make(caller.team, ref, mode=body.mode, seconds=body.seconds, label=body.label)
    return NewLinkModel(
        **_link(link).model_dump(),
        token=token,
        url=f"{str(request.base_url).rstrip('/')}/app/screen#{link.sandbox}.{token}",
        websocket=websocket_url(use.about, link.sandbox, token),
    )


@router.get("", operation_id="listLinks", summary="List the links to its screen", responses=errors(404))
async def list_(caller: Caller, use: Use, ref: Ref) -> LinkList:
    """Those that open something, newest first; without their tokens."""
    return LinkList(links=[_link(link) for link in await use.links.list(caller.team, ref)])


@router.delete("/{id}", status_code=204, operation_id="revokeLink", summary="Revoke a link", responses=errors(404))
async def revoke(caller: Caller, use: Use, ref: Ref, id: Id) -> Response:
    """What it opened is cut, and who drove by it drives no longer."""
    await use.links.revoke(caller.team, ref, id)
    return Response(status_code=204)


def websocket_url(about: About, sandbox: str, token: str) -> str:
    scheme = "wss" if about.scheme == "https" else "ws"
    return f"{scheme}://{AGENT_PORT}-{sandbox}.{about.domain}:{about.port}/desktop/rfb?link={token}"


def _link(link: ScreenLink) -> LinkModel:
    return LinkModel(
        id=link.id,
        mode=link.mode,
        label=link.label,
        created_at=timestamp(link.created_at),
        expires_at=timestamp(link.expires_at),
    )
