"""`roost template …` against a whole server: a Dockerfile with its context, tags, and a server that is killed in the middle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.client import builds as calls
from tests.real.server import REPOSITORY, Server, eventually, said, serving

DOCKERFILE = """\
FROM roost/base AS made
USER root
WORKDIR /src
COPY main.c ./
RUN mkdir out && cp main.c out/copied && date +%s%N > out/stamp

FROM roost/base
USER root
ARG GREETING=hello
ENV GREETING=$GREETING
WORKDIR /app
COPY --from=made /src/out ./
COPY <<EOF notes
$GREETING from a heredoc
EOF
RUN echo "$GREETING" > greeting
CMD ["sleep", "4321"]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    (tmp_path / "main.c").write_text("int main() {}\n")
    (tmp_path / "secret.txt").write_text("not for anybody\n")
    (tmp_path / ".dockerignore").write_text("secret.txt\n")
    return tmp_path


def roost(server: Server, *words: str | Path, fails: bool = False) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ROOST_URL": server.url, "ROOST_API_KEY": server.key}
    done = subprocess.run(
        [sys.executable, "-m", "roost.cli.main", *map(str, words)],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stderr + server.log_tail()
    return done


def build(server: Server, name: str, project: Path, *more: str) -> dict[str, Any]:
    words = ("template", "build", name, "--dockerfile", project / "Dockerfile", "--json", *more)
    return json.loads(roost(server, *words).stdout)


def states(found: dict[str, Any]) -> set[str]:
    return {step["state"] for step in found["steps"]}


def test_a_dockerfile_becomes_a_template_and_is_not_built_twice(server: Server, project: Path) -> None:
    first = build(server, "app", project)
    assert first["state"] == "ready", first
    sandbox = server.roost.create("app")
    assert said(sandbox, "cat notes greeting copied") == "hello from a heredoc\nhello\nint main() {}"
    assert "sleep 4321" in said(sandbox, "ps ax")
    assert states(build(server, "app", project)) == {"cached"}

    (project / "secret.txt").write_text("changed, and nobody cares")
    assert states(build(server, "app", project)) == {"cached"}

    other = build(server, "app:polite", project, "--build-arg", "GREETING=good day")
    assert "done" in states(other)
    assert said(server.roost.create("app:polite"), "cat greeting") == "good day"
    assert said(server.roost.create("app"), "cat greeting") == "hello"
    assert said(sandbox, "cat greeting") == "hello"


def test_tags_are_moved_and_templates_removed(server: Server, project: Path) -> None:
    build(server, "tagged:one", project)
    roost(server, "template", "tag", "tagged:one", "latest")
    listed = json.loads(roost(server, "template", "ls", "--json").stdout)
    assert {each["tag"] for each in listed if each["name"] == "tagged"} == {"one", "latest"}
    living = server.roost.create("tagged")
    assert json.loads(roost(server, "template", "info", "tagged", "--json").stdout)["builds"][0]["state"] == "ready"
    roost(server, "template", "rm", "tagged")
    assert "no template" in roost(server, "create", "--template", "tagged", fails=True).stderr
    assert said(living, "cat greeting") == "hello"
    assert "comes with Roost" in roost(server, "template", "rm", "base", fails=True).stderr
    assert "layers are gone" in roost(server, "template", "prune").stdout


def test_a_step_that_fails_is_told_with_its_line(server: Server, project: Path) -> None:
    (project / "Dockerfile").write_text("FROM roost/base\nUSER root\nRUN echo fine\nRUN echo broken >&2; exit 9\n")
    failed = roost(server, "template", "build", "wrong", "--dockerfile", project / "Dockerfile", fails=True)
    assert "line 4: RUN echo broken" in failed.stderr
    assert "exit code 9" in failed.stderr
    assert "broken" in roost(server, "template", "logs", "wrong").stderr
    (project / "Dockerfile").write_text("FROM roost/base\nRUN echo fine\nFROBNICATE\n")
    refused = roost(server, "template", "build", "wrong", "--dockerfile", project / "Dockerfile", fails=True)
    assert "ine 3" in refused.stderr


def test_a_build_outlives_its_server(server: Server, project: Path) -> None:
    text = "FROM roost/base\nUSER root\nRUN date +%s%N > /stamp\nRUN echo begun; sleep 5; date > /end\n"
    (project / "Dockerfile").write_text(text)
    words = ("template", "build", "long", "--dockerfile", project / "Dockerfile", "--detach")
    id = roost(server, *words).stdout.strip()

    def has_begun() -> None:
        assert server.roost.run(calls.get(id))["steps"][3]["state"] == "running"

    eventually(has_begun, 60)
    before = server.role("control")
    server.kill_role("control")
    server.wait_for_next(before)

    def is_ready() -> dict[str, Any]:
        found = server.roost.run(calls.get(id))
        assert found["state"] == "ready", found
        return found

    ended = eventually(is_ready, 60)
    assert [step["state"] for step in ended["steps"]] == ["cached", "cached", "cached", "done"]
    assert said(server.roost.create("long"), "cat /end")
