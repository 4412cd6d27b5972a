"""What a sandbox may reach and who may reach it, on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

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
NONE = "none"


def network(
    allow: Sequence[str] | None, deny: Sequence[str] | None, internet: bool | None, public: bool | None
) -> dict[str, Any] | None:
    """What was named, as the API takes it; None if nothing was. `none` is an empty list."""
    named: dict[str, Any] = {}
    if internet is not None:
        named["internet"] = internet
    if allow:
        named["allow"] = [entry for entry in allow if entry != NONE]
    if deny:
        named["deny"] = [entry for entry in deny if entry != NONE]
    if public is not None:
        named["public"] = public
    return named or None
