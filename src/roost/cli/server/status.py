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
        "processes": _processes(told["processes"]),
    }
    say_facts({**facts, **_machine(told["node"])} if told["node"] is not None else facts)


def _processes(roles: list[dict[str, Any]]) -> str | None:
    """Those that the server started, when it is this machine's."""
    words = []
    for role in roles:
        again = role["restarts"]
        words.append(
            f"{role['name']} {role['pid']}" + (f" (started again {again} time{'s' if again > 1 else ''})" if again else "")
        )
    return ", ".join(words) or None


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
    version = roost.run(calls.version())
    return {"url": roost.endpoint.url, **version, "processes": _roles_of(version), "node": node}


def _roles_of(version: dict[str, Any]) -> list[dict[str, Any]]:
    """The processes of the server, if it is one of this machine."""
    from dataclasses import asdict
    from pathlib import Path

    from roost.setup.running import find_running

    running = find_running(Path(version["home"])) if version.get("home") else None
    return [asdict(role) for role in running.roles] if running is not None and running.pid == version["pid"] else []
