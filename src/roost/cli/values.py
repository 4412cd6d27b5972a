"""What people write on a command line, as values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from roost.domain.errors import Invalid

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_MEGABYTES = {"M": 1, "G": 1024, "T": 1024**2}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([MGT])(?:i?B)?", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")


def seconds(text: str | None) -> float | None:
    """`90`, `90s`, `15m`, `2h`, `1d`. Raises Invalid for anything else."""
    if text is None:
        return None
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise Invalid("invalid", f"{text!r} is no length of time. Write 90, 90s, 15m, 2h or 1d.", value=text)
    return float(match[1]) * _UNITS[match[2]]


def megabytes(text: str | None) -> int | None:
    """`512M`, `4G`, `1.5T`; `0` is no limit. Raises Invalid for anything else."""
    if text is None or text.strip() == "0":
        return None if text is None else 0
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise Invalid("invalid", f"{text!r} is no amount of memory or disk. Write 512M, 4G or 1T; 0 for no limit.", value=text)
    return math.ceil(float(match[1]) * _MEGABYTES[match[2].upper()])


def numbers(text: str, count: int, what: str, form: str) -> list[int]:
    """Whole numbers between commas, `count` of them. Raises Invalid, showing the `form`."""
    parts = text.split(",")
    if len(parts) != count or not all(part.strip().removeprefix("-").isdecimal() for part in parts):
        raise Invalid("invalid", f"{text!r} is no {what}. Write {form}.", value=text)
    return [int(part) for part in parts]


def pairs(texts: Iterable[str] | None, what: str) -> dict[str, str]:
    """`KEY=VALUE` words as a mapping. Raises Invalid for one without `=`."""
    found: dict[str, str] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise Invalid("invalid", f"{text!r} is no {what}. Write KEY=VALUE.", value=text)
        found[key] = value
    return found
