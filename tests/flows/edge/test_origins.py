"""Mission Control and sandboxes never share an origin: a sandbox's host name leads to the sandbox alone, on every path. And no
other site shares one with either: under names that are not ours nothing is answered."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.anyio

PATHS = ("/", "/app", "/app/inbox", "/app/assets/index.js", "/v1/session", "/hello")


@pytest.mark.parametrize("path", PATHS)
async def test_a_sandboxs_name_leads_to_the_sandbox(world: Any, path: str) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    async with world.client() as client:
        for host in (world.host(sandbox, port), world.host(sandbox, port).upper()):
            assert (await client.get(path, headers={"Host": host})).text == f"GET {path} HTTP/1.1"


@pytest.mark.parametrize("path", PATHS)
async def test_the_name_of_no_sandbox_leads_nowhere(world: Any, path: str) -> None:
    async with world.client() as client:
        for name in ("3000-nosuchsandbox", "3000-nosuchsandbox-client"):
            answer = await client.get(path, headers={"Host": f"{name}.roost.localhost"})
            assert answer.status_code == 502
            assert "nosuchsandbox" in answer.text


@pytest.mark.parametrize("path", PATHS)
async def test_under_the_name_of_another_site_nothing_is_answered(world: Any, path: str) -> None:
    sandbox = world.sandbox()
    port = await sandbox.echo()
    async with world.client() as client:
        for host in ("evil.example", f"evil.example:{world.port}", "roost.localhost.evil.example"):
            for more in ({}, world.headers(sandbox, port)):
                answer = await client.post(path, headers={"Host": host, **more})
                assert (answer.status_code, answer.json()["error"]["code"]) == (421, "unknown_host")
                assert "ROOST_ALLOWED_HOSTS" in answer.text
        page = await client.get(path, headers={"Host": "<b>.example", "Accept": "text/html"})
        assert page.status_code == 421 and "<b>" not in page.text
    assert not sandbox.heard


async def test_a_health_check_need_not_name_a_host(world: Any) -> None:
    async with world.raw() as (reader, writer):
        writer.write(b"GET /hello HTTP/1.0\r\n\r\n")
        assert (await reader.read()).endswith(b'{"from":"api"}')
