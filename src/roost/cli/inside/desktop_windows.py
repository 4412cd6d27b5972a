"""`roost desktop windows`, `focus`, `close`, `open`."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import note, one_line, say, say_json, say_table

WindowId = Annotated[
    str, typer.Argument(metavar="WINDOW", help="Its id, as `roost desktop windows` lists it.", show_default=False)
]
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:.*", re.IGNORECASE)


def windows(sandbox: SandboxRef, as_json: AsJson = False) -> None:
    """List the windows, the topmost first."""
    with connect() as roost:
        found = roost.enter(sandbox).desktop.windows()
    if as_json:
        say_json([window.raw for window in found])
        return
    if not found:
        note("No windows. `roost desktop open SANDBOX PROGRAM` opens one.")
        return
    say_table(
        ("ID", "PLACE", "SIZE", "STATE", "PROGRAM", "TITLE"),
        (
            (
                window.id,
                f"{window.x},{window.y}",
                f"{window.width}x{window.height}",
                "focused" if window.focused else "minimized" if window.minimized else "-",
                window.class_name or "-",
                one_line(window.title),
            )
            for window in found
        ),
    )


def focus(sandbox: SandboxRef, window: WindowId, as_json: AsJson = False) -> None:
    """Bring a window to the front and give it the keyboard."""
    with connect() as roost:
        found = roost.enter(sandbox).desktop.focus(window)
    if as_json:
        say_json(found.raw)
    else:
        say(found.id)


def close(sandbox: SandboxRef, window: WindowId, as_json: AsJson = False) -> int:
    """Close a window. Exit code 1 when it is still there: it may ask whether to save."""
    with connect() as roost:
        is_closed = roost.enter(sandbox).desktop.close(window)
    if as_json:
        say_json({"closed": is_closed})
    elif not is_closed:
        note(f"Window {window} is still there. It may ask something: `roost desktop screenshot {sandbox}` shows it.")
    return 0 if is_closed else 1


def open_(
    sandbox: SandboxRef,
    what: Annotated[
        list[str],
        typer.Argument(metavar="ADDRESS | PROGRAM [ARGUMENTS...]", help="https://…, or a program.", show_default=False),
    ],
    as_json: AsJson = False,
) -> None:
    """Open an address in the browser, or a program on the screen, and print its pid.

    Options of the program's own go after `--`: `roost desktop open NAME -- mousepad --preferences`.
    """
    with connect() as roost:
        desktop = roost.enter(sandbox).desktop
        is_address = len(what) == 1 and _ADDRESS.fullmatch(what[0]) is not None
        pid = desktop.open(what[0]) if is_address else desktop.launch(*what)
    if as_json:
        say_json({"pid": pid})
    else:
        say(str(pid))
