"""`roost create --image` against a whole server and a real registry: from the name of an image to a command inside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.server import REPOSITORY, Server, serving
from tests.registry import File, Registry, archive, busybox, directory, image, symlink

PROGRAMS = ("sh", "cat", "echo", "id", "sleep", "ps", "pwd", "env", "httpd", "wget")


@pytest.fixture(scope="module")
def server(registry: Registry) -> Iterator[Server]:
    with serving(insecure_registries=registry.host) as server:
        yield server


def roost(server: Server, *words: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "roost.cli.main", *words],
        cwd=REPOSITORY,
        env={**os.environ, "ROOST_URL": server.url, "ROOST_API_KEY": server.key},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stderr + server.log_tail()
    return done


def small_system(*more: File) -> bytes:
    links = [symlink(f"bin/{name}", "busybox") for name in PROGRAMS]
    return archive(File("bin/busybox", busybox(), mode=0o755), *links, *more)


def test_an_image_is_a_sandbox_in_one_go(server: Server, registry: Registry) -> None:
    users = File("etc/passwd", b"root:x:0:0::/root:/bin/sh\napp:x:1234:1234::/srv:/bin/sh\n")
    layer = small_system(directory("srv", uid=1234, gid=1234), users, File("srv/index.html", b"from an image\n"))
    settings = {"Env": ["PATH=/bin", "GREETING=hello"], "User": "app", "WorkingDir": "/srv"}
    reference = registry.push("web", image(layer, **settings, Cmd=["httpd", "-f", "-p", "8000"]))
    sandbox = roost(server, "create", "--image", reference).stdout.strip()
    assert roost(server, "exec", sandbox, "id -un; pwd; echo $GREETING | cat").stdout == "app\n/srv\nhello\n"
    assert "httpd -f -p 8000" in roost(server, "exec", sandbox, "ps").stdout
    assert roost(server, "exec", sandbox, "wget -q -O - http://127.0.0.1:8000/").stdout == "from an image\n"
    roost(server, "kill", sandbox)

    started = time.monotonic()
    again = json.loads(roost(server, "create", "--image", reference, "--json").stdout)
    assert time.monotonic() - started < 30
    assert roost(server, "exec", again["id"], "--", "pwd").stdout == "/srv\n"


def test_a_program_alone_is_one_too(server: Server, registry: Registry) -> None:
    reference = registry.push("alone-in-one-go", image(archive(File("busybox", busybox(), mode=0o755))))
    sandbox = roost(server, "create", "--image", reference).stdout.strip()
    assert roost(server, "exec", sandbox, "--", "/busybox", "echo", "a  b").stdout == "a  b\n"
    assert roost(server, "exec", sandbox, "/busybox id -u").stdout == "0\n"
    assert "no shell" in roost(server, "exec", sandbox, "/busybox id | /busybox cat", fails=True).stderr


def test_a_tag_that_moved_is_built_again(server: Server, registry: Registry) -> None:
    for content in (b"one\n", b"two\n"):
        reference = registry.push("moving", image(small_system(File("said", content)), Env=["PATH=/bin"]))
        sandbox = roost(server, "create", "--image", reference).stdout.strip()
        assert roost(server, "exec", sandbox, "cat /said").stdout == content.decode()


def test_what_goes_wrong_is_told(server: Server, registry: Registry, tmp_path: Path) -> None:
    assert "has no image" in roost(server, "create", "--image", f"{registry.host}/nobody:1", fails=True).stderr
    assert "names no image" in roost(server, "create", "--image", "Not An Image", fails=True).stderr
    assert "private_registries" in roost(server, "create", "--image", "127.0.0.1:1/app:1", fails=True).stderr
    both = ("create", "--template", "other", "--image", "debian:12")
    assert "either --template or --image" in roost(server, *both, fails=True).stderr
