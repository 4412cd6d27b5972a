"""`roost setup`: installs what a machine needs. Shares its code with `roost up`, which does the same first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from roost.cli.rendering import note, say_json
from roost.settings import Settings
from roost.setup.artefacts import write_atomically
from roost.setup.boards import show_progress
from roost.setup.bundle import read_contents, take_into_cache, take_tools
from roost.setup.installation import install, prepare_cache
from roost.setup.packages import check_root

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
    bundle: Annotated[
        Path | None,
        typer.Option("--from", help="Take everything from an unpacked bundle and fetch nothing.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what is ready as JSON.")] = False,
) -> None:
    """Install everything that Roost needs on this machine, without serving. What is there is left alone."""
    console = Console(stderr=True, highlight=False)
    if bundle is not None:
        settings = _from_bundle(home, bundle, console)
    else:
        settings = Settings.load(home=home)
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


def _from_bundle(home: Path | None, bundle: Path, console: Console) -> Settings:
    """Only the templates of the bundle can be made: unless the home says which it wants, it gets those."""
    check_root()
    contents = read_contents(bundle)
    settings = Settings.load(home=home)
    chosen = settings.origin("templates") != "default"
    if not chosen:
        settings = Settings.load(home=home, templates=contents.templates)
    take_tools(bundle, contents)
    take_into_cache(bundle, contents, settings.cache, note)
    with show_progress(console) as board:
        install(settings, board, offline=True)
    if not chosen:
        _keep_templates(settings.file, contents.templates)
    return settings


def _keep_templates(file: Path, templates: tuple[str, ...]) -> None:
    line = f"# What the bundle brought. More need a network, or another bundle.\ntemplates = {json.dumps(templates)}\n"
    write_atomically(file, line + (file.read_text() if file.exists() else ""))
