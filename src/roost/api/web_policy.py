"""What Mission Control's pages may load and whom they may talk to: its content security policy. Pure.

Scripts and styles are named one by one, as they were built. `'self'` would let in whatever this origin serves, and it relays what
sandboxes answer. A policy can name no IP address but 127.0.0.1, so on others the page's nonce lets them in: every file that the
page names carries it, and so does what those load.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import ip_address

from roost.api.services import About

_HOST = re.compile(r"[A-Za-z0-9.-]+(?::[0-9]{1,5})?")


def content_security_policy(about: About, host: str, files: Collection[str], nonce: str) -> str:
    """Of a page that was asked for at `host`; `files` are the paths of all that it may be made of. Sandboxes are other origins:
    pages talk to them, and show their pictures, but run none of theirs."""
    names = f"*.{about.domain}:{about.port}"
    sandboxes = f"{about.scheme}://{names}"
    sockets = f"{'wss' if about.scheme == 'https' else 'ws'}://{names}"
    if _can_be_named(host):
        scripts, styles, pictures = (_named(host, files, ending) for ending in (".js", ".css", ".svg"))
        calls = f"{host}/v1/"
    else:
        scripts, styles, pictures, calls = [f"'nonce-{nonce}'"], [], ["'self'"], "'self'"
    rules = {
        "default-src": ["'none'"],
        "script-src": scripts or ["'none'"],
        "style-src": [*styles, f"'nonce-{nonce}'"],
        "img-src": [*pictures, "data:", "blob:", sandboxes],
        "connect-src": [calls, sandboxes, sockets],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
    }
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in rules.items())


def _named(host: str, files: Collection[str], ending: str) -> list[str]:
    return [f"{host}{path}" for path in sorted(files) if path.endswith(ending)]


def _can_be_named(host: str) -> bool:
    if _HOST.fullmatch(host) is None:
        return False
    name = host.partition(":")[0]
    try:
        ip_address(name)
    except ValueError:
        return True
    return name == "127.0.0.1"
