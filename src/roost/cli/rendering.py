"""What results look like: columns for people, JSON for programs. Plain text, so that it reads the same without
colour.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any


def say(text: str = "") -> None:
    """A line of the result."""
    sys.stdout.write(text + "\n")


def say_at_once(text: str) -> None:
    """A line of a result that never ends: whoever reads it, reads it now."""
    say(text)
    sys.stdout.flush()


def note(text: str) -> None:
    """A line for the person, never part of the result."""
    sys.stderr.write(text + "\n")


def say_json(content: Any) -> None:
    json.dump(content, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def say_json_line(content: Any) -> None:
    """One object a line: for output that never ends."""
    sys.stdout.write(json.dumps(content, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def say_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as their widest cell; nothing is ever cut off."""
    every = [tuple(headings), *(tuple(row) for row in rows)]
    widths = [max(len(row[column]) for row in every) for column in range(len(headings))]
    for row in every:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say("  ".join(cells).rstrip())


def say_facts(facts: Mapping[str, str | None]) -> None:
    """Names and values, one a line; what is None is left out."""
    present = {name: value for name, value in facts.items() if value is not None}
    width = max((len(name) for name in present), default=0)
    for name, value in present.items():
        say(f"{name.ljust(width)}  {value}")


def age(then: datetime | None, now: datetime | None = None) -> str:
    """How long ago, in one unit."""
    if then is None:
        return "-"
    return span(((now or datetime.now(UTC)) - then).total_seconds())


def span(duration_s: float) -> str:
    """A length of time in its one fitting unit: `42s`, `7m`, `3h`, `12d`."""
    duration_s = abs(duration_s)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if duration_s >= 2 * size:
            return f"{int(duration_s // size)}{unit}"
    return f"{int(duration_s)}s"


def volume(size_bytes: float) -> str:
    """An amount of bytes: `512 B`, `1.4 MB`, `20 GB`."""
    for unit in ("B", "KB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" or size_bytes >= 100 else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} TB"


def moment(then: datetime) -> str:
    return then.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def joined(pairs: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in pairs.items() if value is not None)


def one_line(text: str) -> str:
    """Words from inside a sandbox, fit for a column: a script stays one row, and nothing in it steers the terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in " ".join(text.split()))
