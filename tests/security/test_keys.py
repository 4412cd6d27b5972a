"""Keys and what they reach: the machine is its operator's, tokens are given to whoever asks for them, and a key that is
revoked takes what it was given along."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import uuid
from typing import Any

import httpx
import pytest

from roost.client import Sandbox
from roost.domain.ids import AGENT_PORT
from roost.domain.team import key_digest
from roost.edge.admission.access import sign
from tests.real.server import Server, said, sandbox_of

PATIENCE_S = 60.0


def ask(server: Server, method: str, path: str, key: str, **options: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.request(method, server.url + path, headers=headers, timeout=PATIENCE_S, trust_env=False, **options)


@pytest.fixture
def stranger(server: Server) -> str:
    """A key of another team, as far-reaching as a 0.1.0 key."""
    secret = "e2b_" + uuid.uuid4().hex
    with sqlite3.connect(server.home / "roost.db", timeout=PATIENCE_S) as database:
        database.execute(
            "INSERT INTO api_keys (id, team, name, digest, created_at, body, revision) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (f"k{uuid.uuid4().hex[:20]}", "tstrangers", "eve", key_digest(secret), 1.0, '{"hint": "0000"}', 1),
        )
    database.close()
    return secret


def test_another_team_cannot_put_everybody_to_sleep(server: Server, stranger: str) -> None:
    with sandbox_of(server) as sandbox:
        answer = ask(server, "POST", "/v1/node/sleep-all", stranger)
        assert answer.status_code == 403
        assert sandbox.id not in answer.text
        assert sandbox.refresh().state == "running"
        assert ask(server, "GET", "/v1/node", stranger).status_code == 403
        version = ask(server, "GET", "/v1/version", stranger)
        assert str(server.home) not in version.text and str(server.pid) not in version.text


def test_an_operator_who_puts_all_to_sleep_is_told_ids_alone(server: Server) -> None:
    rules = {"api.example.com": {"Authorization": f"Bearer {uuid.uuid4().hex}"}}
    with sandbox_of(server, network={"rules": rules, "public": False}) as sandbox:
        assert ask(server, "POST", "/v1/node/sleep-all", server.key).json() == {"sandboxes": [sandbox.id], "errors": []}


def make_key(server: Server, scope: str = "full") -> dict[str, str]:
    return ask(server, "POST", "/v1/keys", server.key, json={"name": scope, "scope": scope}).json()


def token_of(server: Server, sandbox: Sandbox, key: str) -> str:
    return ask(server, "POST", f"/v1/sandboxes/{sandbox.id}/token", key).json()["access_token"]


def run(server: Server, sandbox: Sandbox, token: str) -> int:
    """Whether the token opens the agent: its answer to a question that needs one."""
    headers = {"Host": server.host(sandbox, AGENT_PORT), "X-Access-Token": token}
    return httpx.get(f"{server.url}/envs", headers=headers, timeout=PATIENCE_S, trust_env=False).status_code


def read(server: Server, sandbox: Sandbox, token: str, path: str = "/etc/hostname") -> int:
    """As by a URL that was signed with the token."""
    signature = sign(path, "user", token, write=False, expiration=None)
    params = {"path": path, "username": "user", "signature": signature}
    host = {"Host": server.host(sandbox, AGENT_PORT)}
    return httpx.get(f"{server.url}/files", params=params, headers=host, timeout=PATIENCE_S, trust_env=False).status_code


def test_no_list_and_no_answer_has_tokens_or_values(server: Server) -> None:
    secret = uuid.uuid4().hex
    rules = {"api.example.com": {"Authorization": f"Bearer {secret}"}}
    with sandbox_of(server, name="hidden", network={"rules": rules, "public": False}) as sandbox:
        tokens = sandbox.tokens()
        assert tokens.traffic_token
        said = [
            ask(server, "GET", path, server.key).text
            for path in (
                "/v1/sandboxes", "/v1/sandboxes/hidden", "/v1/fleet", "/v1/events", "/v2/sandboxes", "/sandboxes",
                f"/sandboxes/{sandbox.id}",
            )
        ]  # fmt: skip
        said.append(ask(server, "PATCH", "/v1/sandboxes/hidden", server.key, json={"metadata": {"a": "1"}}).text)
        said += [ask(server, "POST", f"/v1/sandboxes/hidden/{move}", server.key).text for move in ("pause", "resume")]
        environment = {**os.environ, "ROOST_URL": server.url, "ROOST_API_KEY": server.key}
        told = subprocess.run(
            [sys.executable, "-m", "roost.cli.main", "info", "hidden", "--json"], env=environment, capture_output=True, check=True
        )
        said.append(told.stdout.decode())
        said.append((server.home / "server.log").read_text())
        for text in said:
            assert tokens.access_token not in text and tokens.traffic_token not in text and secret not in text
        assert sum(sandbox.id in text for text in said) >= len(said) - 1


def test_secrets_are_sealed_on_the_disk(server: Server) -> None:
    secret, word = uuid.uuid4().hex, uuid.uuid4().hex
    network = {"rules": {"api.example.com": {"Authorization": secret}}, "public": False}
    with sandbox_of(server, network=network, env={"SECRET_WORD": word}) as sandbox:
        tokens = sandbox.tokens()
        sandbox.pause()
        sandbox.resume()
        assert stat.S_IMODE((server.home / "store-key").stat().st_mode) == 0o600
        files = [*server.home.glob("roost.db*"), *server.home.glob("*.json"), *server.volume.glob("*/*/journal.json")]
        stored = b"".join(path.read_bytes() for path in files)
        assert sandbox.id.encode() in stored
        for value in (secret, word, tokens.access_token, tokens.traffic_token or ""):
            assert value.encode() not in stored


def test_a_rotated_token_opens_nothing_and_what_it_opened_is_cut(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        old = sandbox.tokens().access_token
        assert (run(server, sandbox, old), read(server, sandbox, old)) == (200, 200)
        with sandbox.start("echo begun; sleep 1000") as process:
            output = iter(process)
            assert next(output).data == b"begun\n"
            headers = {"Host": server.host(sandbox, AGENT_PORT), "X-Access-Token": old}
            with httpx.stream("GET", f"{server.url}/tail", headers=headers, timeout=PATIENCE_S, trust_env=False) as followed:
                chunks = followed.iter_raw()
                next(chunks)
                new = sandbox.rotate_tokens().access_token
                with pytest.raises(httpx.HTTPError):
                    for _ in chunks:
                        pass
            assert new != old
            assert (run(server, sandbox, old), read(server, sandbox, old)) == (401, 401)
            assert (run(server, sandbox, new), read(server, sandbox, new)) == (200, 200)
            process.signal("SIGKILL")
            assert process.wait().code != 0, "the client went on by itself, with the new token"


def test_a_sleeper_wakes_with_its_new_token(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        old = sandbox.tokens().access_token
        sandbox.pause()
        new = sandbox.rotate_tokens().access_token
        assert run(server, sandbox, old) == 401
        assert sandbox.refresh().state == "paused"
        assert run(server, sandbox, new) == 200
        assert run(server, sandbox, old) == 401


def test_a_revoked_keys_tokens_and_links_end_with_it(server: Server) -> None:
    made, kept = make_key(server), make_key(server)
    with sandbox_of(server) as running, sandbox_of(server) as asleep, sandbox_of(server) as untouched:
        old = {each.id: token_of(server, each, made["secret"]) for each in (running, asleep)}
        asleep.pause()
        others = token_of(server, untouched, kept["secret"])
        link = ask(server, "POST", f"/v1/sandboxes/{running.id}/links", made["secret"], json={}).json()
        assert ask(server, "GET", f"/v1/driver?token={link['token']}", server.key).status_code == 200
        assert run(server, running, old[running.id]) == 200
        assert ask(server, "DELETE", f"/v1/keys/{made['id']}", server.key).status_code == 204
        for each in (running, asleep):
            assert (run(server, each, old[each.id]), read(server, each, old[each.id])) == (401, 401)
        assert asleep.refresh().state == "paused", "whoever has an old token wakes nobody"
        assert ask(server, "GET", f"/v1/driver?token={link['token']}", server.key).status_code == 401
        assert run(server, untouched, others) == 200
        for each in (running, asleep):
            assert said(each, "echo still here") == "still here"


def test_keys_to_look_and_keys_for_one_sandbox_open_nothing_else(server: Server) -> None:
    looker = make_key(server, "read-only")["secret"]
    with sandbox_of(server, name="mine") as mine, sandbox_of(server, name="other") as other:
        only = make_key(server, f"sandbox:{mine.id}")["secret"]
        for path in ("token", "token/rotate", "pause", "links", "fork"):
            assert ask(server, "POST", f"/v1/sandboxes/mine/{path}", looker, json={}).status_code == 403, path
        assert ask(server, "POST", f"/v2/sandboxes/{mine.id}/connect", looker, json={}).status_code == 403
        assert run(server, mine, token_of(server, mine, only)) == 200
        for ref in ("other", other.id):
            assert ask(server, "POST", f"/v1/sandboxes/{ref}/token", only).status_code == 404
            assert ask(server, "DELETE", f"/sandboxes/{ref}", only).status_code == 404
        for path in ("/v1/keys", "/v1/node", "/api-keys"):
            assert ask(server, "GET", path, only).status_code == 403
            assert ask(server, "GET", path, looker).status_code == 403
        assert other.refresh().state == "running"


def test_an_unknown_key_waits_for_no_writer(server: Server) -> None:
    """Somebody else writes for as long as they like."""
    database = sqlite3.connect(server.home / "roost.db", timeout=PATIENCE_S, isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        for path in ("/v1/sandboxes", "/sandboxes", "/v1/keys"):
            assert ask(server, "GET", path, "e2b_" + "0" * 40).status_code == 401
    finally:
        database.execute("ROLLBACK")
        database.close()
