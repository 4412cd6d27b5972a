"""`roost info`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import age, joined, moment, say_facts, say_json

if TYPE_CHECKING:
    from roost.client.records import SandboxRecord


def info(sandbox: SandboxRef, as_json: AsJson = False) -> None:
    """Tell all that is known of a sandbox."""
    with connect() as roost:
        record = roost.get(sandbox).record
    if as_json:
        say_json(record.raw)
    else:
        say_facts(facts_of(record))


def facts_of(record: SandboxRecord) -> dict[str, str | None]:
    size = record.raw.get("size") or {}
    hold = record.raw.get("hold")
    return {
        "id": record.id,
        "name": record.name,
        "state": record.state,
        "reason": record.reason,
        "template": record.template,
        "parent": record.parent,
        "snapshot": record.snapshot,
        "created": f"{moment(record.created_at)} ({age(record.created_at)} ago)",
        "started": moment(record.started_at) if record.started_at else None,
        "expires": moment(record.expires_at) if record.expires_at else None,
        "incarnation": str(record.incarnation),
        "size": f"{size.get('cpus')} cpus, {size.get('memory_mb')} MB memory, {size.get('disk_mb')} MB disk",
        "sleeps": joined(record.raw.get("policy") or {}) or None,
        "reaches": _reach(record.raw.get("network") or {}),
        "held": f"until {hold['until']}: {hold['reason']}" if hold else None,
        "metadata": joined(record.metadata) or None,
        "url": record.raw.get("url"),
    }


def _reach(network: dict[str, Any]) -> str | None:
    """What is not as by default."""
    parts = [] if network.get("internet", True) else ["nothing but what is allowed" if network.get("allow") else "nothing"]
    parts += [f"{word} {', '.join(network[word])}" for word in ("allow", "deny") if network.get(word)]
    if network.get("dns") is not None:
        parts.append(f"names from {', '.join(network['dns']) or 'nobody'}")
    if network.get("rules"):
        hosts = (f"{host} (also in plain http)" if rule["plain"] else host for host, rule in network["rules"].items())
        parts.append(f"headers for {', '.join(hosts)}")
    if network.get("proxy"):
        parts.append(f"through {network['proxy']['address']}")
    return "; ".join(parts) or None
