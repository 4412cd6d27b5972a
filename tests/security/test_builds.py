"""The doors of builds: another team's are hidden, files are what they say and no more than they may be, and nothing of a build
reaches the host or another team."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.real.server import Server, eventually, serving
from tests.security.test_tenants import PATIENCE_S, stranger  # noqa: F401

LIMIT_MB = 8


def ask(server: Server, method: str, path: str, key: str | None = None, **more: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key or server.key}"}
    return httpx.request(method, server.url + path, headers=headers, timeout=PATIENCE_S, trust_env=False, **more)


def definition(*steps: dict[str, Any]) -> dict[str, Any]:
    stage = {"name": "", "base": {"kind": "template", "name": "base"}, "steps": list(steps), "place": {"line": 1, "text": "FROM"}}
    return {"stages": [stage]}


def run(command: str) -> dict[str, Any]:
    return {"kind": "run", "command": command, "user": "root", "place": {"line": 2, "text": f"RUN {command}"}}


def copy(digest: str) -> dict[str, Any]:
    origin = {"kind": "context", "upload": digest}
    return {"kind": "copy", "origin": origin, "sources": [""], "target": "/in/", "place": {"line": 2, "text": "COPY . /in/"}}


def build(server: Server, key: str | None = None, *steps: dict[str, Any], name: str = "attack") -> dict[str, Any]:
    begun = ask(server, "POST", "/v1/builds", key, json={"name": name, "definition": definition(*steps)})
    assert begun.status_code == 201, begun.text

    def is_over() -> dict[str, Any]:
        found = ask(server, "GET", f"/v1/builds/{begun.json()['id']}", key).json()
        assert found["state"] not in ("queued", "building"), found
        return found

    return eventually(is_over, 120)


def tar(**files: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content.encode()))
    return made.getvalue()


def sent(server: Server, content: bytes, key: str | None = None) -> str:
    digest = hashlib.sha256(content).hexdigest()
    answer = ask(server, "PUT", f"/v1/uploads/{digest}", key, content=content)
    assert answer.status_code == 201, answer.text
    return digest


def spooled(server: Server) -> set[str]:
    folder = server.volume / "uploads"
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def test_another_teams_build_does_not_exist(server: Server, stranger: str) -> None:  # noqa: F811
    ours = build(server, None, run("echo ours"), name="hidden")
    assert ours["state"] == "ready", ours
    for method, path in (("GET", ""), ("GET", "/logs"), ("GET", "/logs?follow=true"), ("POST", "/cancel")):
        answer = ask(server, method, f"/v1/builds/{ours['id']}{path}", stranger)
        assert answer.status_code == 404, (method, path)
    assert ask(server, "GET", "/v1/builds", stranger).json()["builds"] == []
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/tags")):
        body = {"json": {"tag": "theirs"}} if method == "POST" else {}
        assert ask(server, method, f"/v1/templates/hidden{path}", stranger, **body).status_code == 404
    assert ask(server, "POST", "/v1/sandboxes", stranger, json={"template": "hidden"}).status_code == 404
    begun = ask(server, "POST", "/v1/builds", stranger, json={"name": "x", "definition": _from("hidden")}).json()

    def has_failed() -> None:
        found = ask(server, "GET", f"/v1/builds/{begun['id']}", stranger).json()
        assert found["failure"]["code"] == "template_not_found"

    eventually(has_failed, 60)


def _from(template: str) -> dict[str, Any]:
    found = definition()
    found["stages"][0]["base"]["name"] = template
    return found


def test_a_digest_does_not_give_another_teams_files(server: Server, stranger: str) -> None:  # noqa: F811
    digest = sent(server, tar(secret="ours"))
    assert ask(server, "GET", f"/v1/uploads/{digest}", stranger).status_code == 404
    asked = {"name": "thief", "definition": definition(copy(digest))}
    refused = ask(server, "POST", "/v1/builds", stranger, json=asked)
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "upload_not_found")


def test_an_upload_is_what_it_says(server: Server) -> None:
    before = spooled(server)
    refused = ask(server, "PUT", f"/v1/uploads/{'0' * 64}", content=tar(a="1"))
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "upload_differs")
    for digest in ("..%2f..%2fetc%2fpasswd", "0" * 63, "G" * 64):
        assert ask(server, "PUT", f"/v1/uploads/{digest}", content=b"x").status_code in (400, 404)
    escape = tarfile.TarInfo("../../../../tmp/escaped")
    content = escape.tobuf() + bytes(1024)
    digest = hashlib.sha256(content).hexdigest()
    refused = ask(server, "PUT", f"/v1/uploads/{digest}", content=content)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "upload_broken")
    assert spooled(server) == before


@pytest.fixture(scope="module")
def strict() -> Iterator[Server]:
    """A server that takes little."""
    with serving(upload_limit_mb=LIMIT_MB) as server:
        yield server


@pytest.mark.parametrize("is_announced", [True, False])
def test_an_upload_that_is_too_large_is_refused_and_leaves_nothing(strict: Server, is_announced: bool) -> None:
    content = bytes((LIMIT_MB + 4) << 20)
    pieces = (content[start : start + (1 << 20)] for start in range(0, len(content), 1 << 20))
    with contextlib.suppress(httpx.WriteError):  # the answer may come, and the connection end, before all is sent
        refused = ask(strict, "PUT", f"/v1/uploads/{'0' * 64}", content=content if is_announced else pieces)
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "upload_too_large")
    eventually(lambda: _is_empty(strict), 10)


def test_an_upload_that_grows_too_large_is_refused_and_leaves_nothing(strict: Server) -> None:
    content = gzip.compress(tar(zeros="\0" * ((LIMIT_MB + 4) << 20)))
    assert len(content) < 1 << 20
    refused = ask(strict, "PUT", f"/v1/uploads/{hashlib.sha256(content).hexdigest()}", content=content)
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "upload_too_large")
    eventually(lambda: _is_empty(strict), 10)


def _is_empty(server: Server) -> None:
    assert spooled(server) == set()


def test_a_step_reaches_neither_the_host_nor_the_api(server: Server) -> None:
    probe = "; ".join(
        (
            "echo home: $(ls /root/.roost 2>&1 | head -1)",
            "mount | grep -c roost-volumes",
            f"! curl -s -m 3 http://127.0.0.1:{server.port}/v1/health",
            "ls /.roost-volumes | wc -l",
        )
    )
    ended = build(server, None, run(probe), name="probe")
    assert ended["state"] == "ready", ended
    log = ask(server, "GET", f"/v1/builds/{ended['id']}/logs").json()["lines"]
    said = [line["text"] for line in log if line["stream"] == "stdout"]
    assert said[-1] == "0", said


@pytest.mark.parametrize(
    "broken",
    [
        {"stages": "none"},
        {"stages": [{"name": "", "base": {"kind": "host"}, "steps": [], "place": {"line": 1, "text": ""}}]},
        definition({"kind": "shell-out", "place": {"line": 1, "text": ""}}),
        {"stages": []},
        {**definition(), "target": 7},
    ],
)
def test_a_definition_that_makes_no_sense_is_refused_in_words(server: Server, broken: dict[str, Any]) -> None:
    refused = ask(server, "POST", "/v1/builds", json={"name": "broken", "definition": broken})
    assert refused.status_code == 400, refused.text
    assert refused.json()["error"]["message"]


def test_builders_are_no_sandboxes(server: Server) -> None:
    """While a step runs, nobody can look into it: it is in no list, has no route, and is gone afterwards."""
    asked = {"name": "watched", "definition": definition(run("sleep 5"))}
    begun = ask(server, "POST", "/v1/builds", json=asked).json()

    def is_running() -> None:
        found = ask(server, "GET", f"/v1/builds/{begun['id']}").json()
        assert found["steps"][1]["state"] == "running"

    eventually(is_running, 60)
    builders = [path.name for path in (server.volume / "sandboxes").iterdir()]
    listed = {each["id"] for each in ask(server, "GET", "/v1/sandboxes").json()["sandboxes"]}
    hidden = [each for each in builders if each not in listed]
    assert hidden, "a builder runs"
    for id in hidden:
        assert ask(server, "GET", f"/v1/sandboxes/{id}").status_code == 404
        host = {"Host": f"49983-{id}.roost.localhost"}
        answer = httpx.get(f"{server.url}/health", headers=host, timeout=PATIENCE_S, trust_env=False)
        assert answer.status_code in (404, 502, 503), answer.text
    ask(server, "POST", f"/v1/builds/{begun['id']}/cancel")
