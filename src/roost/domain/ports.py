"""Ports as EXPOSE takes them."""

from __future__ import annotations

_PROTOCOLS = ("tcp", "udp", "sctp")


def port_specs(text: str) -> tuple[str, ...]:
    """`80`, `80/udp`, `8000-8010`, and Docker's `[address:]host:80`, of which only the last part counts. Raises ValueError."""
    spec = text.rsplit(":", 1)[-1]
    numbers, _, protocol = spec.partition("/")
    protocol = protocol.lower() or "tcp"
    if protocol not in _PROTOCOLS:
        raise ValueError(f"the protocol is one of {', '.join(_PROTOCOLS)}")
    first, dash, last = numbers.partition("-")
    low = _number(first)
    high = _number(last) if dash else low
    if high < low:
        raise ValueError("the range ends before it begins")
    return tuple(f"{number}/{protocol}" for number in range(low, high + 1))


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 5 or int(text) > 65535:
        raise ValueError("a port is a number from 0 to 65535")
    return int(text)
