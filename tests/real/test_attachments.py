"""The mount that every sandbox has for volumes: empty, out of the guest's hands, and a way in for what the host attaches."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roost.client import Sandbox
from roost.node.engine.bundle import VOLUMES_MOUNT
from roost.node.storage.attachments import Attachments
from tests.real.server import Server, eventually, said


def container_of(server: Server, sandbox: Sandbox) -> str:
    return json.loads((server.volume / "sandboxes" / sandbox.id / "journal.json").read_text())["container"]


@contextmanager
def attached(server: Server, sandbox: Sandbox, source: Path) -> Iterator[None]:
    """The source is in the sandbox as `stuff`."""
    volumes, container = server.run_dir / "volumes", container_of(server, sandbox)
    point = volumes / "made" / container / "stuff"
    point.mkdir(exist_ok=True)
    source.chmod(0o755)
    target = volumes / "shared" / container / "stuff"
    subprocess.run(["mount", "--bind", source, target], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", target], check=True)
        point.rmdir()


@pytest.fixture
def sandbox(server: Server) -> Iterator[Sandbox]:
    sandbox = server.roost.create()
    yield sandbox
    sandbox.kill()


def test_it_is_empty_and_nothing_can_be_put_there_from_inside(server: Server, sandbox: Sandbox) -> None:
    """It is the host's memory: not to be filled by a guest."""
    folder = server.run_dir / "volumes" / "made" / container_of(server, sandbox)
    before = folder.stat()
    assert said(sandbox, f"sudo ls -A {VOLUMES_MOUNT}") == ""
    for attempt in ("touch {}/file", "mkdir {}/folder", "ln -s / {}/link", "cp /bin/ls {}"):
        result = sandbox.run(["sudo", "sh", "-c", attempt.format(VOLUMES_MOUNT)])
        assert result.code != 0 and "Read-only file system" in result.stderr, attempt
    # The engine makes believe, in the guest's own memory.
    sandbox.run(["sudo", "sh", "-c", f"cd {VOLUMES_MOUNT}; mknod pipe p; chmod 777 .; chown 1000 ."])
    after = folder.stat()
    assert (after.st_mode, after.st_uid, after.st_mtime_ns) == (before.st_mode, before.st_uid, before.st_mtime_ns)
    assert not list(folder.iterdir())


def test_what_is_attached_while_it_runs_is_there(server: Server, sandbox: Sandbox, tmp_path: Path) -> None:
    inside = f"{VOLUMES_MOUNT}/stuff"
    (tmp_path / "from-outside").write_text("hello\n")
    with attached(server, sandbox, tmp_path):
        assert said(sandbox, f"cat {inside}/from-outside") == "hello"
        said(sandbox, f"echo hi | sudo tee {inside}/from-inside")
        assert (tmp_path / "from-inside").read_text() == "hi\n"
    assert said(sandbox, f"ls -A {VOLUMES_MOUNT}") == ""
    sandbox.pause()
    sandbox.resume()
    assert said(sandbox, f"ls -A {VOLUMES_MOUNT}") == ""
    with attached(server, sandbox, tmp_path):
        assert said(sandbox, f"cat {inside}/from-inside") == "hi"


def test_sandboxes_do_not_see_each_others(server: Server, sandbox: Sandbox, tmp_path: Path) -> None:
    other = server.roost.create()
    try:
        (tmp_path / "private").touch()
        with attached(server, sandbox, tmp_path):
            assert said(sandbox, f"ls -A {VOLUMES_MOUNT}/stuff") == "private"
            assert said(other, f"sudo ls -A {VOLUMES_MOUNT}") == ""
    finally:
        other.kill()


def test_the_directory_goes_with_its_container(server: Server) -> None:
    sandbox = server.roost.create()
    folder = server.run_dir / "volumes" / "made" / container_of(server, sandbox)
    assert folder.is_dir()
    sandbox.pause()
    eventually(lambda: _check_gone(folder))
    sandbox.resume()
    folder = server.run_dir / "volumes" / "made" / container_of(server, sandbox)
    assert folder.is_dir()
    sandbox.kill()
    eventually(lambda: _check_gone(folder))


def _check_gone(folder: Path) -> None:
    assert not folder.exists()


def test_it_may_be_opened_and_closed_twice(tmp_path: Path) -> None:
    attachments = Attachments(tmp_path / "volumes")
    for _ in range(2):
        attachments.open()
        assert attachments.make("one").is_dir()
    assert Path("/proc/self/mountinfo").read_text().count(str(tmp_path)) == 2, "one mount, of one directory"
    for _ in range(2):
        attachments.close()
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
    assert not list(tmp_path.iterdir())
