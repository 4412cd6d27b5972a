"""`roost setup`: all the installing, no serving."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from roost.cli.rendering import say_json
from roost.settings import Settings
from roost.setup.boards import show_progress
from roost.setup.installation import install, prepare_cache

Home = Annotated[
    Path | None, typer.Option("--home", help="The directory that holds everything of this Roost.", show_default=False)
]


def setup(
    home: Home = None,
    cache_only: Annotated[
        bool,
        typer.Option(
            "--cache-only",
            help="Only what every home shares: engine, interpreter, pages, root filesystems. Tests need no more.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what is ready as JSON.")] = False,
) -> None:
    """Install everything that Roost needs on this machine, without serving. What is there is left alone."""
    settings = Settings.load(home=home)
    console = Console(stderr=True, highlight=False)
    with show_progress(console) as board:
        if cache_only:
            prepare_cache(settings, board)
        else:
            install(settings, board)
    ready = settings.cache if cache_only else settings.home
    if as_json:
        say_json({"ready": str(ready)})
    else:
        console.print(f"Ready: {ready}", markup=False, soft_wrap=True)
