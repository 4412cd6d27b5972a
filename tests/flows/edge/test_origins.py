"""Mission Control and sandboxes never share an origin: a sandbox's host name leads to the sandbox alone, on every path."""

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
