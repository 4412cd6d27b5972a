"""Times as callers read them."""

from __future__ import annotations

import time


def timestamp(nanoseconds: int) -> str:
    """RFC 3339 in UTC, with as many decimals as there are."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    decimals = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{text}{decimals}Z"
