"""`roost desktop`: the verbs of a sandbox's screen, under one word."""

from __future__ import annotations

import typer

from roost.cli.inside import desktop_hands as hands
from roost.cli.inside import desktop_sight as sight
from roost.cli.inside import desktop_windows as windows

desktop = typer.Typer(
    help="See and use the screen of a sandbox: `roost desktop screenshot NAME`, `roost desktop click NAME 40 30`.",
    no_args_is_help=True,
)
_clipboard = typer.Typer(help="Read the clipboard (`get`), or put a text on it (`set`).", no_args_is_help=True)

_SEEING = "Seeing"
_HANDS = "Mouse and keyboard"
_WINDOWS = "Windows and programs"

for _verb in (sight.screenshot, sight.wait, sight.size):
    desktop.command(rich_help_panel=_SEEING)(_verb)
for _verb in (hands.move, hands.click, hands.drag, hands.scroll, hands.key):
    desktop.command(rich_help_panel=_HANDS)(_verb)
desktop.command("type", rich_help_panel=_HANDS)(hands.type_)
for _verb in (windows.windows, windows.focus, windows.close):
    desktop.command(rich_help_panel=_WINDOWS)(_verb)
desktop.command("open", rich_help_panel=_WINDOWS)(windows.open_)
_clipboard.command("get")(hands.clipboard_get)
_clipboard.command("set")(hands.clipboard_set)
desktop.add_typer(_clipboard, name="clipboard", rich_help_panel=_HANDS)
