"""The internet of a server's sandboxes, as a namespace of the test's own: nothing leaves the machine."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.real import sites
from tests.real.server import Server

GATEWAY, SITE, DNS = "198.51.100.1", "198.51.100.2", "198.51.100.3"


def ip(*words: str, check: bool = True) -> None:
    subprocess.run(("ip", *words), check=check, capture_output=True)


@contextmanager
def internet(server: Server, folder: Path, zone: Mapping[str, str] | None = None) -> Iterator[Path]:
    """All that the server's sandboxes send out goes to a namespace with web sites and proxies at one address and DNS at
    another (`sites`). Gives the file that says what they were asked.
    """
    name, link, table = f"e2b-{server.instance}", f"e{server.instance}", str(10000 + secrets.randbelow(10000))
    rule = ("from", str(server.network), "lookup", table, "pref", table)
    (folder / "zone.json").write_text(json.dumps(dict(zone or {})))
    ip("netns", "add", name)
    try:
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        Path(f"/proc/sys/net/ipv4/conf/{link}/rp_filter").write_text("2")
        ip("address", "add", f"{GATEWAY}/24", "dev", link)
        ip("link", "set", link, "up")
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "link", "set", "eth0", "up")
        for address in (SITE, DNS):
            ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        ip("route", "add", "default", "via", SITE, "dev", link, "table", table)
        ip("route", "add", "throw", "198.18.0.0/15", "table", table)  # the slots' own links stay where they are
        ip("rule", "add", *rule)
        serve = ("ip", "netns", "exec", name, sys.executable, sites.__file__, SITE, str(folder), DNS)
        with subprocess.Popen(serve, stdout=subprocess.PIPE) as site:
            try:
                assert site.stdout is not None and site.stdout.readline() == b"ready\n"
                yield folder / "asked.log"
            finally:
                site.kill()
    finally:
        for undo in (("rule", "del", *rule), ("route", "flush", "table", table), ("link", "del", link), ("netns", "del", name)):
            ip(*undo, check=False)
