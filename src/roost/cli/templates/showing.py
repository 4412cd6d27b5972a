"""A build as it goes: on a terminal or in a file, one line after the other."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any

from roost.cli.rendering import note, say, say_json, span


def follow(roost: Any, id: str, *, total: int, as_json: bool, is_quiet: bool = False) -> dict[str, Any]:
    """Shows what the build says until it has ended. Returns it as it is then."""
    build: dict[str, Any] = {}
    for kind, content in roost.follow_build(id):
        if kind == "end":
            build = content
        elif as_json:
            if not is_quiet:
                say_json(content)
        else:
            _show_line(content, total)
    return build


def _show_line(line: dict[str, Any], total: int) -> None:
    text = line["text"] if line["stream"] == "build" else shown(line["text"])
    if line["stream"] != "build":
        sys.stderr.write(f"    {text}\n")
    elif line["step"] is None:
        note(text)
    else:
        first, _, rest = text.partition("\n")
        note(f"[{line['step'] + 1}/{total}] {first}{' …' if rest else ''}")


def shown(text: str) -> str:
    """A line from inside: what a progress bar showed last, and nothing in it steers the terminal."""
    last = text.rstrip("\r").rpartition("\r")[2]
    return "".join(each if each.isprintable() or each == "\t" else "\N{REPLACEMENT CHARACTER}" for each in last)


def show_end(build: dict[str, Any]) -> None:
    took = duration_s(build)
    cached = sum(step["state"] == "cached" for step in build["steps"])
    say(build["template"])
    note(
        f"Ready{f' after {span(took)}' if took else ''}; {cached} of {len(build['steps'])} steps were there already."
        f" Try: roost create --template {build['template']}"
    )


def show_failure(build: dict[str, Any]) -> None:
    failure = build["failure"]
    where = f"line {failure['line']}: {failure['text'].splitlines()[0]}\n" if failure["line"] and failure["text"] else ""
    said = "\n".join(shown(line) for line in failure["message"].split("\n"))  # its end is what a program inside said
    note(f"{where}{said}")


def duration_s(build: dict[str, Any]) -> float | None:
    if not build["started_at"] or not build["ended_at"]:
        return None
    began, ended = (datetime.fromisoformat(build[name]) for name in ("started_at", "ended_at"))
    return (ended - began).total_seconds()
