"""What a sandbox may reach, and who may reach it."""

from __future__ import annotations

from fastapi import APIRouter, Response

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.e2b import models
from roost.api.e2b.errors import not_there
from roost.api.e2b.models import Ref
from roost.api.e2b.references import living
from roost.api.e2b.rendering import EVERYWHERE
from roost.domain.egress import Egress
from roost.domain.errors import Invalid
from roost.domain.sandbox import Ingress

router = APIRouter(prefix="/sandboxes/{ref}/network", tags=["network"], route_class=KeyedRoute)


@router.put("", status_code=204, operation_id="updateSandboxNetwork")
async def update(caller: Caller, use: Use, ref: Ref, body: models.NetworkUpdate) -> Response:
    """From now on, for a running sandbox at once; what is left out is as by default."""
    record = await living(caller, use, ref)
    await use.sandboxes.set_egress(caller.team, record.id, egress_of(body, None))
    return Response(status_code=204)


def egress_of(wanted: models.NetworkUpdate | None, allow_internet_access: bool | None) -> Egress:
    """Raises Invalid for what E2B refuses too, and Unsupported for what is not there yet."""
    wanted = wanted or models.NetworkUpdate()
    if wanted.rules:
        raise not_there("Rules for the requests to a host")
    if wanted.egressProxy is not None:
        raise not_there("Egress proxies")
    if wanted.dnsServers:
        raise not_there("DNS servers of one's own")
    allow, deny = tuple(wanted.allowOut or ()), tuple(wanted.denyOut or ())
    for entry in deny:
        if not _is_numeric(entry):
            raise Invalid("egress_invalid", f"{entry!r} in denyOut is not an IP address or network. Names can only be allowed.")
    for entry in allow:
        if not _is_numeric(entry):
            raise not_there("Allowed hosts by name (IP addresses and networks are there)")
    closed = False in (allow_internet_access, wanted.allow_internet_access) or EVERYWHERE in deny
    return Egress(internet=not closed, allow=allow, deny=tuple(entry for entry in deny if entry != EVERYWHERE))


def ingress_of(wanted: models.Network | None) -> Ingress:
    wanted = wanted or models.Network()
    return Ingress(
        public=wanted.allowPublicTraffic is not False,
        mask_host=wanted.maskRequestHost or None,
        https_ports=tuple(wanted.httpsPorts or ()),
    )


def _is_numeric(entry: str) -> bool:
    """Looks like an address or a network; whether it is one the domain says."""
    return entry.replace(".", "").replace("/", "").replace(":", "").isdigit() or ":" in entry
