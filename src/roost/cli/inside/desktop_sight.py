"""`roost desktop screenshot`, `wait`, `size`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import note, say, say_json
from roost.cli.values import numbers, seconds
from roost.domain.errors import Invalid

_ENDINGS = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp"}
_SIZE = re.compile(r"(\d{2,5})[x×](\d{2,5})")


def screenshot(
    sandbox: SandboxRef,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to: SANDBOX.png unless said otherwise; `-`: stdout."),
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="png, jpeg or webp; else what the file's ending says.")
    ] = None,
    scale: Annotated[float | None, typer.Option("--scale", help="0.5: half as wide and high.")] = None,
    width: Annotated[int | None, typer.Option("--width", help="The largest width wanted, instead of a scale.")] = None,
    quality: Annotated[int | None, typer.Option("--quality", help="1 to 100, for jpeg and webp.")] = None,
    region: Annotated[str | None, typer.Option("--region", metavar="X,Y,W,H", help="Only this part of the screen.")] = None,
    cursor: Annotated[bool, typer.Option("--cursor/--no-cursor", help="Whether the pointer is drawn.")] = True,
    as_json: AsJson = False,
) -> None:
    """Save a picture of the screen and print its file's name.

    With --json also its size and scale: pass the scale to `click` and the others, and their coordinates are the picture's.
    """
    kind = format or _ENDINGS.get(Path(output or "").suffix.lower(), "png")
    target = output or f"{sandbox}.{kind}"
    with connect() as roost:
        picture = roost.enter(sandbox).desktop.screenshot(
            format=kind,
            scale=scale,
            width=width,
            quality=quality,
            region=None if region is None else numbers(region, 4, "region", "X,Y,W,H"),
            cursor=cursor,
        )
    if target == "-":
        sys.stdout.buffer.write(picture.data)
        return
    Path(target).write_bytes(picture.data)
    if as_json:
        facts = {"width": picture.width, "height": picture.height, "scale": picture.scale, "bytes": len(picture.data)}
        say_json({"file": target, "type": picture.type, **facts})
    else:
        say(target)


def wait(
    sandbox: SandboxRef,
    for_: Annotated[str, typer.Option("--for", metavar="TIME", help="How long nothing may change: 0.5, 2s.")] = "0.5",
    timeout: Annotated[str, typer.Option("--timeout", metavar="TIME", help="When to give up: exit code 1.")] = "10s",
    as_json: AsJson = False,
) -> int:
    """Wait until the screen has stopped changing. A blinking text cursor does not count."""
    with connect() as roost:
        is_still = roost.enter(sandbox).desktop.wait_still(seconds(for_) or 0, seconds(timeout) or 0)
    if as_json:
        say_json({"still": is_still})
    elif not is_still:
        note(f"The screen still changes after {timeout}.")
    return 0 if is_still else 1


def size(
    sandbox: SandboxRef,
    size: Annotated[
        str | None, typer.Argument(metavar="[WIDTHxHEIGHT]", help="The size it shall have.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the size of the screen, or change it."""
    with connect() as roost:
        desktop = roost.enter(sandbox).desktop
        screen = desktop.screen() if size is None else desktop.resize(*_read_size(size))
    if as_json:
        say_json(screen.raw)
    else:
        say(f"{screen.width}x{screen.height}")


def _read_size(text: str) -> tuple[int, int]:
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None:
        raise Invalid("invalid", f"{text!r} is no size. Write for example 1280x800.", value=text)
    return int(match[1]), int(match[2])
