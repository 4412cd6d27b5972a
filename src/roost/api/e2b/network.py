"""What a sandbox may reach, and who may reach it."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Response

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.e2b import models
from roost.api.e2b.models import Ref
from roost.api.e2b.references import living
from roost.api.e2b.rendering import EVERYWHERE
from roost.domain.egress import Egress
from roost.domain.errors import Invalid
from roost.domain.hosts import is_numeric
from roost.domain.proxy import Proxy
from roost.domain.sandbox import Ingress

router = APIRouter(prefix="/sandboxes/{ref}/network", tags=["network"], route_class=KeyedRoute)


@router.put("", status_code=204, operation_id="updateSandboxNetwork")
async def update(caller: Caller, use: Use, ref: Ref, body: models.NetworkUpdate) -> Response:
    """From now on, for a running sandbox at once; what is left out is as by default."""
    record = await living(caller, use, ref)
    await use.sandboxes.set_egress(caller, record.id, egress_of(body, None))
    return Response(status_code=204)


def egress_of(wanted: models.NetworkUpdate | None, allow_internet_access: bool | None) -> Egress:
    """Raises Invalid for what E2B refuses too, and Unsupported for secrets in headers."""
    wanted = wanted or models.NetworkUpdate()
    allow, deny = tuple(wanted.allowOut or ()), tuple(wanted.denyOut or ())
    for entry in deny:
        if not is_numeric(entry):
            raise Invalid("egress_invalid", f"{entry!r} in denyOut is not an IP address or network. Names can only be allowed.")
    closed = False in (allow_internet_access, wanted.allow_internet_access) or EVERYWHERE in deny
    return Egress(
        internet=not closed,
        allow=allow,
        deny=tuple(entry for entry in deny if entry != EVERYWHERE),
        dns=None if wanted.dnsServers is None else tuple(wanted.dnsServers),
        rules=_rules(wanted.rules or {}),
        plain=tuple(host for host, listed in (wanted.rules or {}).items() if listed and listed[0].plain),
        proxy=_proxy(wanted.egressProxy) if wanted.egressProxy is not None else None,
    )


def _rules(wanted: Mapping[str, list[models.Rule]]) -> dict[str, dict[str, str]]:
    """E2B has lists of rules; of more than one for a host it makes no use. They count for https, where E2B's would count for
    http too: a secret in the clear is nobody's wish unless it is said."""
    for host, listed in wanted.items():
        if len(listed) > 1:
            raise Invalid("egress_invalid", f"There are {len(listed)} rules for {host}; one is the most. Put them together.")
    transforms = {host: listed[0].transform if listed else None for host, listed in wanted.items()}
    return {host: dict((transform and transform.headers) or {}) for host, transform in transforms.items()}


def _proxy(wanted: models.EgressProxy) -> Proxy:
    tls = wanted.tls or models.EgressProxyTls()
    return Proxy(
        address=wanted.address,
        username=wanted.username,
        password=wanted.password,
        tls=tls.enabled,
        server_name=tls.serverName if tls.enabled else None,
        ca_cert=tls.caCert if tls.enabled else None,
    )


def ingress_of(wanted: models.Network | None) -> Ingress:
    wanted = wanted or models.Network()
    return Ingress(
        public=wanted.allowPublicTraffic is not False,
        mask_host=wanted.maskRequestHost or None,
        https_ports=tuple(wanted.httpsPorts or ()),
    )
