"""E2B's own clients in domain mode: sandboxes by their names, over TLS, with the certificate that `roost up --tls` makes."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.e2b.conftest import DOMAIN, Sdk, end
from tests.e2b.test_javascript import JS, NODE, PATIENCE_S, modules
from tests.real.server import Server, serving

pytestmark = pytest.mark.anyio
__all__ = ["modules"]

POINTERS = ("E2B_API_URL", "E2B_SANDBOX_URL", "E2B_API_KEY", "E2B_DOMAIN", "ROOST_URL", "ROOST_API_KEY")


@pytest.fixture(scope="module")
def secure(secure_home: Path) -> Iterator[Server]:
    with serving(secure_home, tls=True, domain=DOMAIN) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROOST_HOME", str(server.home))
        _ = server.roost  # made while it is known whom to trust
        yield server


@pytest.fixture(scope="module")
def domain_variables(secure: Server) -> dict[str, str]:
    """What `roost env` prints, in a shell that knew nothing before."""
    clean = {name: value for name, value in os.environ.items() if name not in POINTERS}
    told = subprocess.run(
        [sys.executable, "-m", "roost.cli.main", "env"],
        env={**clean, "ROOST_HOME": str(secure.home)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return dict(line.removeprefix("export ").split("=", 1) for line in told.splitlines())


@pytest.fixture(params=["api by domain", "api by address"])
def pointed(request: pytest.FixtureRequest, secure: Server, domain_variables: dict[str, str]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in POINTERS:
            patch.delenv(name, raising=False)
        for name, value in domain_variables.items():
            patch.setenv(name, value)
        if request.param == "api by domain":
            patch.delenv("E2B_API_URL")  # then it is https://api.<domain>
        yield


class Visitor:
    """Opens a URL by name without asking anybody for the name's address."""

    def __init__(self, server: Server) -> None:
        self._port = server.port
        trusted = ssl.create_default_context(cafile=server.home / "tls" / "ca.pem")
        self._http = httpx.Client(verify=trusted, timeout=60, trust_env=False)

    def get(self, url: str, **headers: str) -> httpx.Response:
        return self._send("GET", url, headers)

    def post(self, url: str, content: bytes) -> httpx.Response:
        return self._send("POST", url, {"Content-Type": "application/octet-stream"}, content=content)

    def _send(self, method: str, url: str, headers: dict[str, str], **options: Any) -> httpx.Response:
        parts = urlsplit(url)
        assert parts.scheme == "https" and parts.port == self._port and parts.hostname
        address = parts._replace(netloc=f"127.0.0.1:{self._port}").geturl()
        extensions = {"sni_hostname": parts.hostname}
        return self._http.request(method, address, headers={"Host": parts.netloc, **headers}, extensions=extensions, **options)

    def close(self) -> None:
        self._http.close()


@pytest.fixture
def visitor(secure: Server) -> Iterator[Visitor]:
    visitor = Visitor(secure)
    yield visitor
    visitor.close()


def test_roost_env_says_all_that_clients_need(domain_variables: dict[str, str], secure: Server) -> None:
    assert domain_variables["E2B_DOMAIN"] == f"{DOMAIN}:{secure.port}"
    assert domain_variables["E2B_API_URL"] == secure.url == f"https://127.0.0.1:{secure.port}"
    assert "E2B_SANDBOX_URL" not in domain_variables, "it would take precedence over the domain"
    for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
        assert Path(domain_variables[name]).is_file()


def test_the_command_line_trusts_the_server_of_its_machine(secure: Server) -> None:
    clean = {name: value for name, value in os.environ.items() if name not in (*POINTERS, "SSL_CERT_FILE")}
    command = [sys.executable, "-m", "roost.cli.main"]
    environment = {**clean, "ROOST_HOME": str(secure.home)}
    ran = subprocess.run([*command, "status"], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and secure.url in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.usefixtures("pointed")
async def test_the_python_sdk_by_name_and_tls(sdk: Sdk, secure: Server, visitor: Visitor) -> None:
    sandbox = await sdk.got(sdk.Sandbox.create(timeout=300))
    try:
        assert (await sdk.got(sandbox.commands.run("echo $((6 * 7))"))).stdout == "42\n"
        await sdk.got(sandbox.files.write("dir/a file.txt", "content"))
        assert await sdk.got(sandbox.files.read("dir/a file.txt")) == "content"
        assert await sdk.got(sandbox.is_running())

        host = sandbox.get_host(8000)
        assert host == f"8000-{sandbox.sandbox_id}.{DOMAIN}:{secure.port}"
        closed = visitor.get(f"https://{host}/")
        assert (closed.status_code, closed.json()["message"]) == (502, "The sandbox is running but port is not open")
        serve = "cd dir && exec python3 -m http.server 8000 --bind 127.0.0.1"
        await sdk.got(sandbox.commands.run(serve, background=True, timeout=0))
        await sdk.got(sandbox.commands.run("until curl -sf localhost:8000 >/dev/null; do sleep 0.05; done"))
        assert visitor.get(f"https://{host}/a%20file.txt").text == "content"

        assert visitor.get(sandbox.download_url("dir/a file.txt", use_signature_expiration=60)).text == "content"
        assert visitor.post(sandbox.upload_url("up.txt"), b"uploaded").status_code == 200
        assert await sdk.got(sandbox.files.read("up.txt")) == "uploaded"

        await sdk.got(sandbox.pause())
        again = await sdk.got(sdk.Sandbox.connect(sandbox.sandbox_id))
        assert visitor.get(f"https://{host}/a%20file.txt").text == "content", "the service slept and woke with the rest"
        assert await sdk.got(again.kill())
        assert visitor.get(f"https://{host}/").json()["message"] == "The sandbox was not found"
    finally:
        end(secure, sandbox.sandbox_id)


@pytest.mark.usefixtures("modules")
def test_the_javascript_sdk_by_name_and_tls(domain_variables: dict[str, str], tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in POINTERS}
    environment = {**kept, **domain_variables, "HOME": str(tmp_path), "NO_COLOR": "1"}
    command = [NODE, "--require", "./localhost-names.cjs", "main-path.mjs"]
    ran = subprocess.run(command, cwd=JS, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1] == "done"


def test_api_by_name(secure: Server, visitor: Visitor) -> None:
    """Whatever is no sandbox's name is the API's."""
    for name in (f"api.{DOMAIN}", DOMAIN):
        answer = visitor.get(f"https://{name}:{secure.port}/sandboxes", **{"X-API-KEY": secure.key})
        assert answer.status_code == 200 and isinstance(answer.json(), list)
