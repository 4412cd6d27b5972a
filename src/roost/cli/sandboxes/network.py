"""What a sandbox may reach and who may reach it, on the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from roost.domain.errors import Invalid

Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow", metavar="HOST", help="An IPv4 address or network; with --no-internet also api.example.com or *.example.com."
    ),
]
Deny = Annotated[list[str] | None, typer.Option("--deny", metavar="ADDRESS", help="An IPv4 address or network it never reaches.")]
Internet = Annotated[
    bool | None, typer.Option("--internet/--no-internet", help="Whether it reaches what is neither allowed nor denied.")
]
Public = Annotated[
    bool | None,
    typer.Option("--public/--private", help="Whether its ports are open to anybody; if not, `roost link --port` opens one."),
]
Rules = Annotated[
    typer.FileText | None,
    typer.Option(
        "--rules",
        metavar="FILE",
        help="JSON (- for stdin): host to the headers that https requests to it are given, as {name: value}, or as"
        ' {"headers": {...}, "plain": true} for http too. {} for none.',
    ),
]
NONE = "none"


def network(
    allow: Sequence[str] | None,
    deny: Sequence[str] | None,
    internet: bool | None,
    public: bool | None,
    rules: typer.FileText | None,
) -> dict[str, Any] | None:
    """What was named, as the API takes it; None if nothing was. `none` is an empty list. Rules come in a file, since they are
    secrets: a command line is no place for them."""
    named: dict[str, Any] = {}
    if internet is not None:
        named["internet"] = internet
    if allow:
        named["allow"] = [entry for entry in allow if entry != NONE]
    if deny:
        named["deny"] = [entry for entry in deny if entry != NONE]
    if public is not None:
        named["public"] = public
    if rules is not None:
        try:
            named["rules"] = json.load(rules)
        except ValueError as error:
            raise Invalid("invalid", f"The rules in {rules.name} are no JSON: {error}.") from error
    return named or None
