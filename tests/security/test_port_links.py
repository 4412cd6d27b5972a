"""Links to ports: each opens one port of one sandbox, for its time, and the program there does not learn it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from roost.client import LinkRecord, Sandbox
from roost.client.agent import AGENT_PORT
from roost.domain.errors import Invalid
from roost.domain.link import link_digest
from tests.real.server import Server, eventually, sandbox_of

PORT, OTHER = 8000, 8001
PATIENCE_S = 60.0

# One program on two ports. It answers with all that it got, as it got it.
_TELL_ALL = f"""
import http.server, threading
class Tell(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.raw_requestline + self.headers.as_bytes())
    do_POST = do_GET
    def log_message(self, *_):
        pass
servers = [http.server.ThreadingHTTPServer(("127.0.0.1", port), Tell) for port in ({PORT}, {OTHER})]
print("ready", flush=True)
threading.Thread(target=servers[1].serve_forever).start()
servers[0].serve_forever()
"""


@dataclass(frozen=True, slots=True)
class House:
    """A sandbox that is not public."""

    server: Server
    sandbox: Sandbox

    def ask(
        self, path: str = "/", *, port: int = PORT, method: str = "GET", cookie: str = "", headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """As a person's browser does, unless the headers say otherwise."""
        host = {"Host": f"{self.server.host(self.sandbox, port)}:{self.server.port}"} | ({"Cookie": cookie} if cookie else {})
        whole = {"Sec-Fetch-Site": "none", **host, **(headers or {})}
        return httpx.request(method, self.server.url + path, headers=whole, timeout=PATIENCE_S, trust_env=False)

    def opens(self, token: str, port: int = PORT) -> tuple[int, int]:
        """What a link's address answers, and what a cookie of it does."""
        link, cookie = self.ask(f"/?roost_link={token}", port=port), self.ask(port=port, cookie=f"roost_link={token}")
        return link.status_code, cookie.status_code


GOOD, ENDED = (303, 200), (401, 401)


@pytest.fixture
def house(server: Server) -> Iterator[House]:
    with sandbox_of(server, network={"public": False}) as sandbox:
        sandbox.files.write("/tmp/tell.py", _TELL_ALL)
        with sandbox.start("exec python3 /tmp/tell.py") as process:
            assert next(iter(process)).data == b"ready\n"
        yield House(server, sandbox)


def token_of(link: LinkRecord) -> str:
    assert link.token is not None
    return link.token


def test_a_link_opens_its_port_and_no_other_of_any_sandbox(server: Server, house: House) -> None:
    token = token_of(house.sandbox.link(port=PORT))
    assert house.opens(token) == GOOD
    assert house.opens(token, OTHER) == ENDED
    assert house.opens(token_of(house.sandbox.link(port=OTHER))) == ENDED
    with sandbox_of(server, network={"public": False}) as stranger:
        assert House(server, stranger).opens(token) == ENDED
    (child,), _ = house.sandbox.fork(1)
    try:
        assert House(server, child).opens(token) == ENDED, "a fork has the program and not the links"
    finally:
        child.kill()


def test_what_is_not_quite_the_token_opens_nothing(house: House) -> None:
    link = house.sandbox.link(port=PORT)
    token = token_of(link)
    flipped = ("0" if token[0] != "0" else "1") + token[1:]
    guesses = (
        flipped,
        token[:-1],
        token + "0",
        token.upper() + "A",
        link.id,
        link_digest(token),
        house.sandbox.tokens().access_token,
    )
    for guess in guesses:
        assert house.opens(guess) == ENDED
    screen = token_of(house.sandbox.link(control=True))
    assert house.opens(screen) == ENDED, "a link to the screen is none to a port"
    assert house.opens(token) == GOOD


def test_an_expired_link_opens_nothing_and_wakes_nobody(house: House) -> None:
    link = house.sandbox.link(port=PORT, seconds=1)
    house.sandbox.pause()

    def is_over() -> None:
        assert time.time() > link.expires_at.timestamp()

    eventually(is_over)
    assert house.opens(token_of(link)) == ENDED
    assert house.sandbox.refresh().state == "paused"


def test_a_revoked_link_opens_nothing_and_wakes_nobody(house: House) -> None:
    link = house.sandbox.link(port=PORT)
    assert house.opens(token_of(link)) == GOOD
    house.sandbox.unlink(link.id)
    house.sandbox.pause()
    assert house.opens(token_of(link)) == ENDED
    assert house.sandbox.refresh().state == "paused"


def test_a_link_to_a_port_opens_neither_screen_nor_agent_nor_api(server: Server, house: House) -> None:
    token = token_of(house.sandbox.link(port=PORT))
    cookie = f"roost_link={token}"
    for path in ("/files?path=/etc/passwd", "/envs", "/desktop/screenshot"):
        joined = f"{path}{'&' if '?' in path else '?'}"
        assert house.ask(f"{joined}roost_link={token}&link={token}", port=AGENT_PORT, cookie=cookie).status_code == 401
        assert house.ask(path, port=AGENT_PORT, headers={"X-Access-Token": token}).status_code == 401
    answer = httpx.get(f"{server.url}/v1/driver?token={token}", timeout=PATIENCE_S, trust_env=False)
    assert answer.status_code == 401
    for headers in ({"Authorization": f"Bearer {token}"}, {"X-API-Key": token}, {"Cookie": f"roost_session={token}; {cookie}"}):
        answer = httpx.get(f"{server.url}/v1/sandboxes", headers=headers, timeout=PATIENCE_S, trust_env=False)
        assert answer.status_code == 401
    with pytest.raises(Invalid, match="agent's own"):
        house.sandbox.link(port=AGENT_PORT)


def test_the_program_inside_does_not_learn_the_token(house: House) -> None:
    """Neither by the cookie, nor by the address of what is not exchanged, nor in the sandbox's own environment."""
    token = token_of(house.sandbox.link(port=PORT))
    heard = house.ask("/a?b=1", cookie=f"a=1; roost_link={token}; __Host-roost_link={token}").text
    heard += house.ask(f"/hook?c=2&roost_link={token}", method="POST").text
    assert "GET /a?b=1 " in heard and "POST /hook?c=2 " in heard and "Cookie: a=1" in heard
    assert token not in heard and "roost_link" not in heard


def test_a_link_redirects_nowhere_else(house: House) -> None:
    token = token_of(house.sandbox.link(port=PORT))
    for path in ("//evil.example/", "/\\evil.example", "///evil.example", "/\\/evil.example"):
        answer = house.ask(f"{path}?roost_link={token}")
        assert answer.status_code == 303 and answer.headers["location"].startswith("/.")


def test_another_sandboxs_page_cannot_ride_on_the_cookie(server: Server, house: House) -> None:
    """To a browser all sandboxes are one site: it sends the cookie along, whoever asks."""
    cookie = f"roost_link={token_of(house.sandbox.link(port=PORT))}"
    elsewhere = f"http://{PORT}-i00000000000000000000.roost.localhost:{server.port}"
    ways = (
        {"Origin": elsewhere},
        {"Origin": elsewhere, "Connection": "Upgrade", "Upgrade": "websocket"},
        {"Origin": server.url},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
    )
    for way in ways:
        answer = house.ask(cookie=cookie, headers=way)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "foreign_page")
    own = f"http://{server.host(house.sandbox, OTHER)}:{server.port}"
    assert house.ask(cookie=cookie, headers={"Origin": own}).status_code == 200


def test_a_cookie_alone_opens_nothing(server: Server, house: House) -> None:
    """What a browser sends over plain http to a name that is not below localhost, whoever makes it ask."""
    token = token_of(house.sandbox.link(port=PORT))
    headers = {"Host": f"{server.host(house.sandbox, PORT)}:{server.port}", "Cookie": f"roost_link={token}"}
    answer = httpx.get(server.url, headers=headers, timeout=PATIENCE_S, trust_env=False)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "link_needs_https")
    page = {"Host": headers["Host"], "Accept": "text/html"}
    answer = httpx.get(f"{server.url}/?roost_link={token}", headers=page, timeout=PATIENCE_S, trust_env=False)
    assert answer.status_code == 403 and "This link needs https" in answer.text and "set-cookie" not in answer.headers


def test_tokens_are_kept_as_digests(house: House) -> None:
    token = token_of(house.sandbox.link(port=PORT))
    assert house.opens(token) == GOOD
    # The log first: what is in it moves into the database.
    stored = b"".join(path.read_bytes() for path in sorted(house.server.home.glob("roost.db*"), reverse=True))
    assert link_digest(token).encode() in stored
    assert token.encode() not in stored
    assert token not in (house.server.home / "server.log").read_text()
