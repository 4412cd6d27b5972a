"""A port of a real sandbox that is not public, opened as a browser does: by a link, then by its cookie, through a sleep too."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
import websockets.sync.client

from roost.client import LinkRecord, Sandbox
from tests.real.server import Server, sandbox_of
from tests.real.test_edge import serve

PATIENCE_S = 60.0
PORT = 8000

# Answers every GET with the head that it got.
_ECHO = """
import http.server, json
class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        told = json.dumps({"path": self.path, "headers": self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.send_header("Set-Cookie", "theirs=1")
        self.end_headers()
        self.wfile.write(told)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Echo)
print("ready", flush=True)
server.serve_forever()
"""


def echo(sandbox: Sandbox) -> None:
    sandbox.files.write("/tmp/echo.py", _ECHO)
    with sandbox.start("exec python3 /tmp/echo.py") as process:
        first = next(iter(process)).data
        assert first == b"ready\n", (first, *process)


@pytest.fixture
def sandbox(server: Server) -> Iterator[Sandbox]:
    with sandbox_of(server, network={"public": False}) as sandbox:
        yield sandbox


def get(server: Server, sandbox: Sandbox, path: str, cookie: str = "", port: int = PORT) -> httpx.Response:
    host = f"{server.host(sandbox, port)}:{server.port}"
    headers = {"Host": host, "Sec-Fetch-Site": "none"} | ({"Cookie": cookie} if cookie else {})
    return httpx.get(server.url + path, headers=headers, timeout=PATIENCE_S, trust_env=False)


def opened(server: Server, sandbox: Sandbox, link: LinkRecord) -> str:
    """What a browser has in its jar after it opened the link."""
    assert link.url is not None
    url = urlsplit(link.url)
    assert url.netloc == f"{server.host(sandbox, PORT)}:{server.port}"
    answer = get(server, sandbox, f"{url.path}?{url.query}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    return answer.headers["set-cookie"].partition(";")[0]


def test_the_program_sees_the_visitor_and_nothing_of_the_link(server: Server, sandbox: Sandbox) -> None:
    echo(sandbox)
    assert get(server, sandbox, "/").status_code == 403
    link = sandbox.link(port=PORT, seconds=600, label="ben")
    assert link.token is not None and (link.port, link.mode, link.websocket) == (PORT, None, None)
    jar = opened(server, sandbox, link)
    answer = get(server, sandbox, "/page?x=1", f"theirs=1; {jar}")
    told = json.loads(answer.content)
    assert answer.status_code == 200 and answer.headers["set-cookie"] == "theirs=1"
    assert told["path"] == "/page?x=1"
    assert [value for name, value in told["headers"] if name.lower() == "cookie"] == ["theirs=1"]
    assert link.token not in answer.text
    sandbox.unlink(link.id)
    ended = get(server, sandbox, "/page", jar)
    assert (ended.status_code, ended.json()["error"]["code"]) == (401, "link_ended")


def test_a_link_wakes_its_sandbox_and_outlives_the_server(server: Server, sandbox: Sandbox) -> None:
    echo(sandbox)
    link = sandbox.link(port=PORT)
    sandbox.pause()
    assert get(server, sandbox, "/").status_code == 403
    jar = opened(server, sandbox, link)
    assert sandbox.refresh().state == "paused", "strangers wake nobody, and the exchange needs nobody awake"
    assert get(server, sandbox, "/woken", jar).status_code == 200
    assert sandbox.refresh().state == "running"
    server.restart()
    again = server.roost.get(sandbox.id)
    assert get(server, again, "/after", jar).status_code == 200
    (kept,) = again.links()
    again.unlink(kept.id)
    assert get(server, again, "/after", jar).status_code == 401


def test_a_websocket_by_the_cookie_outlives_a_sleep_and_ends_with_its_link(server: Server, sandbox: Sandbox) -> None:
    serve(sandbox, "0.0.0.0", PORT)
    link = sandbox.link(port=PORT)
    headers = {"Cookie": opened(server, sandbox, link), "Origin": f"http://{server.host(sandbox, PORT)}:{server.port}"}
    url = f"ws://{server.host(sandbox, PORT)}:{server.port}/"
    door = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)
    patience = {"open_timeout": PATIENCE_S, "ping_interval": None}
    with websockets.sync.client.connect(url, sock=door, proxy=None, additional_headers=headers, **patience) as line:
        line.send("before")
        assert line.recv(PATIENCE_S) == "before"
        sandbox.pause()
        line.send("after")
        assert line.recv(PATIENCE_S) == "after"
        sandbox.unlink(link.id)
        with pytest.raises(websockets.exceptions.ConnectionClosedError):
            line.recv(PATIENCE_S)
