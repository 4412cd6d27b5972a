"""`roost create`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.progress import waiting
from roost.cli.rendering import note, say, say_json
from roost.cli.sandboxes.network import Allow, Deny, Internet, Public, Rules, network
from roost.cli.values import megabytes, pairs, seconds
from roost.domain.errors import Invalid


def create(
    name: Annotated[str | None, typer.Option("--name", "-n", help="A name of its own, also its host name.")] = None,
    template: Annotated[str, typer.Option("--template", "-t", help="A template, or a snapshot by id or name.")] = "base",
    image: Annotated[
        str | None,
        typer.Option(help="An image of a registry (debian:12) instead. Its template is built if it is not there."),
    ] = None,
    metadata: Annotated[list[str] | None, typer.Option("--metadata", "-m", metavar="KEY=VALUE")] = None,
    env: Annotated[list[str] | None, typer.Option("--env", "-e", metavar="KEY=VALUE")] = None,
    timeout: Annotated[str | None, typer.Option(help="End it after so long (90s, 15m, 2h, 1d).")] = None,
    on_timeout: Annotated[str | None, typer.Option(help="What its end is: pause or kill.")] = None,
    idle: Annotated[str | None, typer.Option(help="Let it sleep after so long without activity.")] = None,
    cpus: Annotated[float | None, typer.Option(help="How many cores it may use. Else the template's; 0 for no limit.")] = None,
    memory: Annotated[str | None, typer.Option(help="How much memory (512M, 4G).")] = None,
    disk: Annotated[str | None, typer.Option(help="How much disk (20G).")] = None,
    allow: Allow = None,
    deny: Deny = None,
    internet: Internet = None,
    public: Public = None,
    rules: Rules = None,
    as_json: AsJson = False,
) -> None:
    """Make a sandbox and print its id. It runs until told otherwise, unless --timeout or --idle say so."""
    request = {
        "name": name,
        "metadata": pairs(metadata, "metadata") or None,
        "env": pairs(env, "variable") or None,
        "timeout_s": seconds(timeout),
        "on_timeout": on_timeout,
        "idle_s": seconds(idle),
        "size": _size(cpus, memory, disk),
        "network": network(allow, deny, internet, public, rules),
    }
    if image is not None and template != "base":
        raise Invalid("invalid", "Say what it is made from: either --template or --image.")
    with connect() as roost:
        if image is not None:
            from roost.cli.templates.build import ensure_image

            template = ensure_image(roost, image, size=request["size"], as_json=as_json)
        with waiting(f"Creating a sandbox from {image or template}"):
            record = roost.create(template, **request).record
    if as_json:
        say_json(record.raw)
        return
    say(record.id)
    note(f"Try: roost exec {record.name or record.id} -- uname -a")


def _size(cpus: float | None, memory: str | None, disk: str | None) -> dict[str, Any] | None:
    asked = {"cpus": cpus, "memory_mb": megabytes(memory), "disk_mb": megabytes(disk)}
    return {name: value for name, value in asked.items() if value is not None} or None
