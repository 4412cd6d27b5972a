"""E2B's own clients, pinned, against a real server on one http port. They need root and a set-up cache, as tests/real do."""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from e2b import AsyncSandbox, Sandbox

from roost.client import Event
from roost.setup.tls import ensure_certificate
from tests.real.server import Server, serving

DOMAIN = "sbx.localhost"  # of the server with TLS


@pytest.fixture(scope="session", autouse=True)
def root() -> None:
    if os.geteuid():
        pytest.fail("tests/e2b need root (namespaces, mounts, gVisor). `make test-unit` is for everyone else.", pytrace=False)


@pytest.fixture(scope="package")
def server(root: None) -> Iterator[Server]:
    with serving(templates="base,desktop,mcp-gateway", volume_size_gb=16) as server:
        yield server


@pytest.fixture(scope="session")
def secure_home() -> Iterator[Path]:
    """The home of a server with TLS, whose authority is there before the server is."""
    with tempfile.TemporaryDirectory(prefix="roost-") as folder:
        home = Path(folder).resolve() / "home"
        ensure_certificate(home / "tls", DOMAIN, "127.0.0.1", datetime.now(UTC))
        shutil.copyfile(home / "tls" / "ca.pem", home.parent / "ca.pem")  # outlives the home, as those who trust it do
        yield home


@pytest.fixture(scope="package", autouse=True)
def variables(server: Server, secure_home: Path) -> Iterator[dict[str, str]]:
    """All that points E2B's clients to Roost, as `roost env` prints it. The Python SDK reads whom to trust once in a process."""
    wanted = {
        "SSL_CERT_FILE": str(secure_home.parent / "ca.pem"),
        "E2B_API_URL": server.url,
        "E2B_SANDBOX_URL": server.url,
        "E2B_API_KEY": server.key,
        "E2B_DOMAIN": f"roost.localhost:{server.port}",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in wanted.items():
            patch.setenv(name, value)
        yield wanted


@pytest.fixture
async def http(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    """The API on the wire."""
    async with httpx.AsyncClient(base_url=server.url, headers={"X-API-KEY": server.key}, timeout=60) as client:
        yield client


@dataclass(frozen=True, slots=True)
class Sdk:
    """The synchronous or the asynchronous SDK. Both have the same methods; what they return is `got`."""

    Sandbox: Any
    is_async: bool

    async def got(self, result: Any) -> Any:
        return await result if inspect.isawaitable(result) else result


@pytest.fixture(params=["sync", "async"])
def sdk(request: pytest.FixtureRequest) -> Sdk:
    return Sdk(AsyncSandbox, True) if request.param == "async" else Sdk(Sandbox, False)


@pytest.fixture
async def sandbox(sdk: Sdk, server: Server) -> AsyncIterator[Any]:
    sandbox = await sdk.got(sdk.Sandbox.create(timeout=600))
    yield sandbox
    end(server, sandbox.sandbox_id)


def end(server: Server, *ids: str) -> None:
    for id in ids:
        server.roost.get(id).kill()


def wait_for(server: Server, sandbox: str, kind: str) -> Event:
    """The first event of that kind, once it is there."""
    for event in server.roost.follow_events(after=0, sandbox=sandbox):
        if event.kind == kind:
            return event
    raise AssertionError("the event stream ended")
