"""Reading fields of a JSON message: the right type, or a sentence that names the field."""

from __future__ import annotations

import binascii
from typing import Any

from roost_agent.errors import RpcError

Message = dict[str, Any]


def text(message: Message, name: str, default: str = "") -> str:
    value = message.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise _wrong(name, "a string")
    if not _usable(value):
        raise RpcError("invalid_argument", f"field '{name}' holds characters that no name or argument can have")
    return value


def flag(message: Message, name: str, default: bool = False) -> bool:
    value = message.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise _wrong(name, "true or false")
    return value


def whole_number(message: Message, name: str, default: int = 0) -> int:
    """int32 and int64 arrive as numbers or as decimal strings."""
    value = message.get(name)
    if value is None:
        return default
    if isinstance(value, str) and len(value) <= 20 and value.removeprefix("-").isdecimal():
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(name, "a whole number")
    return value


def number(message: Message, name: str) -> float | None:
    value = message.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(name, "a number")
    return float(value)


def part(message: Message, name: str) -> Message | None:
    value = message.get(name)
    if value is not None and not isinstance(value, dict):
        raise _wrong(name, "an object")
    return value


def required_part(message: Message, name: str) -> Message:
    value = part(message, name)
    if value is None:
        raise RpcError("invalid_argument", f"field '{name}' is missing")
    return value


def texts(message: Message, name: str) -> list[str]:
    value = message.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) and _usable(item) for item in value):
        raise _wrong(name, "a list of strings")
    return value


def text_map(message: Message, name: str) -> dict[str, str]:
    value = message.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(item, str) and _usable(item) for item in value.values()):
        raise _wrong(name, "an object of strings")
    if any(not key or "=" in key or not _usable(key) for key in value):
        raise RpcError("invalid_argument", f"field '{name}' has a key that cannot name a variable")
    return value


def data(message: Message, name: str) -> bytes | None:
    """`bytes` fields are base64, standard or URL-safe, padded or not."""
    value = message.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _wrong(name, "base64")
    try:
        raw = value.encode("ascii")
        if b"-" in raw or b"_" in raw:
            raw = raw.replace(b"-", b"+").replace(b"_", b"/")
        return binascii.a2b_base64(raw + b"=" * (-len(raw) % 4), strict_mode=True)
    except (ValueError, binascii.Error) as error:
        raise _wrong(name, "base64") from error


def _usable(value: str) -> bool:
    """Whether the system can take it: no NUL, and no half of a character that has no bytes."""
    if "\0" in value:
        return False
    try:
        return value.isascii() or bool(value.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return False


def _wrong(name: str, kind: str) -> RpcError:
    return RpcError("invalid_argument", f"field '{name}' must be {kind}")
