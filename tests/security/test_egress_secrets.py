"""The headers that a rule sets are the host's to know, and not the sandbox's: every way in which a guest has asked for them.

The internet is the test's own: a site that answers with whatever it was asked."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from roost.client import Sandbox
from tests.e2b.internet import DNS, SITE, internet
from tests.real import sites
from tests.real.server import Server, said, sandbox_of, serving

API, PLAIN, WWW = "api.example.com", "plain.example.com", "www.example.com"
PASSWORD = "pass-with-13-letters"
CREDENTIAL = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
SECRET, TEAM = f"Basic {CREDENTIAL}", "ours"
STARS = "*" * len(SECRET)

# Says what it is told to, through TLS if it is to, and prints all that comes back until the other end is done.
_TALK = """
import base64, socket, ssl, sys
host, port, words = sys.argv[1], int(sys.argv[2]), base64.b64decode(sys.argv[3])
sock = socket.create_connection((host, port), timeout=30)
if port == 443:
    sock = ssl.create_default_context().wrap_socket(sock, server_hostname=host)
sock.sendall(words)
heard = b""
try:
    while more := sock.recv(65536):
        heard += more
        if len(sys.argv) > 4 and sys.argv[4].encode() in heard:
            break
except OSError as error:
    heard += type(error).__name__.encode()
sys.stdout.buffer.write(heard)
"""


@dataclass(frozen=True, slots=True)
class World:
    sandbox: Sandbox
    asked: Path

    def talk(self, words: str, *, host: str = API, port: int = 443, until: str = "") -> str:
        """What the guest hears when it says this."""
        said_ = base64.b64encode(words.encode("latin-1")).decode()
        return said(self.sandbox, f"python3 /tmp/talk.py {host} {port} {said_} {until}".rstrip())

    def get(self, path: str, *lines: str, host: str = API, port: int = 443, method: str = "GET") -> str:
        head = [f"{method} {path} HTTP/1.1", f"Host: {host}", *lines]
        if not any(line.lower().startswith("connection:") for line in lines):
            head.append("Connection: close")
        return self.talk("\r\n".join((*head, "", "")), host=host, port=port)

    def reached(self) -> list[str]:
        """What the site was asked."""
        return [line for line in self.asked.read_text().splitlines() if line.startswith("web")]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("sites")
    trusted = sites.make_certificates(folder, API, PLAIN, WWW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(trusted))  # for the server, which checks whom it gives secrets to
        with serving() as server, internet(server, folder, dict.fromkeys((API, PLAIN, WWW), SITE)) as asked:
            yield from _world(server, asked)


def _world(server: Server, asked: Path) -> Iterator[World]:
    headers = {"Authorization": SECRET, "X-Team": TEAM}
    network = {"dns": [DNS], "rules": {API: headers, PLAIN: {"headers": headers, "plain": True}}}
    with sandbox_of(server, network=network) as sandbox:
        sandbox.files.write("/tmp/talk.py", _TALK)
        yield World(sandbox, asked)


def assert_hidden(heard: str) -> None:
    for part in (SECRET, CREDENTIAL, PASSWORD, SECRET[:-1]):
        assert part not in heard


def body(heard: str) -> str:
    return heard.partition("\r\n\r\n")[2]


def test_the_host_gets_them_and_the_guest_sees_stars(world: World) -> None:
    told = dict(json.loads(body(world.get("/", "Authorization: guest")))["headers"])
    assert (told["Authorization"], told["X-Team"]) == (STARS, TEAM), "given in place of the guest's own, and not told"


def test_they_do_not_go_out_in_plain_http_unless_the_rule_says_so(world: World) -> None:
    for host, expected in ((API, "guest"), (PLAIN, STARS), (WWW, "guest")):
        told = dict(json.loads(body(world.get("/", "Authorization: guest", host=host, port=80)))["headers"])
        assert told["Authorization"] == expected, host


@pytest.mark.parametrize(
    "path", ["/body", "/credential", "/headers", "/chunks", "/trailer", "/hint", "/until-the-end", "/cut-off"]
)
@pytest.mark.parametrize(("host", "port"), [(API, 443), (PLAIN, 80)])
def test_they_do_not_come_back(world: World, host: str, port: int, path: str) -> None:
    heard = world.get(path, host=host, port=port)
    assert "200" in heard
    assert "****" in heard, "it was there"
    assert_hidden(heard)


def test_the_length_of_an_answer_stays(world: World) -> None:
    heard = world.get("/body")
    assert f"Content-Length: {len(body(heard))}" in heard
    assert body(heard) == f'{{"it": "{STARS}"}}'


def test_a_compressed_answer_is_asked_not_to_be_and_refused_if_it_is(world: World) -> None:
    told = dict(json.loads(body(world.get("/", "Accept-Encoding: gzip, br")))["headers"])
    assert told["Accept-Encoding"] == "identity"
    heard = world.get("/gzip", "Accept-Encoding: gzip")
    assert heard.startswith("HTTP/1.1 502") and "answered in gzip" in heard
    assert world.get("/gzip", "Accept-Encoding: gzip", host=WWW, port=80).startswith("HTTP/1.1 200"), "others may"


def test_a_connection_that_becomes_something_else_is_searched_too(world: World) -> None:
    asking = f"GET /tell HTTP/1.1\r\nHost: {API}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
    heard = world.talk(asking + "enough", until="enough")
    assert heard.startswith("HTTP/1.1 101")
    assert heard.endswith(f"it is {STARS}enough")
    assert_hidden(heard)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (f"TRACE / HTTP/1.1\r\nHost: {API}\r\n\r\n", 405),
        (f"TRACK / HTTP/1.1\r\nHost: {API}\r\n\r\n", 405),
        (f"POST / HTTP/1.1\r\nHost: {API}\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX", 400),
        (f"POST / HTTP/1.0\r\nHost: {API}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (f"GET https://ada:secret@{API}/ HTTP/1.1\r\nHost: {API}\r\n\r\n", 400),
        (f"GET / HTTP/1.1\r\nHost: {API}\r\nConnection: close, authorization\r\n\r\n", 400),
        (f"GET / HTTP/1.1\r\nHost: {API}\r\nProxy-Connection: Authorization\r\n\r\n", 400),
        (f"GET *.html HTTP/1.1\r\nHost: {API}\r\n\r\n", 400),
    ],
)
@pytest.mark.parametrize(("host", "port"), [(API, 443), (PLAIN, 80)])
def test_requests_that_could_be_read_in_two_ways_or_told_back_are_refused(
    world: World, host: str, port: int, words: str, status: int
) -> None:
    before = world.reached()
    heard = world.talk(words.replace(API, host), host=host, port=port)
    assert heard.startswith(f"HTTP/1.1 {status} ") and "Roost could not pass this request on" in heard
    assert world.reached() == before, "the host heard nothing of it"


def test_an_answer_that_could_be_read_in_two_ways_is_refused(world: World) -> None:
    assert world.get("/two-ways").startswith("HTTP/1.1 502")


def test_what_is_for_one_connection_only_ends_at_the_gate(world: World) -> None:
    sent = ("Connection: X-Hop, TE, close", "X-Hop: 1", "Keep-Alive: 5", "TE: gzip", "Proxy-Authorization: x", "X-End: 1")
    told = dict(json.loads(body(world.get("/", *sent)))["headers"])
    assert told["X-End"] == "1"
    assert not {"X-Hop", "Keep-Alive", "TE", "Proxy-Authorization", "Connection"} & set(told)
    heard = world.talk(f"GET /one-hop HTTP/1.1\r\nHost: {API}\r\n\r\n", until="done").lower()
    assert "x-end: 1" in heard
    assert not [name for name in ("x-hop", "keep-alive", "proxy-authenticate") if name in heard]


def test_a_guest_cannot_become_another_http(world: World) -> None:
    """There its requests would not be looked at one by one."""
    upgrade = ("Connection: Upgrade, HTTP2-Settings, close", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk")
    told = dict(json.loads(body(world.get("/", *upgrade)))["headers"])
    assert not {"Upgrade", "HTTP2-Settings", "Connection"} & set(told)


def test_a_target_with_an_address_is_passed_on_as_a_path(world: World) -> None:
    assert json.loads(body(world.get(f"https://{API}/a?b")))["path"] == "/a?b"
