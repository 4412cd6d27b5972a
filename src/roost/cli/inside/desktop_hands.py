"""`roost desktop move`, `click`, `drag`, `scroll`, `type`, `key`, `clipboard`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import say, say_json
from roost.cli.values import numbers
from roost.domain.errors import Invalid

if TYPE_CHECKING:
    from roost.client.pictures import Point

Scale = Annotated[
    float | None, typer.Option("--scale", help="Coordinates are those of a screenshot of this scale, not the screen's.")
]
Modifiers = Annotated[
    list[str] | None, typer.Option("--with", "-w", metavar="KEY", help="Held meanwhile: ctrl, shift, alt, super. Repeatable.")
]
Button = Annotated[str, typer.Option("--button", "-b", help="left, middle, right, back or forward.")]
_DIRECTIONS = {"down": (0, 1), "up": (0, -1), "right": (1, 0), "left": (-1, 0)}


def move(
    sandbox: SandboxRef,
    x: Annotated[float, typer.Argument(show_default=False)],
    y: Annotated[float, typer.Argument(show_default=False)],
    scale: Scale = None,
    as_json: AsJson = False,
) -> None:
    """Move the pointer."""
    with connect() as roost:
        _told(roost.enter(sandbox).desktop.move(x, y, scale=scale), as_json)


def click(
    sandbox: SandboxRef,
    x: Annotated[float | None, typer.Argument(help="Where; else where the pointer is.", show_default=False)] = None,
    y: Annotated[float | None, typer.Argument(show_default=False)] = None,
    button: Button = "left",
    double: Annotated[bool, typer.Option("--double", "-d", help="Twice.")] = False,
    modifiers: Modifiers = None,
    scale: Scale = None,
    as_json: AsJson = False,
) -> None:
    """Click."""
    with connect() as roost:
        desktop = roost.enter(sandbox).desktop
        count = 2 if double else 1
        _told(desktop.click(x, y, button=button, count=count, modifiers=modifiers or [], scale=scale), as_json)


def drag(
    sandbox: SandboxRef,
    path: Annotated[
        list[str], typer.Argument(metavar="X,Y X,Y...", help="Down at the first, up at the last.", show_default=False)
    ],
    button: Button = "left",
    modifiers: Modifiers = None,
    scale: Scale = None,
    as_json: AsJson = False,
) -> None:
    """Drag along a path."""
    points = [numbers(point, 2, "point", "X,Y") for point in path]
    with connect() as roost:
        desktop = roost.enter(sandbox).desktop
        _told(desktop.drag(points, button=button, modifiers=modifiers or [], scale=scale), as_json)


def scroll(
    sandbox: SandboxRef,
    direction: Annotated[str, typer.Argument(help="down, up, left or right.", show_default=False)],
    notches: Annotated[int, typer.Argument(min=1, help="Of the wheel.")] = 3,
    at: Annotated[str | None, typer.Option("--at", metavar="X,Y", help="Where; else where the pointer is.")] = None,
    modifiers: Modifiers = None,
    scale: Scale = None,
    as_json: AsJson = False,
) -> None:
    """Turn the wheel."""
    if direction not in _DIRECTIONS:
        raise Invalid("invalid", f"{direction!r} is no direction. There are {', '.join(_DIRECTIONS)}.", value=direction)
    dx, dy = (part * notches for part in _DIRECTIONS[direction])
    place = dict(zip(("x", "y"), numbers(at, 2, "point", "X,Y"), strict=True)) if at is not None else {}
    with connect() as roost:
        _told(roost.enter(sandbox).desktop.scroll(dy, dx, modifiers=modifiers or [], scale=scale, **place), as_json)


def type_(
    sandbox: SandboxRef,
    text: Annotated[str, typer.Argument(help="Any characters; `-`: what comes in on stdin.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Type a text, whatever the keyboard's layout. A line end is Enter."""
    with connect() as roost:
        _told(roost.enter(sandbox).desktop.type(_text(text)), as_json)


def key(
    sandbox: SandboxRef,
    keys: Annotated[list[str], typer.Argument(metavar="KEYS...", help="ctrl+shift+t, Return, alt+F4 …", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Press keys: those joined by + together, one word after the other."""
    with connect() as roost:
        _told(roost.enter(sandbox).desktop.key(" ".join(keys)), as_json)


def clipboard_get(sandbox: SandboxRef, as_json: AsJson = False) -> None:
    """Print the text on the clipboard."""
    with connect() as roost:
        text = roost.enter(sandbox).desktop.clipboard()
    if as_json:
        say_json({"text": text})
    else:
        sys.stdout.write(text)


def clipboard_set(
    sandbox: SandboxRef,
    text: Annotated[str, typer.Argument(help="`-`: what comes in on stdin.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Put a text on the clipboard."""
    said = _text(text)
    with connect() as roost:
        roost.enter(sandbox).desktop.set_clipboard(said)
    if as_json:
        say_json({"text": said})


def _text(text: str) -> str:
    return sys.stdin.read() if text == "-" else text


def _told(cursor: Point, as_json: bool) -> None:
    """Where the pointer is now."""
    if as_json:
        say_json({"cursor": {"x": cursor.x, "y": cursor.y}})
    else:
        say(f"{cursor.x},{cursor.y}")
