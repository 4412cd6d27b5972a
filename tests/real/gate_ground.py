"""What tests of gates stand on: a guest in a slot, and sites in a namespace that is its internet."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from anyio import to_thread

from roost.domain.egress import Egress
from roost.node.network.slots import Slot, Slots
from tests.real import sites
from tests.real.slot_ground import INTERNET, METADATA, PATIENCE_S, OpenSlots, command, guest, guest_of, within

T = TypeVar("T")
OTHER = "203.0.113.3"
API, WWW, EVIL, INSIDE = "api.example.com", "www.other.example", "evil.example", "inside.example.com"
ZONE = {API: INTERNET, WWW: INTERNET, EVIL: INTERNET, INSIDE: METADATA, "proxy.example": INTERNET}
CLOSED: dict[str, Any] = {"internet": False}


@dataclass(slots=True)
class World:
    """A guest in a slot, and sites in the internet."""

    slots: Slots
    slot: Slot
    folder: Path
    trusted: Path

    async def set(self, **policy: Any) -> None:
        await self.slots.set_egress(self.slot, Egress(**policy))

    async def inside(self, work: Callable[[], T]) -> T:
        """Runs with the network of the guest."""
        return await to_thread.run_sync(lambda: within(guest_of(self.slot), work))

    async def get(self, name: str, *, to: str = INTERNET, port: int = 80, path: str = "/") -> dict[str, Any]:
        return await self.inside(lambda: fetch(to, port, [(name, path)])[0])

    async def get_tls(self, name: str, *, trust: str, to: str = INTERNET) -> dict[str, Any]:
        return await self.inside(lambda: fetch(to, 443, [(name, "/")], trust=trust)[0])

    def asked(self) -> list[str]:
        return (self.folder / "asked.log").read_text().splitlines()


def fetch(to: str, port: int, wanted: list[tuple[str, str]], trust: str | None = None) -> list[dict[str, Any]]:
    """Requests on one connection, as (host, path). With `trust` by TLS, checking the certificate against it."""
    connection = http.client.HTTPConnection(to, port, timeout=PATIENCE_S)
    connection.connect()
    if trust is not None:
        context = ssl.create_default_context(cadata=trust)
        connection.sock = context.wrap_socket(connection.sock, server_hostname=wanted[0][0])
    try:
        told: list[dict[str, Any]] = []
        for name, path in wanted:
            connection.request("GET", path, headers={"Host": name, "X-Mine": "guest", "Authorization": "guest"})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            told.append(json.loads(answer.read()))
        return told
    finally:
        connection.close()


def headers(told: dict[str, Any], name: str) -> list[str]:
    return [value for key, value in told["headers"] if key.lower() == name.lower()]


@contextmanager
def site(netns: str, folder: Path, address: str = INTERNET) -> Iterator[None]:
    words = ("ip", "netns", "exec", netns, sys.executable, sites.__file__, address, str(folder))
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.kill()


@pytest.fixture
async def slots(open_slots: OpenSlots, instance: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slots:
    resolv_conf, folder = tmp_path / "resolv.conf", tmp_path / "sites"
    resolv_conf.write_text(f"nameserver {INTERNET}\n")
    folder.mkdir()
    trusted = sites.make_certificates(folder, API, "proxy.example", "*.other.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    return await open_slots(instance, resolv_conf=resolv_conf, authority=tmp_path / "egress")


@pytest.fixture
async def world(slots: Slots, internet: str, tmp_path: Path) -> AsyncIterator[World]:
    folder = tmp_path / "sites"
    (folder / "zone.json").write_text(json.dumps(ZONE))
    (folder / "asked.log").touch()
    command("ip", "-n", internet, "route", "add", "default", "via", "203.0.113.1")
    with site(internet, folder):
        yield World(slots, await guest(slots), folder, folder / "authority.pem")
