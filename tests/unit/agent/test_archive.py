from __future__ import annotations

import io
import os
import socket
import tarfile
from pathlib import Path

import httpx
import pytest

from roost_agent.files.archive import packed

from .guest import Guest
from .test_files_http import high_water_kb


def archive(guest: Guest, path: Path | str) -> httpx.Response:
    return guest.http.get("/files/archive", params={"path": str(path)})


def opened(content: bytes) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(content), mode="r:*")


def content_of(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    assert file is not None
    return file.read()


def test_a_directory_comes_with_all_it_holds(guest: Guest, tmp_path: Path) -> None:
    top = tmp_path / "żółć and more"
    (top / "deep" / "deeper").mkdir(parents=True)
    (top / "empty").mkdir()
    (top / "deep" / "data").write_bytes(bytes(range(256)) * 5000)
    (top / "deep" / "deeper" / ("n" * 200)).write_text("a long name")
    (top / "run.sh").write_text("true\n")
    (top / "run.sh").chmod(0o755)
    (top / "link").symlink_to("deep/data")
    (top / "outside").symlink_to("/etc")
    os.link(top / "run.sh", top / "same.sh")
    os.mkfifo(top / "pipe")
    os.utime(top / "run.sh", (1, 1_000_000_000))
    (top / os.fsdecode(b"\xff")).write_text("no text")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(top / "socket"))
        answer = archive(guest, top)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/gzip"
    assert answer.headers["content-disposition"].startswith("attachment; filename*=utf-8''")
    with opened(answer.content) as tar:
        inside = {member.name.partition("/")[2]: member for member in tar.getmembers()}
        assert {member.name.partition("/")[0] for member in inside.values()} == {top.name}
        assert set(inside) == {
            *("", "deep", "deep/data", "deep/deeper", f"deep/deeper/{'n' * 200}", "empty", "run.sh", "same.sh"),
            *("link", "outside", "pipe", os.fsdecode(b"\xff")),
        }
        assert content_of(tar, f"{top.name}/deep/data") == bytes(range(256)) * 5000
        assert (inside["run.sh"].mode & 0o777, inside["run.sh"].mtime) == (0o755, 1_000_000_000)
        assert inside["link"].linkname == "deep/data" and inside["outside"].issym()
        assert inside["same.sh"].islnk() and inside["same.sh"].linkname == f"{top.name}/run.sh"
        assert inside["pipe"].isfifo() and inside["empty"].isdir()


def test_a_link_to_a_directory_is_followed_at_the_top(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("here")
    (tmp_path / "called").symlink_to("real")
    with opened(archive(guest, tmp_path / "called").content) as tar:
        assert content_of(tar, "called/file") == b"here"


def test_refusals(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert archive(guest, tmp_path / "nothing").status_code == 404
    answer = archive(guest, tmp_path / "file")
    assert answer.status_code == 400 and "GET /files reads it" in answer.json()["message"]
    head = guest.http.head("/files/archive", params={"path": str(tmp_path)})
    assert head.status_code == 200 and head.headers["content-disposition"].startswith("attachment")


def test_files_that_change_while_they_are_read(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    for name in ("a", "b", "c"):
        (top / name).write_bytes(name.encode() * 3000)
    pieces = packed(str(top), "top")
    told = [next(pieces), next(pieces)]  # The head of the directory, and of its first file.
    (top / "a").write_bytes(b"")
    (top / "b").unlink()
    (top / "c").write_bytes(b"C" * 9000)
    with opened(b"".join([*told, *pieces])) as tar:
        assert tar.getnames() == ["top", "top/a", "top/c"]
        assert content_of(tar, "top/a") == bytes(3000)
        assert content_of(tar, "top/c") == b"C" * 9000


@pytest.mark.skipif(os.geteuid() != 0, reason="parts of /dev are closed to others; the agent is root")
def test_other_file_systems_are_left_out() -> None:
    pieces = packed("/dev", "dev")
    with opened(b"".join(pieces)) as tar:
        names = tar.getnames()
    assert "dev/null" in names
    assert not [name for name in names if name.startswith("dev/pts/")], "a file system of its own"


def test_a_large_directory_takes_no_memory(tmp_path: Path) -> None:
    guest = Guest("--trust-local")
    try:
        (tmp_path / "top").mkdir()
        for name in ("one", "two"):
            (tmp_path / "top" / name).write_bytes(os.urandom(1_000_000) * 50)
        archive(guest, tmp_path / "top" / "missing")
        before, size = high_water_kb(guest), 0
        with guest.http.stream("GET", "/files/archive", params={"path": str(tmp_path / "top")}) as answer:
            for chunk in answer.iter_raw():
                size += len(chunk)
        assert size > 90_000_000
        assert high_water_kb(guest) - before < 16_000
    finally:
        guest.close()
