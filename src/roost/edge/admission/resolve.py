"""Which sandbox and port a request is for, if any. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from roost.domain.errors import Invalid
from roost.domain.ids import SandboxId
from roost.edge.http.head import RequestHead

_SANDBOX = re.compile(r"[a-z0-9]{1,63}")
_PORT = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class Target:
    sandbox: SandboxId
    port: int
    by_name: bool = True  # by the sandbox's own host name, not by headers or a signature on another


class HostResolver:
    """Knows the domain under which sandboxes have names: `<port>-<sandbox>.<domain>`."""

    def __init__(self, domain: str) -> None:
        self._suffix = "." + without_port(domain.lower())

    def resolve(self, head: RequestHead) -> Target | None:
        """The sandbox's port a request is for, or None when it is for the API. Raises Invalid.

        A sandbox's own host name decides; on any other host (the machine's name or address, the bare domain) E2B's two
        headers do, so that one address without wildcard names serves everything.
        """
        if head.host is not None:
            target = self._by_host(head.host.decode("latin-1").lower())
            if target is not None:
                return target
        return _by_headers(head.get(b"e2b-sandbox-id"), head.get(b"e2b-sandbox-port"))

    def own_host(self, target: Target, head: RequestHead) -> str:
        """The sandbox's own host name, with the port that the request was sent to."""
        host = (head.host or b"").decode("latin-1")
        return f"{target.port}-{target.sandbox}{self._suffix}{host[len(without_port(host)) :]}"

    def _by_host(self, host: str) -> Target | None:
        name = without_port(host).removesuffix(".")
        if not name.endswith(self._suffix):
            return None
        # E2B's older names have a third part, the client's id, which says nothing: <port>-<sandbox>-<client>.
        port, _, rest = name[: -len(self._suffix)].partition("-")
        sandbox = rest.partition("-")[0]
        if not _PORT.fullmatch(port) or not _SANDBOX.fullmatch(sandbox):
            return None
        return Target(SandboxId(sandbox), _port(port))


def _by_headers(sandbox: bytes | None, port: bytes | None) -> Target | None:
    if sandbox is None and port is None:
        return None
    if sandbox is None or port is None:
        missing = "E2b-Sandbox-Id" if sandbox is None else "E2b-Sandbox-Port"
        raise Invalid("routing_header_missing", f"The header {missing} is missing: a request for a sandbox needs both.")
    name = sandbox.decode("latin-1").lower()
    if not _SANDBOX.fullmatch(name):
        raise Invalid("routing_header_invalid", "The header E2b-Sandbox-Id is not a sandbox's id: letters and digits only.")
    return Target(SandboxId(name), _port(port.decode("latin-1")), by_name=False)


def _port(text: str) -> int:
    port = int(text) if _PORT.fullmatch(text) else 0
    if not 0 < port < 65536:
        raise Invalid("port_invalid", f"{text[:20]!r} is not a port: ports are the numbers 1 to 65535.")
    return port


def without_port(host: str) -> str:
    """The name or address of a Host header."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
