"""Options that several verbs share."""

from __future__ import annotations

from typing import Annotated

import typer

SandboxRef = Annotated[str, typer.Argument(metavar="SANDBOX", help="Its id or its name.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print the API's objects as JSON.")]
User = Annotated[str | None, typer.Option("--user", "-u", help="Who runs it: `user` unless said otherwise, or `root`.")]
