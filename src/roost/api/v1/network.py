"""What a sandbox may reach and who may reach it, as `/v1` takes and shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, Field

from roost.api.v1.schema import GIVEN, TAKEN, Pairs, Text, Whole
from roost.control.sandboxes.requests import EgressChange, IngressChange
from roost.domain.egress import OPEN, Egress
from roost.domain.proxy import Proxy
from roost.domain.rules import MASK, masked
from roost.domain.sandbox import PUBLIC, Ingress, Sandbox

Allow = Annotated[
    list[Text],
    Field(description="IPv4 addresses, networks and, if `internet` is false, host names and `*.` wildcards. Wins over `deny`."),
]
Deny = Annotated[list[Text], Field(description="IPv4 addresses and networks. Wins over `internet`.")]
Dns = Annotated[
    list[Text] | None,
    Field(description="IPv4 addresses of the DNS servers that are asked. Null: this machine's. Empty: no name resolves."),
]
_EGRESS = ("internet", "allow", "deny", "dns", "rules", "proxy")
_INGRESS = {"public": "public", "mask_host": "mask_host", "https_ports": "https_ports"}


class RuleBody(BaseModel):
    """What requests to a host are given."""

    model_config = TAKEN

    headers: Annotated[
        Pairs,
        Field(
            description="In place of the request's own of these names. Values are never shown:"
            f" `{MASK}` stands in their place, and sent back keeps what is there."
        ),
    ]
    plain: Annotated[bool, Field(description="Whether also in plain http, where everybody on the way can read them.")] = False


class RuleModel(RuleBody):
    model_config = GIVEN


Rules = Annotated[
    dict[Text, RuleBody | Pairs],
    Field(description="Host name to what every request to it is given: a rule, or just its headers."),
]


class ProxyBody(BaseModel):
    """What everything by TCP goes through; there is no way around it."""

    model_config = TAKEN

    address: Annotated[Text, Field(description="host:port (SOCKS5), or http://host:port (CONNECT).")]
    username: Text | None = None
    password: Text | None = None
    tls: Annotated[bool, Field(description="Whether the proxy is spoken to through TLS.")] = False
    server_name: Annotated[Text | None, Field(description="The name in its certificate, if not that of the address.")] = None
    ca_cert: Annotated[Text | None, Field(description="PEM, in place of what this machine trusts.")] = None


class NetworkBody(BaseModel):
    """Only what is mentioned changes; each field is replaced as a whole."""

    model_config = TAKEN

    internet: Annotated[bool, Field(description="Whether what neither list names is open.")] = True
    allow: Allow = []
    deny: Deny = []
    dns: Dns = None
    rules: Rules = {}
    proxy: ProxyBody | None = None
    public: Annotated[bool, Field(description="Whether its ports are reached without its traffic token.")] = True
    mask_host: Annotated[Text | None, Field(description="The Host that services inside see; `${PORT}` is theirs.")] = None
    https_ports: Annotated[list[Whole], Field(description="Ports of services that speak TLS themselves.")] = []


class ProxyModel(BaseModel):
    """Password and certificates are not shown."""

    model_config = GIVEN

    address: str
    username: str | None
    tls: bool
    server_name: str | None


class NetworkModel(BaseModel):
    """As it is."""

    model_config = GIVEN

    internet: bool
    allow: Allow
    deny: Deny
    dns: Dns
    rules: Annotated[dict[str, RuleModel], Field(description="By host name.")]
    proxy: ProxyModel | None
    public: bool
    mask_host: str | None
    https_ports: list[int]


def egress_change(body: NetworkBody) -> EgressChange | None:
    """None when nothing of it is mentioned."""
    mentioned = {name: _frozen(getattr(body, name)) for name in _EGRESS if name in body.model_fields_set}
    if "rules" in mentioned:
        rules = {host: rule if isinstance(rule, RuleBody) else RuleBody(headers=rule) for host, rule in body.rules.items()}
        mentioned["rules"] = {host: rule.headers for host, rule in rules.items()}
        mentioned["plain"] = tuple(host for host, rule in rules.items() if rule.plain)
    return (lambda egress: replace(egress, **mentioned)) if mentioned else None


def ingress_change(body: NetworkBody) -> IngressChange | None:
    """None when nothing of it is mentioned."""
    mentioned = {field: _frozen(getattr(body, name)) for name, field in _INGRESS.items() if name in body.model_fields_set}
    return (lambda ingress: replace(ingress, **mentioned)) if mentioned else None


def egress_of(body: NetworkBody | None) -> Egress:
    change = egress_change(body) if body is not None else None
    return change(OPEN) if change is not None else OPEN


def ingress_of(body: NetworkBody | None) -> Ingress:
    change = ingress_change(body) if body is not None else None
    return change(PUBLIC) if change is not None else PUBLIC


def network(record: Sandbox) -> NetworkModel:
    egress, ingress = record.egress, record.ingress
    proxy = egress.proxy
    return NetworkModel(
        internet=egress.internet,
        allow=list(egress.allow),
        deny=list(egress.deny),
        dns=None if egress.dns is None else list(egress.dns),
        rules={host: RuleModel(headers=headers, plain=host in egress.plain) for host, headers in masked(egress.rules).items()},
        proxy=ProxyModel(address=proxy.address, username=proxy.username, tls=proxy.tls, server_name=proxy.server_name)
        if proxy
        else None,
        public=ingress.public,
        mask_host=ingress.mask_host,
        https_ports=list(ingress.https_ports),
    )


def _frozen(value: Any) -> Any:
    match value:
        case list():
            return tuple(value)
        case ProxyBody():
            return Proxy(**value.model_dump())
        case _:
            return value
