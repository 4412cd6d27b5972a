"""Secrets within records are sealed before they reach the database, so that whoever reads its file, or a copy of it, learns none.

What opens them is a key in a file beside the database. A sealed value is bound to its record and its field: put elsewhere it does
not open.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from typing import Any

import pydantic_core
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from roost.domain.errors import Fault

KEY_BYTES = 32
_NONCE_BYTES = 12
_MARK = "sealed:1:"
_Path = tuple[str, ...]

SECRETS: Mapping[str, tuple[_Path, ...]] = {
    "sandboxes": (("access_token",), ("ingress", "token"), ("egress", "rules"), ("egress", "proxy", "password"), ("env",)),
    "snapshots": (("env",),),
    "build_plans": (("definition",),),  # its arguments and commands
    "idempotency": (("digest",),),  # of a request with all its secrets: short ones could be guessed from it
}
"""Tables, and where in their `body` the secrets are."""


class Seals:
    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, table: str, id: str, body: dict[str, Any]) -> dict[str, Any]:
        """The body with its secrets sealed. A secret that looks sealed is sealed too: callers choose some of them."""

        def seal(path: _Path, value: Any) -> Any:
            if not value:
                return value
            nonce = os.urandom(_NONCE_BYTES)
            sealed = nonce + self._cipher.encrypt(nonce, pydantic_core.to_json(value), _place(table, id, path))
            return _MARK + base64.b64encode(sealed).decode()

        return _changed(table, body, seal)

    def open(self, table: str, id: str, body: dict[str, Any]) -> dict[str, Any]:
        """The body as it was. Raises Fault when this key does not open it."""

        def open_(path: _Path, value: Any) -> Any:
            if not value:
                return value
            try:
                sealed = base64.b64decode(str(value).removeprefix(_MARK), validate=True)
                plain = self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _place(table, id, path))
            except (InvalidTag, ValueError, binascii.Error) as error:
                raise Fault(
                    "secrets_unreadable",
                    f"The secrets of {id} in the database cannot be opened: they were sealed with another key, or changed since."
                    " Put the file `store-key` back that belongs to this database.",
                    table=table,
                    id=id,
                ) from error
            return pydantic_core.from_json(plain)

        return _changed(table, body, open_)


def _changed(table: str, body: dict[str, Any], change: Callable[[_Path, Any], Any]) -> dict[str, Any]:
    for path in SECRETS.get(table, ()):
        body = _replaced(body, path, path, change)
    return body


def _replaced(body: dict[str, Any], whole: _Path, rest: _Path, change: Callable[[_Path, Any], Any]) -> dict[str, Any]:
    """A copy with another value at the end of the path, if it leads anywhere."""
    name, *inner = rest
    value = body.get(name)
    if value is None:
        return body
    if inner:
        return {**body, name: _replaced(value, whole, tuple(inner), change)}
    return {**body, name: change(whole, value)}


def _place(table: str, id: str, path: _Path) -> bytes:
    return f"{table}/{id}/{'.'.join(path)}".encode()
