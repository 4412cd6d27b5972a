"""What a sandbox may reach. The internet is a namespace of the test's own: nothing leaves the machine."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from e2b import ALL_TRAFFIC
from e2b.exceptions import SandboxException

from tests.e2b.conftest import Sdk, end
from tests.real.server import Server

pytestmark = pytest.mark.anyio

GATEWAY, SITE = "198.51.100.1", "198.51.100.2"
REACHED, REFUSED = "200", "000"


def ip(*words: str, check: bool = True) -> None:
    subprocess.run(("ip", *words), check=check, capture_output=True)


@pytest.fixture(scope="module")
def internet(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All that the server's sandboxes send out goes to a namespace with one web site in it."""
    name, link, table = f"e2b-{server.instance}", f"e{server.instance}", str(10000 + secrets.randbelow(10000))
    rule = ("from", str(server.network), "lookup", table, "pref", table)
    ip("netns", "add", name)
    try:
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        Path(f"/proc/sys/net/ipv4/conf/{link}/rp_filter").write_text("2")
        ip("address", "add", f"{GATEWAY}/24", "dev", link)
        ip("link", "set", link, "up")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "address", "add", f"{SITE}/24", "dev", "eth0")
        ip("route", "add", "default", "via", SITE, "dev", link, "table", table)
        ip("route", "add", "throw", "198.18.0.0/15", "table", table)  # the slots' own links stay where they are
        ip("rule", "add", *rule)
        serve = ("ip", "netns", "exec", name, sys.executable, "-u", "-m", "http.server", "80", "--bind", SITE)
        pages = tmp_path_factory.mktemp("pages")
        with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=pages) as site:
            assert site.stdout is not None and site.stdout.readline()
            yield
            site.kill()
    finally:
        for undo in (("rule", "del", *rule), ("route", "flush", "table", table), ("link", "del", link), ("netns", "del", name)):
            ip(*undo, check=False)


async def reach(sdk: Sdk, sandbox: Any) -> str:
    curl = f"curl -s -m 10 -o /dev/null -w '%{{http_code}}' http://{SITE}/ || true"
    return (await sdk.got(sandbox.commands.run(curl))).stdout


@pytest.mark.usefixtures("internet")
async def test_a_sandbox_is_made_with_what_it_may_reach(sdk: Sdk, server: Server) -> None:
    ways: list[tuple[dict[str, Any], str]] = [
        ({}, REACHED),
        ({"allow_internet_access": False}, REFUSED),
        ({"network": {"deny_out": [ALL_TRAFFIC]}}, REFUSED),
        ({"network": {"deny_out": [f"{SITE}/32"]}}, REFUSED),
        ({"network": {"deny_out": [ALL_TRAFFIC], "allow_out": [SITE]}}, REACHED),
    ]
    for options, expected in ways:
        made = await sdk.got(sdk.Sandbox.create(**options))
        try:
            assert await reach(sdk, made) == expected, options
            info = await sdk.got(made.get_info())
            assert info.allow_internet_access is (ALL_TRAFFIC not in (info.network or {}).get("deny_out", []))
        finally:
            end(server, made.sandbox_id)


@pytest.mark.usefixtures("internet")
async def test_it_changes_at_once_and_stays_over_sleep_and_fork(sdk: Sdk, sandbox: Any, server: Server) -> None:
    assert await reach(sdk, sandbox) == REACHED
    await sdk.got(sandbox.update_network({"deny_out": [ALL_TRAFFIC]}))
    assert await reach(sdk, sandbox) == REFUSED
    await sdk.got(sandbox.pause())
    await sdk.got(sandbox.connect())
    assert await reach(sdk, sandbox) == REFUSED
    [child] = await sdk.got(sandbox.fork())
    try:
        assert await reach(sdk, child) == REFUSED
    finally:
        end(server, child.sandbox_id)
    await sdk.got(sandbox.pause())
    await sdk.got(sandbox.update_network({}))
    await sdk.got(sandbox.connect())
    assert await reach(sdk, sandbox) == REACHED


async def test_ports_may_be_closed_to_all_without_the_token(sdk: Sdk, server: Server) -> None:
    network = {"allow_public_traffic": False, "mask_request_host": "inside:${PORT}"}
    made = await sdk.got(sdk.Sandbox.create(network=network))
    try:
        assert made.traffic_access_token
        echo = "import http.server as h\nclass H(h.BaseHTTPRequestHandler):\n def do_GET(self):\n"
        echo += "  self.send_response(200); self.end_headers(); self.wfile.write(self.headers['Host'].encode())\n"
        echo += "h.HTTPServer(('127.0.0.1', 8000), H).serve_forever()"
        await sdk.got(made.files.write("echo.py", echo))
        await sdk.got(made.commands.run("python3 echo.py", background=True, timeout=0))
        await sdk.got(made.commands.run("until curl -sf localhost:8000 >/dev/null; do sleep 0.05; done"))
        headers = {"E2b-Sandbox-Id": made.sandbox_id, "E2b-Sandbox-Port": "8000"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60) as http:
            for token in ({}, {"E2B-Traffic-Access-Token": "wrong"}):
                stranger = await http.get("/", headers=token)
                assert (stranger.status_code, stranger.json()["code"]) == (403, 403)
            friend = await http.get("/", headers={"E2B-Traffic-Access-Token": made.traffic_access_token})
            assert (friend.status_code, friend.text) == (200, "inside:8000")
        info = await sdk.got(made.get_info())
        assert info.network["allow_public_traffic"] is False
    finally:
        end(server, made.sandbox_id)


async def test_what_is_not_there_is_said(sdk: Sdk) -> None:
    for network in (
        {"allow_out": ["example.com"], "deny_out": [ALL_TRAFFIC]},
        {"egress_proxy": {"address": "proxy.example.com:1080"}},
    ):
        with pytest.raises(SandboxException, match="501"):
            await sdk.got(sdk.Sandbox.create(network=network))
    with pytest.raises(SandboxException, match="400"):
        await sdk.got(sdk.Sandbox.create(network={"deny_out": ["example.com"]}))
