"""What a sandbox may reach, on the command line."""

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
NONE = "none"


def network(allow: Sequence[str] | None, deny: Sequence[str] | None, internet: bool | None) -> dict[str, Any] | None:
    """What was named, as the API takes it; None if nothing was. `none` is an empty list."""
    named: dict[str, Any] = {}
    if internet is not None:
        named["internet"] = internet
    if allow:
        named["allow"] = [entry for entry in allow if entry != NONE]
    if deny:
        named["deny"] = [entry for entry in deny if entry != NONE]
    return named or None
