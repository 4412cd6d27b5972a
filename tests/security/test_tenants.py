"""Keys and teams: who holds no key gets nothing, who holds another team's finds nothing, and no key is kept in the clear."""

from __future__ import annotations

import sqlite3
import stat
import uuid
from pathlib import Path

import httpx
import pytest

from roost.domain.team import key_digest
from tests.real.server import Server, sandbox_of

PATIENCE_S = 60.0
PATHS = ("/v1/sandboxes", "/v1/snapshots", "/v1/templates", "/v1/events", "/v1/node", "/v1/keys")


def ask(server: Server, method: str, path: str, key: str | None) -> httpx.Response:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return httpx.request(method, server.url + path, headers=headers, timeout=PATIENCE_S, trust_env=False)


def make_key(server: Server, name: str) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {server.key}"}
    return httpx.post(f"{server.url}/v1/keys", json={"name": name}, headers=headers, timeout=PATIENCE_S, trust_env=False).json()


@pytest.fixture
def stranger(server: Server) -> str:
    """A key of another team, put into the store as the server itself would: there is one team per server until there are more."""
    secret = "e2b_" + uuid.uuid4().hex
    with sqlite3.connect(server.home / "roost.db", timeout=PATIENCE_S) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(api_keys)")]
        row = dict(zip(columns, database.execute("SELECT * FROM api_keys LIMIT 1").fetchone(), strict=True))
        row |= {"id": f"k{uuid.uuid4().hex[:20]}", "team": "tstrangers", "digest": key_digest(secret)}
        marks = ", ".join("?" for _ in row)
        database.execute(f"INSERT INTO api_keys ({', '.join(row)}) VALUES ({marks})", list(row.values()))
    database.close()
    return secret


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("key", [None, "nonsense", "e2b_" + "0" * 40])
def test_no_key_no_answer(server: Server, path: str, key: str | None) -> None:
    answer = ask(server, "GET", path, key)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"]


def test_another_teams_sandbox_does_not_exist(server: Server, stranger: str) -> None:
    with sandbox_of(server, name="ours") as sandbox:
        snapshot = sandbox.snapshot()
        for ref in (sandbox.id, "ours"):
            for method, path in (
                ("GET", ""), ("DELETE", ""), ("GET", "/metrics"), ("GET", "/activity"), ("POST", "/pause"), ("POST", "/resume"),
                ("POST", "/fork"), ("POST", "/snapshots"),
            ):  # fmt: skip
                assert ask(server, method, f"/v1/sandboxes/{ref}{path}", stranger).status_code == 404, (method, path)
        assert ask(server, "GET", f"/v1/snapshots/{snapshot.id}", stranger).status_code == 404
        assert ask(server, "DELETE", f"/v1/snapshots/{snapshot.id}", stranger).status_code == 404
        assert ask(server, "GET", "/v1/sandboxes", stranger).json()["sandboxes"] == []
        assert ask(server, "GET", "/v1/events", stranger).json()["events"] == []
        assert sandbox.refresh().state == "running"
        server.roost.delete_snapshot(snapshot.id)


def test_a_revoked_key_opens_nothing(server: Server) -> None:
    made = make_key(server, "short-lived")
    assert ask(server, "GET", "/v1/sandboxes", made["secret"]).status_code == 200
    assert ask(server, "DELETE", f"/v1/keys/{made['id']}", server.key).status_code == 204
    assert ask(server, "GET", "/v1/sandboxes", made["secret"]).status_code == 401


def test_keys_are_kept_as_digests(server: Server) -> None:
    made = make_key(server, "kept")
    # The log first: what is in it moves into the database.
    stored = b"".join(path.read_bytes() for path in sorted(server.home.glob("roost.db*"), reverse=True))
    for secret in (server.key, made["secret"]):
        assert key_digest(secret).encode() in stored
        assert secret.encode() not in stored and secret.removeprefix("e2b_").encode() not in stored
        assert secret not in (server.home / "server.log").read_text()


def test_only_root_reads_the_key_and_the_disks(server: Server) -> None:
    assert _mode(server.home / "key") == 0o600
    for folder in ("sandboxes", "snapshots", "pool"):
        assert _mode(server.volume / folder) & 0o077 == 0


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
