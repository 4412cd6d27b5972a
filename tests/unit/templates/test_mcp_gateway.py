from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[3] / "templates/mcp-gateway/files"
CATALOGUE = tomllib.loads((FOLDER / "opt/mcp-gateway/catalogue.toml").read_text())


@pytest.fixture(scope="module")
def gateway() -> Iterator[ModuleType]:
    """The program itself: a file without an ending, and nothing may be written beside it."""
    file = FOLDER / "usr/local/bin/mcp-gateway"
    module = sys.modules["mcp_gateway"] = ModuleType("mcp_gateway")
    exec(compile(file.read_text(), file, "exec"), module.__dict__)
    yield module
    del sys.modules["mcp_gateway"]


def test_options_become_arguments_flags_and_variables(gateway: ModuleType) -> None:
    config = {"filesystem": {"paths": ["/a", "/b"]}, "git": {"paths": ["/c"]}, "brave": {"apiKey": "k"}, "time": None}
    files, git, brave, time = gateway.plan(config, CATALOGUE)
    assert files.command[-2:] == ["/a", "/b"]
    assert git.command[-2:] == ["--repository", "/c"]
    assert brave.env == {"BRAVE_API_KEY": "k"}
    assert (time.name, time.env, time.cwd) == ("time", {}, None)


def test_a_repository_is_cloned_installed_and_run(gateway: ModuleType) -> None:
    options = {"installCmd": "npm ci", "runCmd": "node .", "envs": {"N": 1}}
    [server] = gateway.plan({"github/acme/tools": options}, CATALOGUE)
    assert server.clone == "https://github.com/acme/tools.git"
    assert (server.install, server.command, server.env) == ("npm ci", ["/bin/sh", "-c", "node ."], {"N": "1"})


def test_any_command_will_do(gateway: ModuleType) -> None:
    [server] = gateway.plan({"mine": {"command": "python3", "args": ["s.py", 1], "env": {"A": "b"}}}, CATALOGUE)
    assert (server.command, server.env) == (["python3", "s.py", "1"], {"A": "b"})


@pytest.mark.parametrize(
    "config, words",
    [
        ({}, "at least one"),
        ([], "at least one"),
        ({"nonesuch": {}}, "not in this gateway's catalogue"),
        ({"github/acme/tools": {}}, "needs `runCmd`"),
        ({"github/../x": {"runCmd": "x"}}, "not in this gateway's catalogue"),
    ],
)
def test_what_cannot_be_had_is_said(gateway: ModuleType, config: object, words: str) -> None:
    with pytest.raises(gateway.Wrong, match=words):
        gateway.plan(config, CATALOGUE)


def test_servers_never_see_the_gateways_own_token(gateway: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_ACCESS_TOKEN", "secret")
    assert "GATEWAY_ACCESS_TOKEN" not in gateway.environment(gateway.Server("x", ["x"]))
