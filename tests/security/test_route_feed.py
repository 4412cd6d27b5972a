"""The edge decides by routes in its own memory: what was revoked is out of it when the revoker is answered."""

from __future__ import annotations

import httpx
import pytest

from roost.client import Sandbox
from roost.client.agent import AGENT_PORT
from roost.settings import RUN
from tests.real.server import Server, sandbox_of
from tests.security.test_processes import connect_as

PATIENCE_S = 60.0


def get(server: Server, sandbox: Sandbox, path: str, port: int = AGENT_PORT, **headers: str) -> int:
    fields = {"Host": server.host(sandbox, port), **{name.replace("_", "-"): value for name, value in headers.items()}}
    return httpx.get(server.url + path, headers=fields, timeout=PATIENCE_S, trust_env=False).status_code


@pytest.mark.parametrize("name", ["control.sock", "api.sock"])
def test_nobody_but_root_reaches_control(server: Server, name: str) -> None:
    """By one all routes are told, with the tokens of all sandboxes; at the other the edge is believed."""
    assert connect_as("nobody", str(RUN / server.instance / name)) == "refused"


def test_what_was_revoked_stays_so_though_control_dies(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        old = str(sandbox.tokens().access_token)
        token = sandbox.link(control=True).token
        assert get(server, sandbox, "/envs", X_Access_Token=old) == 200
        assert get(server, sandbox, f"/desktop/screenshot?link={token}") != 401
        before = server.role("control")
        sandbox.rotate_tokens()
        for link in sandbox.links():
            sandbox.unlink(link.id)
        server.kill_role("control")
        try:
            assert get(server, sandbox, "/envs", X_Access_Token=old) == 401
            assert get(server, sandbox, f"/desktop/screenshot?link={token}") == 401
            assert server.role("control") == before, "all of it by what the edge knew"
        finally:
            server.wait_for_next(before)


def test_a_killed_sandbox_is_reached_by_nobody(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        token = str(sandbox.tokens().access_token)
        before = server.role("control")
        sandbox.kill()
        server.kill_role("control")
        try:
            assert get(server, sandbox, "/envs", X_Access_Token=token) == 502
        finally:
            server.wait_for_next(before)
