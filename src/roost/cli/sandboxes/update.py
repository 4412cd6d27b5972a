"""`roost update`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import say_facts, say_json
from roost.cli.sandboxes.info import facts_of
from roost.cli.sandboxes.network import Allow, Deny, Internet, Public, Rules, network
from roost.cli.values import pairs, seconds
from roost.domain.errors import Invalid


def update(
    sandbox: SandboxRef,
    name: Annotated[str | None, typer.Option("--name", "-n", help="Its new name.")] = None,
    metadata: Annotated[
        list[str] | None, typer.Option("--metadata", "-m", metavar="KEY=VALUE", help="Replaces what there is.")
    ] = None,
    idle: Annotated[str | None, typer.Option(help="Let it sleep after so long without activity; `never` ends that.")] = None,
    wake: Annotated[bool | None, typer.Option("--wake/--no-wake", help="Whether traffic wakes it.")] = None,
    allow: Allow = None,
    deny: Deny = None,
    internet: Internet = None,
    public: Public = None,
    rules: Rules = None,
    as_json: AsJson = False,
) -> None:
    """Change a sandbox's name, metadata, when it sleeps, what it may reach or who may reach it. What is not named stays as it
    is; `--allow none` and `--deny none` empty a list."""
    changes: dict[str, Any] = {}
    if name is not None:
        changes["name"] = name
    if metadata:
        changes["metadata"] = pairs(metadata, "metadata")
    if idle is not None:
        changes["idle_s"] = None if idle == "never" else seconds(idle)
    if wake is not None:
        changes["wake_on_traffic"] = wake
    if (reach := network(allow, deny, internet, public, rules)) is not None:
        changes["network"] = reach
    if not changes:
        raise Invalid("invalid", "Nothing to change. `roost update --help` lists what can be.")
    with connect() as roost:
        record = roost.get(sandbox).update(**changes)
    if as_json:
        say_json(record.raw)
    else:
        say_facts(facts_of(record))
