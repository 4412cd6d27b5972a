"""Traffic to real sandboxes: by name and by header, to any port, both ways, in bulk; who may, and who wakes."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
from collections.abc import Iterator

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from roost.client import Sandbox
from roost.client.agent import AGENT_PORT
from tests.real.server import Server, said, sandbox_of

PATIENCE_S = 60.0
BULK_BYTES = 64 << 20

# Answers GET with its file, takes PUT and tells its digest, and echoes a WebSocket's messages. Standard library only.
_SERVICE = """
import base64, hashlib, http.server, sys

class Service(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.headers.get("Upgrade", "").lower() != "websocket":
            return super().do_GET()
        accept = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(accept.encode()).digest()).decode())
        self.end_headers()
        self.close_connection = True
        while self.echo_frame():
            pass
    def echo_frame(self):
        first, second = self.rfile.read(2)
        size = second & 127
        if size > 125:
            size = int.from_bytes(self.rfile.read(2 if size == 126 else 8), "big")
        mask = self.rfile.read(4)
        data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.rfile.read(size)))
        head = bytes([first, size]) if size < 126 else bytes([first, 126]) + size.to_bytes(2, "big")
        self.wfile.write(head + data)
        return first & 15 != 8
    def do_PUT(self):
        digest, left = hashlib.sha256(), int(self.headers["Content-Length"])
        while left:
            piece = self.rfile.read(min(left, 1 << 20))
            digest.update(piece)
            left -= len(piece)
        answer = digest.hexdigest().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Service)
print("ready", flush=True)
server.serve_forever()
"""


def serve(sandbox: Sandbox, address: str, port: int) -> None:
    sandbox.files.write("/tmp/service.py", _SERVICE)
    with sandbox.start(f"cd /tmp && exec python3 service.py {address} {port}") as process:
        first = next(iter(process)).data
        assert first == b"ready\n", (first, *process)


@pytest.fixture
def sandbox(server: Server) -> Iterator[Sandbox]:
    with sandbox_of(server) as sandbox:
        yield sandbox


def ask(server: Server, path: str = "/", *, method: str = "GET", content: bytes | None = None, **headers: str) -> httpx.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.request(method, server.url + path, headers=names, content=content, timeout=PATIENCE_S, trust_env=False)


@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1"])
def test_any_port_by_name_and_by_header(server: Server, sandbox: Sandbox, address: str) -> None:
    """Also one that listens on the sandbox's own loopback only."""
    serve(sandbox, address, 8123)
    said(sandbox, "echo hello > /tmp/greeting")
    by_name = ask(server, "/greeting", Host=server.host(sandbox, 8123))
    by_header = ask(server, "/greeting", E2b_Sandbox_Id=sandbox.id, E2b_Sandbox_Port="8123")
    assert (by_name.status_code, by_name.text) == (by_header.status_code, by_header.text) == (200, "hello\n")


def test_a_port_where_nothing_listens(server: Server, sandbox: Sandbox) -> None:
    answer = ask(server, Host=server.host(sandbox, 8999), Accept="application/json")
    assert answer.status_code == 502
    assert "8999" in answer.text and sandbox.id in answer.text


@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1"])
def test_websocket(server: Server, sandbox: Sandbox, address: str) -> None:
    serve(sandbox, address, 8124)
    host, port = server.host(sandbox, 8124), server.port
    with _websocket(host, port) as line:
        for message in ("hello", "x" * 40_000, "bye"):
            line.send(message)
            assert line.recv(PATIENCE_S) == message


def test_a_websocket_outlives_a_sleep(server: Server, sandbox: Sandbox) -> None:
    serve(sandbox, "0.0.0.0", 8125)
    host, port = server.host(sandbox, 8125), server.port
    with _websocket(host, port) as line:
        line.send("before")
        assert line.recv(PATIENCE_S) == "before"
        sandbox.pause()
        line.send("after")  # wakes it
        assert line.recv(PATIENCE_S) == "after"


def test_bulk_in_and_out_arrives_as_it_was(server: Server, sandbox: Sandbox) -> None:
    serve(sandbox, "0.0.0.0", 8126)
    content = os.urandom(1 << 20) * (BULK_BYTES >> 20)
    digest = hashlib.sha256(content).hexdigest()
    host = server.host(sandbox, 8126)
    assert ask(server, "/up", method="PUT", content=content, Host=host).text == digest
    sandbox.files.write("/tmp/bulk", content)
    assert said(sandbox, "sha256sum < /tmp/bulk").split()[0] == digest
    assert hashlib.sha256(ask(server, "/bulk", Host=host).content).hexdigest() == digest
    assert hashlib.sha256(sandbox.files.read("/tmp/bulk")).hexdigest() == digest


def test_the_agent_asks_for_the_token(server: Server, sandbox: Sandbox) -> None:
    host = server.host(sandbox, AGENT_PORT)
    sandbox.files.write("/home/user/secret", b"mine")
    path = "/files?path=/home/user/secret"
    assert ask(server, path, Host=host).status_code == 401
    assert ask(server, path, Host=host, X_Access_Token="guessed").status_code == 401
    assert ask(server, path, Host=host, X_Access_Token=sandbox.tokens().access_token).text == "mine"


@pytest.mark.parametrize("path", ["/init", "/roost/after-restore", "/roost/bridge?port=22", "/%69nit", "//roost/../roost/flush"])
def test_the_nodes_own_routes_do_not_exist_outside(server: Server, sandbox: Sandbox, path: str) -> None:
    host, token = server.host(sandbox, AGENT_PORT), sandbox.tokens().access_token
    answer = ask(server, path, method="POST", content=b'{"accessToken": ""}', Host=host, X_Access_Token=token)
    assert answer.status_code in (403, 404)
    assert ask(server, "/files?path=/etc/hostname", Host=host).status_code == 401  # its token is still asked for


def test_a_stranger_cannot_wake_through_the_agent(server: Server, sandbox: Sandbox) -> None:
    sandbox.pause()
    answer = ask(server, "/files?path=/etc/hostname", Host=server.host(sandbox, AGENT_PORT))
    assert answer.status_code == 401
    assert sandbox.refresh().state == "paused"


def test_one_that_traffic_may_not_wake_sleeps_on(server: Server) -> None:
    with sandbox_of(server, wake_on_traffic=False) as sandbox:
        sandbox.pause()
        assert ask(server, Host=server.host(sandbox, 80)).status_code in (404, 502)
        assert sandbox.refresh().state == "paused"


def test_unknown_sandboxes_do_not_exist(server: Server) -> None:
    unknown = f"80-i{base64.b32encode(os.urandom(10)).decode().lower()}.roost.localhost"
    assert ask(server, Host=unknown).status_code == 502
    assert ask(server, E2b_Sandbox_Id="inosuchthing", E2b_Sandbox_Port="80").status_code in (404, 502)


def _websocket(host: str, port: int) -> ClientConnection:
    door = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    return connect(f"ws://{host}:{port}/", sock=door, proxy=None, open_timeout=PATIENCE_S, ping_interval=None)
