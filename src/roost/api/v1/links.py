"""Links to a sandbox's screen and to its ports: for people who have no key."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import Field

from roost.api.access import Caller, KeyedRoute, Use, check_key
from roost.api.services import About
from roost.api.v1.models import Given, Seconds, Taken, Text, Timestamp, Whole
from roost.api.v1.rendering import timestamp
from roost.api.v1.responses import errors
from roost.api.v1.sandboxes import Ref
from roost.domain.errors import Conflict
from roost.domain.ids import AGENT_PORT
from roost.domain.link import Link, LinkMode, can_open_ports

router = APIRouter(prefix="/v1/sandboxes/{ref}/links", tags=["links"], route_class=KeyedRoute)

Id = Annotated[str, Path(description="A link's id.")]


class LinkBody(Taken):
    mode: Annotated[
        LinkMode | None, Field(strict=False, description="Of a link to the screen: `view` unless given; `control` may take over.")
    ] = None
    port: Annotated[Whole | None, Field(description="Makes it a link to this port, in place of the screen.")] = None
    seconds: Annotated[Seconds, Field(description="How long it opens anything; 30 days at most.")] = 3600.0
    label: Annotated[Text, Field(description="Whom it is for: shown when they drive.")] = ""


class LinkModel(Given):
    id: Annotated[str, Field(examples=["l0h3mn29fk4ttq0xv2c71"])]
    mode: Annotated[LinkMode | None, Field(description="Null for a link to a port.")]
    port: Annotated[int | None, Field(description="Null for a link to the screen.")]
    label: str
    created_at: Timestamp
    expires_at: Timestamp


class NewLinkModel(LinkModel):
    token: Annotated[str, Field(description="The secret. It is in this answer and nowhere else.")]
    url: Annotated[
        str,
        Field(
            description="For a browser. Of a screen: a page; the token is behind the #, which browsers keep to themselves."
            " Of a port: its address; the token is in `roost_link`, which any path there takes, and becomes a cookie."
        ),
    ]
    websocket: Annotated[str | None, Field(description="The screen as RFB over WebSocket.")]


class LinkList(Given):
    links: list[LinkModel]


@router.post(
    "",
    status_code=201,
    operation_id="makeLink",
    summary="Make a link to its screen or to a port",
    responses=errors(403, 404, 409, 410, 413, 429),
)
async def make(caller: Caller, use: Use, ref: Ref, body: LinkBody, request: Request) -> NewLinkModel:
    """Until it expires or is revoked, whoever has it may watch or, by a `control` link, take over; or open the port, also of a
    sandbox whose ports are not public. For a `control` link a browser's session is not enough: the request must carry a key."""
    if body.mode is LinkMode.CONTROL:
        check_key(request)
    if body.port is not None and not can_open_ports(use.about.scheme, use.about.domain):
        raise _needs_https(use.about.domain)
    link, token = await use.links.make(caller, ref, mode=body.mode, port=body.port, seconds=body.seconds, label=body.label)
    page = f"{str(request.base_url).rstrip('/')}/app/screen#{link.sandbox}.{token}"
    return NewLinkModel(
        **_link(link).model_dump(),
        token=token,
        url=page if link.port is None else port_url(use.about, link.sandbox, link.port, token),
        websocket=websocket_url(use.about, link.sandbox, token) if link.port is None else None,
    )


@router.get("", operation_id="listLinks", summary="List the links to its screen and ports", responses=errors(404))
async def list_(caller: Caller, use: Use, ref: Ref) -> LinkList:
    """Those that open something, newest first; without their tokens."""
    return LinkList(links=[_link(link) for link in await use.links.list(caller, ref)])


@router.delete("/{id}", status_code=204, operation_id="revokeLink", summary="Revoke a link", responses=errors(404))
async def revoke(caller: Caller, use: Use, ref: Ref, id: Id) -> Response:
    """What it opened is cut, and who drove by it drives no longer."""
    await use.links.revoke(caller, ref, id)
    return Response(status_code=204)


def websocket_url(about: About, sandbox: str, token: str) -> str:
    scheme = "wss" if about.scheme == "https" else "ws"
    return f"{scheme}://{AGENT_PORT}-{sandbox}.{about.domain}:{about.port}/desktop/rfb?link={token}"


def port_url(about: About, sandbox: str, port: int, token: str) -> str:
    return f"{about.scheme}://{port}-{sandbox}.{about.domain}:{about.port}/?roost_link={token}"


def _needs_https(domain: str) -> Conflict:
    return Conflict(
        "link_needs_https",
        f"Links to ports need https: over plain http browsers do not tell names below {domain} which page makes them ask, so that"
        " the page of one sandbox could read a port of another. Serve with TLS (`roost up --tls`), or send the traffic token.",
        domain=domain,
    )


def _link(link: Link) -> LinkModel:
    return LinkModel(
        id=link.id,
        mode=link.mode,
        port=link.port,
        label=link.label,
        created_at=timestamp(link.created_at),
        expires_at=timestamp(link.expires_at),
    )
