"""What a sandbox may reach. The internet is a namespace of the test's own: nothing leaves the machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from e2b import ALL_TRAFFIC

from tests.e2b.conftest import Sdk, end
from tests.e2b.internet import SITE
from tests.e2b.internet import internet as stand_in
from tests.real import sites
from tests.real.server import Server

pytestmark = pytest.mark.anyio

REACHED, REFUSED = "200", "000"


@pytest.fixture(scope="module")
def internet(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with stand_in(server, tmp_path_factory.mktemp("sites")):
        yield


async def reach(sdk: Sdk, sandbox: Any) -> str:
    curl = f"curl -s -m 30 -o /dev/null -w '%{{http_code}}' http://{SITE}/ || true"
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


async def test_a_service_that_speaks_tls_itself_is_reached(sdk: Sdk, server: Server, tmp_path: Path) -> None:
    sites.make_certificates(tmp_path, "inside.example")
    made = await sdk.got(sdk.Sandbox.create(network={"https_ports": [8443]}))
    try:
        serve = "import http.server as h, ssl\ns = h.HTTPServer(('127.0.0.1', 8443), h.SimpleHTTPRequestHandler)\n"
        serve += "c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); c.load_cert_chain('site.pem')\n"
        serve += "s.socket = c.wrap_socket(s.socket, server_side=True); s.serve_forever()"
        await sdk.got(made.files.write("site.pem", (tmp_path / "site.pem").read_text()))
        await sdk.got(made.files.write("word", "said through TLS"))
        await sdk.got(made.files.write("serve.py", serve))
        await sdk.got(made.commands.run("python3 serve.py", background=True, timeout=0))
        await sdk.got(made.commands.run("until curl -skf https://localhost:8443/word; do sleep 0.05; done"))
        headers = {"E2b-Sandbox-Id": made.sandbox_id, "E2b-Sandbox-Port": "8443"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60) as http:
            answer = await http.get("/word")
        assert (answer.status_code, answer.text) == (200, "said through TLS")
        assert (await sdk.got(made.get_info())).network["https_ports"] == [8443]
    finally:
        end(server, made.sandbox_id)
