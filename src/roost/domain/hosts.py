"""Names of hosts in a policy: `api.example.com`, `*.example.com` (everything below it, at any depth), `*` (every name).

Names are compared as they are on the wire: lowercase ASCII, without the last dot. A name with other letters is written in
its `xn--` form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from roost.domain.errors import Invalid

T = TypeVar("T")

ANY = "*"
LONGEST_NAME = 253
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC = re.compile(r"[0-9./]+")
_WITH_PORT = re.compile(r"([^:/\s]+):[0-9]+")


def is_numeric(entry: str) -> bool:
    """Whether an entry of a list is meant as an address or network, well-formed or not."""
    return ":" in entry or _NUMERIC.fullmatch(entry) is not None


def without_port(entry: str) -> str | None:
    """The host of an entry that also names a port, which no list takes; None if it names none."""
    found = _WITH_PORT.fullmatch(entry)
    return found[1] if found else None


def host_name(text: str) -> str | None:
    """The name in the form in which names are compared, or None if it is none."""
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if not name or len(name) > LONGEST_NAME or is_numeric(name):
        return None
    return name if all(_LABEL.fullmatch(label) for label in labels) else None


def host_pattern(field: str, text: str) -> str:
    """A name or wildcard in the form in which they are compared. Raises Invalid, naming the field."""
    if text == ANY:
        return ANY
    wildcard, name = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    found = host_name(name)
    if found is None:
        raise Invalid(
            "egress_invalid",
            f"{text[:260]!r} in {field} is neither an IPv4 address or network nor the name of a host."
            " Write 203.0.113.7, 203.0.113.0/24, api.example.com or *.example.com.",
            field=field,
            entry=text[:260],
        )
    return wildcard + found


def matches(pattern: str, name: str) -> bool:
    """Both in the form in which names are compared."""
    if pattern == ANY:
        return True
    return name.endswith(pattern[1:]) and len(name) >= len(pattern) if pattern.startswith("*.") else name == pattern


def matches_any(patterns: Iterable[str], name: str) -> bool:
    return any(matches(pattern, name) for pattern in patterns)


def best_match(patterns: Mapping[str, T], name: str) -> T | None:
    """What is said of the name itself, else of the narrowest wildcard that covers it."""
    fitting = [pattern for pattern in patterns if matches(pattern, name)]
    return patterns[max(fitting, key=lambda pattern: (not pattern.startswith("*"), len(pattern)))] if fitting else None
