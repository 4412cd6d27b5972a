"""The `mcp` option of E2B's clients: a gateway to MCP servers inside the sandbox, behind a token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from e2b import Sandbox
from e2b.exceptions import SandboxException

from tests.real.server import Server, template_is_made

PATIENCE_S = 60.0
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Caller:
    """A client of MCP's streamable HTTP, as small as one can be."""

    def __init__(self, server: Server, sandbox: Sandbox, token: str | None) -> None:
        self._url = f"{server.url}/mcp"
        self._headers = {
            "Host": f"50005-{sandbox.sandbox_id}.roost.localhost",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {token}",
        }

    def post(self, message: dict[str, Any]) -> httpx.Response:
        whole = {"jsonrpc": "2.0", **message}
        return httpx.post(self._url, headers=self._headers, json=whole, timeout=PATIENCE_S, trust_env=False)

    def greet(self) -> None:
        answer = self.post({"id": 1, "method": "initialize", "params": HELLO})
        assert answer.status_code == 200, answer.text
        if session := answer.headers.get("mcp-session-id"):
            self._headers["Mcp-Session-Id"] = session
        assert self.post({"method": "notifications/initialized"}).status_code == 202

    def call(self, method: str, **parameters: Any) -> Any:
        answer = self.post({"id": 2, "method": method, "params": parameters})
        assert answer.status_code == 200, answer.text
        line = next(line for line in answer.text.splitlines() if line.startswith("data: "))
        return json.loads(line.removeprefix("data: "))["result"]


@pytest.fixture(scope="module")
def gateway(server: Server, variables: dict[str, str]) -> Iterator[Sandbox]:
    template_is_made(server, "mcp-gateway")
    sandbox = Sandbox.create(
        mcp={"filesystem": {"paths": ["/home/user"]}, "time": {}},
        timeout=600,
        lifecycle={"on_timeout": "pause", "auto_resume": True},
    )
    yield sandbox
    sandbox.kill()


def test_tools_of_several_servers_are_called_through_one_door(server: Server, gateway: Sandbox) -> None:
    caller = Caller(server, gateway, gateway.get_mcp_token())
    caller.greet()
    names = {tool["name"] for tool in caller.call("tools/list")["tools"]}
    assert {"write_file", "get_current_time"} <= names
    caller.call("tools/call", name="write_file", arguments={"path": "/home/user/note", "content": "by a tool"})
    assert gateway.files.read("note") == "by a tool"


def test_the_token_is_needed_and_can_be_found_again(server: Server, gateway: Sandbox) -> None:
    assert Caller(server, gateway, "another").post({"id": 1, "method": "initialize", "params": HELLO}).status_code == 401
    assert Sandbox.connect(gateway.sandbox_id).get_mcp_token() == gateway.get_mcp_token()
    assert gateway.get_mcp_url() == f"https://{gateway.get_host(50005)}/mcp"


def test_a_session_goes_on_after_a_sleep(server: Server, gateway: Sandbox) -> None:
    caller = Caller(server, gateway, gateway.get_mcp_token())
    caller.greet()
    assert gateway.pause() is True
    answer = caller.call("tools/call", name="get_current_time", arguments={"timezone": "UTC"})
    assert "UTC" in answer["content"][0]["text"]


def test_a_server_that_nobody_knows_is_an_error_that_names_those_known(server: Server, gateway: Sandbox) -> None:
    with pytest.raises(SandboxException, match=r"'nonesuch' is not in this gateway's catalogue .*filesystem"):
        Sandbox.create(mcp={"nonesuch": {}})  # pyright: ignore[reportArgumentType]


def test_servers_that_came_with_the_template_need_no_network(gateway: Sandbox) -> None:
    alone = Sandbox.create(mcp={"memory": {}, "time": {}}, timeout=600, allow_internet_access=False)
    try:
        assert alone.get_mcp_token()
    finally:
        alone.kill()
