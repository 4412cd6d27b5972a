"""How people refer to a template: `name` or `name:tag`."""

from __future__ import annotations

LATEST = "latest"
"""The tag of a template that is named without one."""


def split_ref(ref: str) -> tuple[str, str]:
    """Name and tag."""
    name, _, tag = ref.partition(":")
    return name, tag or LATEST
