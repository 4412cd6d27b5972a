"""Copies both ways. The agent runs on this machine, so what is in the sandbox can be looked at directly."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from roost.cli.inside.cp import CopyEnd
from roost.cli.inside.tarring import tar_of, unpack
from roost.client.output import Output, Stream

from .server import Server


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    path = tmp_path / "inside"
    path.mkdir()
    return path


@pytest.fixture
def here(tmp_path: Path) -> Path:
    path = tmp_path / "here"
    path.mkdir()
    return path


def tree(root: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif path.is_dir():
            found[name] = ("directory", path.stat().st_mode & 0o777)
        else:
            found[name] = (path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return found


def grow(root: Path) -> None:
    (root / "sub/deep").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "sub").chmod(0o750)
    (root / "sealed").mkdir()
    (root / "sealed/inside").write_text("z")
    (root / "sealed").chmod(0o555)
    (root / "none").write_bytes(b"")
    (root / "sub/data.bin").write_bytes(os.urandom(700_001))
    (root / "sub/deep/ünïcode name").write_text("x")
    (root / ("long" * 60)).write_text("y")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("sub/data.bin")
    (root / "outside").symlink_to("/usr/bin/python3")
    os.link(root / "none", root / "twin")


def test_a_file_goes_in_and_comes_out(server: Server, sandbox: str, here: Path, inside: Path) -> None:
    data = os.urandom(1_000_003)
    (here / "a").write_bytes(data)
    assert server.cli("cp", str(here / "a"), f"{sandbox}:{inside}/b").returncode == 0
    assert (inside / "b").read_bytes() == data
    assert server.cli("cp", f"{sandbox}:{inside}/b", str(here / "c")).returncode == 0
    assert (here / "c").read_bytes() == data
    assert sorted(path.name for path in here.iterdir()) == ["a", "c"]
    told = json.loads(server.cli("cp", "--json", f"{sandbox}:{inside}/b", str(here)).stdout)
    assert (told["path"], told["source"]) == (str(here / "b"), f"{sandbox}:{inside}/b")
    assert json.loads(server.cli("cp", "--json", str(here / "b"), f"{sandbox}:{inside}/d").stdout)["path"] == f"{inside}/d"


def test_into_a_directory_it_keeps_its_name(server: Server, sandbox: str, here: Path, inside: Path) -> None:
    (here / "a").write_text("1")
    (here / "a").chmod(0o755)
    assert server.cli("cp", str(here / "a"), f"{sandbox}:{inside}").returncode == 0
    assert server.cli("cp", str(here / "a"), f"{sandbox}:{inside}/new/").returncode == 0
    assert (inside / "a").read_text() == (inside / "new/a").read_text() == "1"
    assert (inside / "a").stat().st_mode & 0o100
    (inside / "z").write_text("2")
    (inside / "z").chmod(0o700)
    assert server.cli("cp", f"{sandbox}:{inside}/z", str(here)).returncode == 0
    assert (here / "z").read_text() == "2"
    assert (here / "z").stat().st_mode & 0o777 == 0o700


def test_a_directory_goes_in_and_comes_out_whole(server: Server, sandbox: str, here: Path, inside: Path) -> None:
    (here / "project").mkdir()
    grow(here / "project")
    assert server.cli("cp", str(here / "project"), f"{sandbox}:{inside}/copy").returncode == 0
    assert tree(inside / "copy") == tree(here / "project")
    assert server.cli("cp", str(here / "project"), f"{sandbox}:{inside}").returncode == 0
    assert tree(inside / "project") == tree(here / "project")
    out = server.cli("cp", f"{sandbox}:{inside}/copy", str(here / "back"))
    assert out.returncode == 0, out.stderr
    assert tree(here / "back") == tree(here / "project")


def test_a_cut_connection_does_not_spoil_a_copy(server: Server, sandbox: str, here: Path, inside: Path) -> None:
    grow(inside)
    server.router.cut_after_bytes += [200, 100_000, 300_000]
    out = server.cli("cp", f"{sandbox}:{inside}", str(here / "back"))
    assert out.returncode == 0, out.stderr
    assert tree(here / "back") == tree(inside)


def test_what_is_not_there_is_told(server: Server, sandbox: str, here: Path, inside: Path) -> None:
    missing = server.cli("cp", f"{sandbox}:{inside}/nothing", str(here))
    assert missing.returncode == 1
    assert b"nothing" in missing.stderr
    missing = server.cli("cp", str(here / "nothing"), f"{sandbox}:{inside}")
    assert missing.returncode == 1
    assert b"No such file" in missing.stderr
    (inside / "file").write_text("x")
    refused = server.cli("cp", f"{sandbox}:{inside}/file", str(here / "no" / "such"))
    assert refused.returncode == 1
    (inside / "folder").mkdir()
    refused = server.cli("cp", f"{sandbox}:{inside}/folder", f"{here}/no/")
    assert refused.returncode == 1
    assert b"There is no directory" in refused.stderr
    assert list(here.iterdir()) == []


def test_a_large_file_is_copied_in_constant_memory(server: Server, sandbox: str, here: Path, inside: Path) -> None:
    size = 300 << 20
    with (here / "large").open("wb") as file:
        file.truncate(size)
    script = (
        "import re, sys; from roost.cli.main import run; code = run(sys.argv[1:]);"
        # Not getrusage: that counts what the process that started this one had.
        " print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]); sys.exit(code)"
    )
    for words in ((str(here / "large"), f"{sandbox}:{inside}/large"), (f"{sandbox}:{inside}/large", str(here / "back"))):
        ran = subprocess.run([sys.executable, "-c", script, "cp", *words], env=server.env, capture_output=True, check=True)
        assert int(ran.stdout) < 100 << 10  # KiB
    assert (here / "back").stat().st_size == size


class Saying:
    """A process that says a tar, in small pieces."""

    def __init__(self, archive: bytes) -> None:
        self._archive = archive

    def __iter__(self):
        for start in range(0, len(self._archive), 1000):
            yield Output(Stream.STDOUT, self._archive[start : start + 1000])


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return content.getvalue()


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    "members",
    [
        [(tarfile.TarInfo("../escaped"), b"x")],
        [(tarfile.TarInfo("a/../../escaped"), b"x")],
        [(link("door", "..", tarfile.SYMTYPE), b""), (tarfile.TarInfo("door/escaped"), b"x")],
        [(link("twin", "../secret", tarfile.LNKTYPE), b""), (tarfile.TarInfo("twin"), b"x")],
    ],
)
def test_a_hostile_sandbox_writes_nothing_outside(tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    (tmp_path / "secret").write_text("mine")
    from roost.domain.errors import RoostError

    with pytest.raises(RoostError):
        unpack(Saying(archive(*members)), tmp_path / "into", lambda _: None)  # type: ignore[arg-type]
    assert not (tmp_path / "escaped").exists()
    assert (tmp_path / "secret").read_text() == "mine"


def test_a_tar_is_readable_by_others(tmp_path: Path) -> None:
    grow(tmp_path)
    moved = 0

    def advance(size_bytes: int) -> None:
        nonlocal moved
        moved += size_bytes

    with tarfile.open(fileobj=io.BytesIO(b"".join(tar_of(tmp_path, advance)))) as tar:
        names = set(tar.getnames())
    assert names == {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert moved >= 700_001


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ada:/etc/hosts", CopyEnd("ada", "/etc/hosts")),
        ("ada:", CopyEnd("ada", ".")),
        ("./ada:b", CopyEnd(None, "./ada:b")),
        ("/a:b", CopyEnd(None, "/a:b")),
        ("plain", CopyEnd(None, "plain")),
    ],
)
def test_a_colon_before_any_slash_means_a_sandbox(text: str, expected: CopyEnd) -> None:
    assert CopyEnd.of(text) == expected
