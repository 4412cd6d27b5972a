"""A file's metadata: small texts kept in its extended attributes."""

from __future__ import annotations

import contextlib
import os

from roost_agent.errors import HttpError

_ATTRIBUTE = "user.e2b."
_HEADER = "x-metadata-"
MAX_KEY_BYTES = 246
MAX_TOTAL_BYTES = 4096


def from_headers(headers: dict[str, str]) -> dict[str, str]:
    """The `X-Metadata-*` headers of an upload. Raises HttpError 400 for what cannot be kept."""
    found: dict[str, str] = {}
    total = 0
    for name, value in headers.items():
        if not name.startswith(_HEADER):
            continue
        key = name[len(_HEADER) :]
        if not key or len(key) > MAX_KEY_BYTES:
            raise HttpError(400, f"a metadata key must have 1 to {MAX_KEY_BYTES} bytes")
        if not (value.isascii() and value.isprintable()):
            raise HttpError(400, f"metadata '{key}' holds characters that are not printable ASCII")
        found[key] = value
        total += len(key) + len(value)
    if total > MAX_TOTAL_BYTES:
        raise HttpError(400, f"metadata may have {MAX_TOTAL_BYTES} bytes in all, this has {total}")
    return found


def load(path: str | int) -> dict[str, str]:
    """What is kept with a file; {} where extended attributes cannot be had."""
    try:
        names = os.listxattr(path)
    except OSError:
        return {}
    found: dict[str, str] = {}
    for name in names:
        if name.startswith(_ATTRIBUTE):
            with contextlib.suppress(OSError):
                found[name[len(_ATTRIBUTE) :]] = os.getxattr(path, name).decode("utf-8", "replace")
    return found


def replace(descriptor: int, metadata: dict[str, str]) -> None:
    """Make it exactly this. Touches nothing when nothing changes: watchers would see it. Raises OSError."""
    present = load(descriptor)
    for key in present.keys() - metadata.keys():
        os.removexattr(descriptor, _ATTRIBUTE + key)
    for key, value in metadata.items():
        if present.get(key) != value:
            os.setxattr(descriptor, _ATTRIBUTE + key, value.encode())
