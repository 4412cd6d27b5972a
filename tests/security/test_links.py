"""Links to screens: each opens one screen, for its time, and nothing beside it; none is kept in the clear."""

from __future__ import annotations

import socket
import time

import httpx
import pytest
from websockets.sync.client import connect

from roost.client import LinkRecord, Sandbox
from roost.client.agent import AGENT_PORT
from roost.domain.link import link_digest
from tests.real.server import Server, eventually, sandbox_of
from tests.real.viewer import opened

PATIENCE_S = 60.0


def token_of(link: LinkRecord) -> str:
    assert link.token is not None
    return link.token


def screen(server: Server, sandbox: Sandbox, token: str) -> str:
    return f"ws://{server.host(sandbox, AGENT_PORT)}:{server.port}/desktop/rfb?link={token}"


def get(server: Server, sandbox: Sandbox, path: str, **headers: str) -> httpx.Response:
    host = {"Host": server.host(sandbox, AGENT_PORT)}
    return httpx.get(server.url + path, headers={**host, **headers}, timeout=PATIENCE_S, trust_env=False)


def refusal(server: Server, sandbox: Sandbox, token: str) -> int | None:
    with opened(screen(server, sandbox, token)) as viewer:
        return viewer.closed()[0]


def test_a_link_of_one_sandbox_opens_no_other(server: Server) -> None:
    with sandbox_of(server) as one, sandbox_of(server) as other:
        token = token_of(one.link(control=True))
        assert refusal(server, one, token) == 4005, "it was let in, and there is no screen"
        assert refusal(server, other, token) == 4001
        assert get(server, one, f"/desktop/screenshot?link={token}").status_code != 401
        assert get(server, other, f"/desktop/screenshot?link={token}").status_code == 401


def test_an_expired_link_opens_nothing_and_wakes_nobody(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        link = sandbox.link(control=True, seconds=1)
        sandbox.pause()
        token = token_of(link)

        def is_over() -> None:
            assert time.time() > link.expires_at.timestamp()

        eventually(is_over)
        assert refusal(server, sandbox, token) == 4003
        assert get(server, sandbox, f"/desktop/screenshot?link={token}").status_code == 401
        for path in ("/v1/driver/take", "/v1/driver/give"):
            answer = httpx.post(server.url + path, json={"token": token}, timeout=PATIENCE_S, trust_env=False)
            assert answer.status_code == 410
        assert sandbox.refresh().state == "paused"


def test_a_revoked_link_opens_nothing(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        link = sandbox.link(control=True)
        sandbox.unlink(link.id)
        assert refusal(server, sandbox, token_of(link)) == 4001
        assert get(server, sandbox, f"/desktop/frames?link={token_of(link)}").status_code == 401
        answer = httpx.get(f"{server.url}/v1/driver?token={link.token}", timeout=PATIENCE_S, trust_env=False)
        assert answer.status_code == 401


@pytest.mark.parametrize("path", ["/desktop", "/files?path=/etc/passwd&", "/envs?", "/processes?", "/desktop/clipboard?"])
def test_a_link_opens_nothing_but_the_screen(server: Server, path: str) -> None:
    with sandbox_of(server) as sandbox:
        token = token_of(sandbox.link(control=True))
        joined = path if path.endswith(("?", "&")) else path + "?"
        assert get(server, sandbox, f"{joined}link={token}").status_code == 401
        assert get(server, sandbox, path.rstrip("?&"), **{"X-Access-Token": token}).status_code == 401
        bearer = {"Authorization": f"Bearer {token}"}
        answer = httpx.get(f"{server.url}/v1/sandboxes", headers=bearer, timeout=PATIENCE_S, trust_env=False)
        assert answer.status_code == 401


def test_the_agents_token_is_no_link(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        assert refusal(server, sandbox, sandbox.tokens().access_token) == 4001
        url = f"ws://{server.host(sandbox, AGENT_PORT)}:{server.port}/desktop/rfb"
        door = socket.create_connection(("127.0.0.1", server.port))
        with pytest.raises(Exception, match="401"), connect(url, sock=door, open_timeout=PATIENCE_S):
            pass


def test_tokens_are_kept_as_digests(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        token = token_of(sandbox.link())
        assert refusal(server, sandbox, token) == 4005
        # The log first: what is in it moves into the database.
        stored = b"".join(path.read_bytes() for path in sorted(server.home.glob("roost.db*"), reverse=True))
        assert link_digest(token).encode() in stored
        assert token.encode() not in stored
        assert token not in (server.home / "server.log").read_text()
