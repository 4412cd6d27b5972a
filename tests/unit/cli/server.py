"""A server to run the command line against: the real API on a real port, with one real agent behind every sandbox.

The agent runs as a plain process of this machine. A small router, in the edge's place, passes on whatever carries the
edge's headers; it can be told to cut connections.
"""

from __future__ import annotations

import getpass
import io
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import uvicorn

from roost.cli.main import run
from roost.domain.ids import SandboxId

from ..api.house import House, open_house

# What lies unread in the router's socket when it cuts a connection is lost to everybody: little, so that this is about client and
# agent, however long the router is kept waiting.
_LITTLE = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)]


@dataclass
class Router:
    """Sandbox traffic to the agent, everything else to the API."""

    house: House
    agent_url: str
    cut_after_bytes: list[int] = field(default_factory=list)  # for each next stream of a process: break it off there
    requests: list[str] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope.get("headers", ())}
        if scope["type"] != "http" or "e2b-sandbox-id" not in headers:
            await self.house.app(scope, receive, send)
            return
        record = await self.house.services.sandboxes.know(SandboxId(headers["e2b-sandbox-id"]))
        assert headers["x-access-token"] == record.access_token
        assert headers["e2b-sandbox-port"] == "49983"
        self.requests.append(scope["path"])
        limit = self.cut_after_bytes.pop(0) if self.cut_after_bytes and "/process.Process/" in scope["path"] else None
        await self._relay(scope, headers, receive, send, limit)

    async def _relay(self, scope: Any, headers: dict[str, str], receive: Any, send: Any, limit: int | None) -> None:
        async def body() -> AsyncIterator[bytes]:
            while True:
                message = await receive()
                yield message.get("body", b"")
                if not message.get("more_body"):
                    return

        kept = {k: v for k, v in headers.items() if k not in ("host", "transfer-encoding", "x-access-token")}
        url = f"{self.agent_url}{scope['path']}?{scope['query_string'].decode()}"
        sent = 0
        async with (
            httpx.AsyncClient(
                timeout=None, trust_env=False, transport=httpx.AsyncHTTPTransport(socket_options=_LITTLE)
            ) as client,
            client.stream(scope["method"], url, headers=kept, content=body()) as answer,
        ):
            raw = [(k, v) for k, v in answer.headers.raw if k.lower() not in (b"transfer-encoding", b"connection")]
            await send({"type": "http.response.start", "status": answer.status_code, "headers": raw})
            async for chunk in answer.aiter_raw():
                if limit is not None and sent + len(chunk) > limit:
                    await send({"type": "http.response.body", "body": chunk[: limit - sent], "more_body": True})
                    raise ConnectionAbortedError("cut by the test")
                sent += len(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


@dataclass(frozen=True)
class Server:
    url: str
    key: str
    house: House
    router: Router
    workdir: Path
    _loop: Any

    @property
    def env(self) -> dict[str, str]:
        quiet = {name: value for name, value in os.environ.items() if not name.startswith(("ROOST_", "E2B_"))}
        return {**quiet, "ROOST_URL": self.url, "ROOST_API_KEY": self.key, "ROOST_HOME": str(self.workdir / "nohome")}

    def cli(self, *words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Runs `roost` as anybody would: another process."""
        options = {"input": b"", "env": self.env, "cwd": self.workdir, "timeout": 60, **options}
        return subprocess.run([sys.executable, "-m", "roost.cli.main", *words], capture_output=True, check=False, **options)

    def verb(self, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
        """Runs a verb within this process: faster, for those that touch neither terminal nor descriptors."""
        out, error = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        before = dict(os.environ)
        os.environ.clear()
        os.environ.update(env or self.env)
        try:
            with redirect_stdout(out), redirect_stderr(error):
                code = run(list(words))
        finally:
            os.environ.clear()
            os.environ.update(before)
        said = [stream.buffer.getvalue() for stream in (out, error)]  # type: ignore[attr-defined]
        return subprocess.CompletedProcess(words, code, *said)

    def call(self, function: Any, *arguments: Any) -> Any:
        """Runs something of the house in its own loop."""
        return self._loop(function, *arguments)


@contextmanager
def running_agent(*options: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as system_root:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "roost_agent", "--host", "127.0.0.1", "--port", "0", "--trust-local"),
                *("--system-root", system_root, *options),
            ],
            stdout=subprocess.PIPE,
            cwd=system_root,
        )
        assert process.stdout is not None
        try:
            word, port = process.stdout.readline().split()
            assert word == b"listening"
            url = f"http://127.0.0.1:{int(port)}"
            init = {"defaultUser": getpass.getuser(), "envVars": {}, "accessToken": ""}
            httpx.post(f"{url}/init", json=init, timeout=60, trust_env=False).raise_for_status()
            yield url
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


@contextmanager
def running_server(workdir: Path) -> Iterator[Server]:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    ready: dict[str, Any] = {}
    is_ready = threading.Event()
    with running_agent() as agent_url:

        async def serve() -> None:
            async with open_house(start=time.time(), port=port) as house, anyio.from_thread.BlockingPortal() as portal:
                router = Router(house, agent_url)
                config = uvicorn.Config(router, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
                server = uvicorn.Server(config)
                ready.update(house=house, router=router, server=server, portal=portal)
                is_ready.set()
                await server.serve([listener])

        thread = threading.Thread(target=anyio.run, args=(serve,), name="server")
        thread.start()
        assert is_ready.wait(120)
        try:
            yield Server(
                f"http://127.0.0.1:{port}",
                ready["house"].key,
                ready["house"],
                ready["router"],
                workdir,
                ready["portal"].call,
            )
        finally:
            ready["server"].should_exit = True
            thread.join()
            listener.close()
