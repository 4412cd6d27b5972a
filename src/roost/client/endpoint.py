"""Where the server is and which key opens it.

`ROOST_URL` and `ROOST_API_KEY` say so for any machine. On the server's own machine nothing needs to be said: a running
server leaves its address in `$ROOST_HOME/server.json` and its first key in `$ROOST_HOME/key`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from roost.domain.errors import Invalid, Unauthenticated, Unavailable

DEFAULT_HOME = Path("/var/lib/roost")


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    key: str = field(repr=False)
    ca: Path | None = None  # whose certificates to trust, if not the usual ones


def find_endpoint(
    url: str | None = None,
    key: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> Endpoint:
    """What is given wins, then the environment, then what a server on this machine left in its home.

    Raises Unavailable when no server is known, Unauthenticated when no key is, Invalid for something that is no
    address."""
    environ = os.environ if environ is None else environ
    home = Path(environ.get("ROOST_HOME") or DEFAULT_HOME)
    found_url = url or environ.get("ROOST_URL") or _recorded_url(home)
    if found_url is None:
        raise Unavailable(
            "no_server",
            f"No Roost server is known: nothing runs in {home}, and ROOST_URL is not set."
            " Start one with `roost up`, or set ROOST_URL and ROOST_API_KEY (`roost env` prints them on the server's"
            " machine).",
            home=str(home),
        )
    parts = urlsplit(found_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Invalid("invalid", f"{found_url!r} is no server address. It should look like http://127.0.0.1:4700.", url=found_url)
    found_key = key or environ.get("ROOST_API_KEY") or _recorded_key(home)
    if found_key is None:
        raise Unauthenticated(
            "no_key",
            f"No API key is known for {found_url}: ROOST_API_KEY is not set and {home / 'key'} cannot be read."
            " Set ROOST_API_KEY (`roost env` prints it on the server's machine).",
            url=found_url,
        )
    return Endpoint(found_url.rstrip("/"), found_key, _ca(found_url, home, environ))


def _ca(url: str, home: Path, environ: Mapping[str, str]) -> Path | None:
    """A server on this machine says in its record what to trust; for any other, SSL_CERT_FILE does, as for most programs."""
    if not url.startswith("https:"):
        return None
    record = _record(home)
    found = record.get("ca") if record.get("url") == url.rstrip("/") else environ.get("SSL_CERT_FILE")
    return Path(found) if isinstance(found, str) and found else None


def _recorded_url(home: Path) -> str | None:
    url = _record(home).get("url")
    return url if isinstance(url, str) and url else None


def _record(home: Path) -> dict[str, object]:
    try:
        record = json.loads((home / "server.json").read_text())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _recorded_key(home: Path) -> str | None:
    try:
        return (home / "key").read_text().strip() or None
    except OSError:
        return None
