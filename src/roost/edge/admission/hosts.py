"""Under which host names this server answers. Pure.

Any site can have a name of its own lead to this machine, and its pages are then of one origin with what is answered under that
name (DNS rebinding). So only our names are answered. Addresses always are: no site can point one elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address

from roost.edge.admission.resolve import without_port


class Hosts:
    def __init__(self, domain: str, names: Iterable[str] = ()) -> None:
        """`names` are ours beside `localhost`, the domain and what is below it."""
        self.domain = without_port(domain.lower())
        self._below = f".{self.domain}"
        self._names = frozenset(("localhost", self.domain, *(name.lower().removesuffix(".") for name in names)))

    def has(self, host: bytes | None) -> bool:
        """Whether a request with this Host is for us. Browsers always name one; simple health checks do not."""
        name = without_port((host or b"").decode("latin-1").lower()).removesuffix(".")
        return not name or name in self._names or name.endswith(self._below) or _is_address(name)


@lru_cache(maxsize=256)  # few are asked for, and each again and again
def _is_address(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
