"""Keys and what they reach: the machine is its operator's, tokens are given to whoever asks for them, and a key that is
revoked takes what it was given along."""

from __future__ import annotations

import sqlite3
import uuid
from typing import Any

import httpx
import pytest

from roost.domain.team import key_digest
from tests.real.server import Server, sandbox_of

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
