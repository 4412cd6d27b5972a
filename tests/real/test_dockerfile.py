"""A Dockerfile that uses what Docker knows, built by a whole server: its sandboxes have what Docker would have made."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.server import REPOSITORY, Server, said, serving

DOCKERFILE = r"""# syntax=docker/dockerfile:1
ARG BASE=base
FROM roost/${BASE} AS tools
USER root
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
WORKDIR /out
RUN echo built > tool && chmod 700 tool && ln -s tool link && mkdir sub && echo deep > sub/file
RUN --mount=type=cache,target=/cache echo x >> /cache/runs && wc -l < /cache/runs > runs

FROM roost/base AS unused
RUN exit 1

FROM roost/base
USER root
ARG VERSION=1.2.3
ARG TARGETARCH
ENV MAJOR=${VERSION%%.*} FILE=app-${VERSION//./_}.tar ARCH=$TARGETARCH QUOTED="a \"b\" 'c' \$d"
RUN env | grep -E '^(MAJOR|FILE|ARCH|QUOTED|VERSION)=' | sort > /env
WORKDIR /srv
WORKDIR app
COPY --chown=1000:1000 --chmod=u=rw,go=r *.txt missing*.cfg ./
COPY src ./src/
COPY --exclude=*.md --exclude=**/*.log src/ ./picked
COPY --parents src/./deep/*.py ./kept/
COPY named-link linked
ADD files.tar.gz unpacked/
COPY --from=tools /out ./tools
COPY --from=tools /out/link /out/run* /out/none* ./single/
COPY --from=tools --exclude=**/file --exclude=t* /out ./lean
COPY --from=tools --parents /out/./sub/* ./above/
COPY --chmod=755 <<script <<-"plain" /usr/local/bin/
#!/bin/sh
echo "script of $VERSION"
script
	not replaced: $VERSION
	plain
RUN <<EOF
echo one
cat > /heredoc <<INNER
major $MAJOR
INNER
EOF
RUN <<EOF
#!/usr/bin/env python3
import os, pathlib
pathlib.Path("/python").write_text("version " + os.environ["VERSION"])
EOF
RUN --mount=type=secret,id=token,env=TOKEN --mount=type=secret,id=token,target=/run/token \
    test "$TOKEN" = "$(cat /run/token)" && sha256sum /run/token | grep ^bf496b76
RUN --network=none echo offline > /offline
RUN ["/bin/sh", "-c", "echo \"$0 is $MAJOR\" > /words", "zero"]
USER user
WORKDIR mine
RUN touch by-user && id -un > whoami
LABEL built.from="$FILE"
EXPOSE 8080
ENTRYPOINT ["/bin/sh", "-c", "exec sleep \"$1\"", "entry"]
CMD ["4242"]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("project")
    files = {
        "Dockerfile": DOCKERFILE,
        ".dockerignore": "*.secret\n**/ignored\n!src/ignored\n",
        "a.txt": "a",
        "b.txt": "b",
        "c.secret": "c",
        "src/main.py": "main",
        "src/readme.md": "md",
        "src/deep/x.py": "x",
        "src/deep/y.log": "y",
        "src/deep/ignored": "no",
        "src/ignored": "yes",
        "target-of-link": "linked",
        "token": "s3cret-value",
    }
    for name, content in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(content)
    (top / "src/alias").symlink_to("main.py")
    (top / "named-link").symlink_to("target-of-link")
    with tarfile.open(top / "files.tar.gz", "w:gz") as tar:
        info = tarfile.TarInfo("inside/file")
        info.size = 4
        tar.addfile(info, io.BytesIO(b"tar\n"))
    return top


def build(server: Server, project: Path, *more: str | Path) -> dict[str, Any]:
    secret = f"id=token,src={project / 'token'}"
    words = ("template", "build", "whole", "--dockerfile", project / "Dockerfile", "--secret", secret)
    environment = {**os.environ, "ROOST_URL": server.url, "ROOST_API_KEY": server.key}
    done = subprocess.run(
        [sys.executable, "-m", "roost.cli.main", *map(str, (*words, "--json", *more))],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:] + server.log_tail()
    assert "s3cret-value" not in done.stdout + done.stderr
    return json.loads(done.stdout)


EXPECTED = {
    "cat /env": "ARCH=amd64\nFILE=app-1_2_3.tar\nMAJOR=1\nQUOTED=a \"b\" 'c' $d\nVERSION=1.2.3\n",
    "pwd": "/srv/app/mine\n",
    "cd /srv/app && ls": "a.txt\nabove\nb.txt\nkept\nlean\nlinked\nmine\npicked\nsingle\nsrc\ntools\nunpacked\n",
    "stat -c '%u:%g %a' /srv/app/a.txt /srv/app": "1000:1000 644\n0:0 755\n",
    "cd /srv/app/src && ls . deep": ".:\nalias\ndeep\nignored\nmain.py\nreadme.md\n\ndeep:\nx.py\ny.log\n",
    "readlink /srv/app/src/alias": "main.py\n",
    "cd /srv/app/picked && ls . deep": ".:\nalias\ndeep\nignored\nmain.py\n\ndeep:\nx.py\n",
    "cd /srv/app/kept && find . -type f": "./deep/x.py\n",
    "stat -c %F /srv/app/linked && cat /srv/app/linked": "regular file\nlinked",
    "cat /srv/app/unpacked/inside/file": "tar\n",
    "cd /srv/app/tools && ls && readlink link && stat -c %a tool && cat sub/file": "link\nruns\nsub\ntool\ntool\n700\ndeep\n",
    "cd /srv/app/single && ls && stat -c '%F %s' link": "link\nruns\nregular file 6\n",
    "cd /srv/app && find lean above -type f": "lean/runs\nabove/sub/file\n",
    "script": "script of 1.2.3\n",
    "cat /usr/local/bin/plain": "not replaced: $VERSION\n",
    "cat /heredoc /python": "major 1\nversion 1.2.3",
    "cat /words": "zero is 1\n",
    "cat whoami && stat -c %U . by-user": "user\nuser\nuser\n",
    "ls -d /run/token /dev/pipes /cache 2>/dev/null; true": "",
    "pgrep -a sleep | cut -d' ' -f2-": "sleep 4242\n",
}


def test_a_sandbox_has_what_docker_would_have_made(server: Server, project: Path) -> None:
    first = build(server, project)
    sandbox = server.roost.create("whole")
    try:
        found = {command: sandbox.run(command).stdout for command in EXPECTED}
        assert found == EXPECTED
        runs = said(sandbox, "cat /srv/app/tools/runs")
    finally:
        sandbox.kill()
    assert runs == "1"
    assert "unused" not in json.dumps(first["steps"])

    again = build(server, project)
    assert {step["state"] for step in again["steps"]} == {"cached"}


def test_a_cache_is_kept_between_builds(server: Server, project: Path) -> None:
    build(server, project)
    (project / "Dockerfile").write_text(DOCKERFILE.replace("echo x >> /cache", "echo y >> /cache"))
    build(server, project)
    (project / "Dockerfile").write_text(DOCKERFILE)
    sandbox = server.roost.create("whole")
    assert said(sandbox, "cat /srv/app/tools/runs") == "2"
    sandbox.kill()


def test_only_what_comes_after_a_changed_file_runs_again(server: Server, project: Path) -> None:
    build(server, project)
    (project / "src/main.py").write_text("changed")
    steps = build(server, project)["steps"]
    states = {step["text"]: step["state"] for step in steps}
    assert states["COPY --chown=1000:1000 --chmod=u=rw,go=r *.txt missing*.cfg ./"] == "cached"
    assert states["COPY src ./src/"] == "done"
    assert [step["state"] for step in steps if step["stage"] == 0].count("cached") == len([s for s in steps if s["stage"] == 0])
    sandbox = server.roost.create("whole")
    assert said(sandbox, "cat /srv/app/src/alias") == "changed"
    sandbox.kill()
