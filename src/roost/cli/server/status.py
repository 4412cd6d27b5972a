"""`roost status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roost.cli.options import AsJson
from roost.cli.rendering import say_facts, say_json, volume
from roost.domain.errors import Forbidden

if TYPE_CHECKING:
    from roost.client.blocking.roost import Roost


def status(as_json: AsJson = False) -> None:
    """Tell how the server is: address, pid, home, versions, what it holds."""
    from roost.cli.connection import connect

    with connect() as roost:
        told = look(roost)
    if as_json:
        say_json(told)
        return
    facts = {
        "address": told["url"],
        "pid": str(told["pid"]) if told["pid"] is not None else None,
        "home": told["home"],
        "version": told["version"],
        "engine": told.get("engine"),
        "agent": told.get("agent"),
    }
    say_facts({**facts, **_machine(told["node"])} if told["node"] is not None else facts)


def _machine(node: dict[str, Any]) -> dict[str, str]:
    return {
        "sandboxes": f"{node['sandboxes']['running']} running, {node['sandboxes']['dozing']} dozing",
        "snapshots": str(node["snapshots"]),
        "ready": ", ".join(f"{count} of {name}" for name, count in node["warm"].items()) or "none kept",
        "memory": f"{volume(node['memory_free_bytes'])} free",
        "disk": f"{volume(node['disk_free_bytes'])} free of {volume(node['disk_total_bytes'])}",
    }


def look(roost: Roost) -> dict[str, Any]:
    """Of the machine nothing, for a key that does not operate it."""
    from roost.client import calls

    try:
        node = roost.run(calls.node())
    except Forbidden:
        node = None
    return {"url": roost.endpoint.url, **roost.run(calls.version()), "node": node}
