"""Records in E2B's words."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Mapping
from typing import Any

from roost.api.access import Caller, Use
from roost.api.e2b import names
from roost.api.services import About
from roost.api.v1.rendering import timestamp
from roost.domain.events import Event, EventKind
from roost.domain.lifecycle import State
from roost.domain.node import Usage
from roost.domain.proxy import Proxy
from roost.domain.rules import masked
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Snapshot, SnapshotKind
from roost.domain.team import ApiKey
from roost.domain.template import Template

ENVD_VERSION = "0.6.13"  # of E2B's guest protocol: the newest one that its clients know is spoken in full
NEVER = "9999-12-31T23:59:59.000Z"  # for a deadline that E2B insists on and a sandbox does not have
EVERYWHERE = "0.0.0.0/0"
_BUILDS = uuid.UUID("2b6f0cc9-04d1-4d35-8f4a-6f1f0d7c9b1e")

RUNNING, PAUSED = "running", "paused"
SHOWN_AS: Mapping[State, str] = {
    State.CREATING: RUNNING,
    State.RUNNING: RUNNING,
    State.SNAPSHOTTING: RUNNING,
    State.PAUSING: PAUSED,
    State.PAUSED: PAUSED,
    State.RESUMING: PAUSED,
}
"""E2B knows two states. One that is being killed is gone already."""

_KEY_PREFIX = "e2b_"
_KEY_LENGTH = 44
_LEVELS: Mapping[EventKind, str] = {EventKind.FAILED: "error", EventKind.REWOUND: "warn", EventKind.DIED: "warn"}


class Catalogue:
    """The templates that a team sees, to tell a sandbox's template by E2B's id and alias."""

    def __init__(self, templates: tuple[Template, ...]) -> None:
        # The team's own come last, and win.
        self._templates = {each.name: each for each in sorted(templates, key=lambda each: each.team is not None)}

    @classmethod
    async def of(cls, caller: Caller, use: Use) -> Catalogue:
        return cls(await use.templates.list(caller))

    def fields(self, record: Sandbox) -> dict[str, Any]:
        template = self._templates.get(record.template)
        return {"templateID": template.id, "alias": template.name} if template else {"templateID": record.template}


async def sandbox(caller: Caller, use: Use, record: Sandbox) -> dict[str, Any]:
    """The answer of whatever makes a sandbox run: the one that has its tokens."""
    given, catalogue, about = await use.tokens.give_of(caller, record), await Catalogue.of(caller, use), use.about
    return {
        **catalogue.fields(record),
        "sandboxID": record.id,
        "clientID": record.node,
        "envdVersion": ENVD_VERSION,
        "envdAccessToken": given.access,
        "trafficAccessToken": given.traffic,
        "domain": _domain(about),
    }


def listed(record: Sandbox, catalogue: Catalogue) -> dict[str, Any]:
    return {
        **catalogue.fields(record),
        "sandboxID": record.id,
        "clientID": record.node,
        "startedAt": timestamp(record.created_at),
        "endAt": _end(record),
        "cpuCount": max(1, math.ceil(record.size.cpus)),
        "memoryMB": record.size.memory_mb,
        "diskSizeMB": record.size.disk_mb,
        "state": SHOWN_AS[record.state],
        "envdVersion": ENVD_VERSION,
        "metadata": dict(record.metadata),
    }


def detail(record: Sandbox, catalogue: Catalogue, about: About, snapshot: Snapshot | None) -> dict[str, Any]:
    """`snapshot` is the one it sleeps in, if it sleeps."""
    shown = {
        **listed(record, catalogue),
        "domain": _domain(about),
        "allowInternetAccess": record.egress.internet,
        "network": network(record),
        "lifecycle": {"onTimeout": record.policy.on_timeout.value, "autoResume": record.policy.wake_on_traffic},
    }
    if snapshot is not None:
        shown["pauseMode"] = "full" if snapshot.kind is SnapshotKind.MEMORY else "filesystem"
    return shown


def network(record: Sandbox) -> dict[str, Any]:
    """Closed to all but what is allowed is, in E2B's words, `0.0.0.0/0` denied."""
    egress, ingress = record.egress, record.ingress
    shown = {
        "allowOut": list(egress.allow),
        "denyOut": [*egress.deny, *([] if egress.internet else [EVERYWHERE])],
        "maskRequestHost": ingress.mask_host,
        "httpsPorts": list(ingress.https_ports),
        "rules": {
            host: [{"transform": {"headers": headers}} | ({"plain": True} if host in egress.plain else {})]
            for host, headers in masked(egress.rules).items()
        },
        "egressProxy": _proxy(egress.proxy) if egress.proxy is not None else None,
    }
    always = {"allowPublicTraffic": ingress.public} | ({} if egress.dns is None else {"dnsServers": list(egress.dns)})
    return always | {name: value for name, value in shown.items() if value}


def _proxy(proxy: Proxy) -> dict[str, Any]:
    """Without its password, and without the certificates it is checked against."""
    shown: dict[str, Any] = {"address": proxy.address}
    if proxy.username is not None:
        shown["username"] = proxy.username
    if proxy.tls:
        shown["tls"] = {"enabled": True} | ({"serverName": proxy.server_name} if proxy.server_name else {})
    return shown


def _domain(about: About) -> str:
    return f"{about.domain}:{about.port}"


def _end(record: Sandbox) -> str:
    if SHOWN_AS[record.state] == PAUSED:
        return timestamp(record.changed_at)
    return NEVER if record.expires_at is None else timestamp(record.expires_at)


def metric(record: Sandbox, usage: Usage, before: Usage | None) -> dict[str, Any]:
    """A sample. Its share of the processors is that since the sample before."""
    cpus = record.size.cpus or 1
    share = 0.0
    if before is not None and usage.at > before.at and usage.cpu_s >= before.cpu_s:  # counters begin anew after a sleep
        share = (usage.cpu_s - before.cpu_s) / (usage.at - before.at) / cpus * 100
    return {
        "timestamp": timestamp(usage.at),
        "timestampUnix": int(usage.at),
        "cpuCount": max(1, math.ceil(record.size.cpus)),
        "cpuUsedPct": round(share, 2),
        "memUsed": usage.memory_bytes,
        "memTotal": record.size.memory_mb << 20,
        "memCache": 0,
        "diskUsed": usage.disk_bytes,
        "diskTotal": record.size.disk_mb << 20,
    }


def snapshot(record: Snapshot) -> dict[str, Any]:
    if record.name is None:
        return {"snapshotID": f"{record.id}:{names.DEFAULT_TAG}", "names": []}
    name = names.from_ours(record.name).full(record.team)
    return {"snapshotID": name, "names": [name]}


def template(record: Template) -> dict[str, Any]:
    return {
        "templateID": record.id,
        "buildID": build_id(record.snapshot),
        "cpuCount": max(1, math.ceil(record.size.cpus)),
        "memoryMB": record.size.memory_mb,
        "diskSizeMB": record.size.disk_mb,
        "public": record.team is None,
        "aliases": [record.name],
        "names": [record.name],
        "createdAt": timestamp(record.created_at),
        "updatedAt": timestamp(record.created_at),
        "createdBy": None,
        "lastSpawnedAt": None,
        "spawnCount": 0,
        "buildCount": 1,
        "envdVersion": ENVD_VERSION,
        "buildStatus": "ready",
        "description": record.description,
    }


def template_with_builds(record: Template) -> dict[str, Any]:
    build = {
        "buildID": build_id(record.snapshot),
        "status": "ready",
        "createdAt": timestamp(record.created_at),
        "updatedAt": timestamp(record.created_at),
        "finishedAt": timestamp(record.created_at),
        "cpuCount": max(1, math.ceil(record.size.cpus)),
        "memoryMB": record.size.memory_mb,
        "diskSizeMB": record.size.disk_mb,
        "envdVersion": ENVD_VERSION,
    }
    kept = ("templateID", "public", "aliases", "names", "createdAt", "updatedAt", "lastSpawnedAt", "spawnCount")
    whole = template(record)
    return {**{field: whole[field] for field in kept}, "builds": [build]}


def build_id(snapshot_id: str) -> str:
    """E2B's builds have UUIDs. Ours are snapshots: the same one always gets the same UUID."""
    return str(uuid.uuid5(_BUILDS, snapshot_id))


def key(record: ApiKey, secret: str | None = None) -> dict[str, Any]:
    shown = {
        "id": record.id,
        "name": record.name,
        "mask": {
            "prefix": _KEY_PREFIX,
            "valueLength": _KEY_LENGTH - len(_KEY_PREFIX),
            "maskedValuePrefix": "",
            "maskedValueSuffix": record.hint,
        },
        "createdAt": timestamp(record.created_at),
        "createdBy": None,
        "lastUsed": None,
    }
    return shown if secret is None else {**shown, "key": secret}


def log_entry(event: Event) -> dict[str, Any]:
    fields = {name: value if isinstance(value, str) else json.dumps(value) for name, value in event.facts.items()}
    return {
        "timestamp": timestamp(event.at),
        "level": _LEVELS.get(event.kind, "info"),
        "message": event.kind.value,
        "fields": {"logger": "roost", **fields},
    }


def log_line(entry: Mapping[str, Any]) -> dict[str, str]:
    """As E2B's CLI wants it: the line is JSON, and has a level."""
    content = {**entry["fields"], "level": entry["level"], "message": entry["message"], "timestamp": entry["timestamp"]}
    return {"timestamp": entry["timestamp"], "line": json.dumps(content)}
