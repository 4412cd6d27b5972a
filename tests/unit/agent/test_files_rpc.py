from __future__ import annotations

import getpass
import os
from pathlib import Path

import pytest

from .guest import Guest, Message, RpcFailure

FS = "filesystem.Filesystem/"


def stat(guest: Guest, path: Path | str) -> Message:
    return guest.call(FS + "Stat", {"path": str(path)})["entry"]


def names(guest: Guest, path: Path, depth: int | None = None) -> list[str]:
    message: Message = {"path": str(path)} | ({} if depth is None else {"depth": depth})
    entries = guest.call(FS + "ListDir", message)["entries"]
    return [str(Path(entry["path"]).relative_to(path)) for entry in entries]


def test_stat_of_a_file(guest: Guest, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    path.chmod(0o640)
    os.utime(path, ns=(0, 1_700_000_000_123_000_000))
    entry = stat(guest, path)
    assert entry | {"group": ""} == {
        "name": "file",
        "type": "FILE_TYPE_FILE",
        "path": str(path),
        "size": "5",
        "mode": 0o640,
        "permissions": "-rw-r-----",
        "owner": getpass.getuser(),
        "group": "",
        "modifiedTime": "2023-11-14T22:13:20.123Z",
    }


def test_a_directory_has_a_size(guest: Guest) -> None:
    """Some file systems say 0 of an empty one, where E2B's clients see what ext4 says."""
    assert os.stat("/proc").st_size == 0
    assert stat(guest, "/proc")["size"] == "4096"
    [entry] = [entry for entry in guest.call(FS + "ListDir", {"path": "/"})["entries"] if entry["path"] == "/proc"]
    assert entry["size"] == "4096"


def test_stat_of_other_things(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir(0o755)
    assert stat(guest, tmp_path / "directory")["permissions"] == "drwxr-xr-x"
    assert stat(guest, "/tmp")["permissions"].startswith("dt")
    assert stat(guest, "/dev/null") | {} and stat(guest, "/dev/null")["permissions"] == "Dcrw-rw-rw-"
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    link = stat(guest, tmp_path / "link")
    assert (link["type"], link["isSymlink"], link["permissions"]) == ("FILE_TYPE_FILE", True, "Lrwxrwxrwx")
    assert link["symlinkTarget"] == str(tmp_path / "file")
    (tmp_path / "broken").symlink_to("nowhere")
    broken = stat(guest, tmp_path / "broken")
    assert (broken["type"], broken["isSymlink"]) == ("FILE_TYPE_UNSPECIFIED", True)
    (tmp_path / "loop").symlink_to("loop")
    assert stat(guest, tmp_path / "loop")["type"] == "FILE_TYPE_UNSPECIFIED"
    assert stat(guest, "/")["name"] == "/"
    with pytest.raises(RpcFailure, match="not_found"):
        stat(guest, tmp_path / "missing")


def test_list_is_depth_first_in_the_order_of_names(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "b" / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "b" / "a.txt").touch()
    (tmp_path / "a").touch()
    (tmp_path / "c").symlink_to("b")
    assert names(guest, tmp_path) == names(guest, tmp_path, 0) == names(guest, tmp_path, 1) == ["a", "b", "c"]
    assert names(guest, tmp_path, 2) == ["a", "b", "b/a.txt", "b/deep", "c"]
    assert names(guest, tmp_path, 9) == ["a", "b", "b/a.txt", "b/deep", "b/deep/deeper", "c"]
    # The directory asked for may be a link; its entries keep the name it was asked by.
    assert names(guest, tmp_path / "c") == ["a.txt", "deep"]
    with pytest.raises(RpcFailure, match="not_found"):
        names(guest, tmp_path / "missing")
    with pytest.raises(RpcFailure, match="invalid_argument"):
        names(guest, tmp_path / "a")


def test_make_dir(guest: Guest, tmp_path: Path) -> None:
    path = tmp_path / "one" / "two"
    entry = guest.call(FS + "MakeDir", {"path": str(path)})["entry"]
    assert entry["type"] == "FILE_TYPE_DIRECTORY" and path.is_dir()
    with pytest.raises(RpcFailure, match="already_exists"):
        guest.call(FS + "MakeDir", {"path": str(path)})
    (tmp_path / "file").touch()
    for wrong in ("file", "file/below"):
        with pytest.raises(RpcFailure, match="invalid_argument"):
            guest.call(FS + "MakeDir", {"path": str(tmp_path / wrong)})


def test_move(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("content")
    message = {"source": str(tmp_path / "a"), "destination": str(tmp_path / "new" / "b")}
    entry = guest.call(FS + "Move", message)["entry"]
    assert entry["path"] == str(tmp_path / "new" / "b")
    assert (tmp_path / "new" / "b").read_text() == "content" and not (tmp_path / "a").exists()
    with pytest.raises(RpcFailure, match="not_found"):
        guest.call(FS + "Move", message)


def test_move_between_filesystems(guest: Guest, tmp_path: Path) -> None:
    shared = Path("/dev/shm") / f"roost-agent-test-{os.getpid()}"
    if shared.parent.stat().st_dev == tmp_path.stat().st_dev:
        pytest.fail("this test needs /dev/shm on a filesystem of its own")
    source = tmp_path / "tree"
    (source / "below").mkdir(parents=True)
    (source / "below" / "file").write_text("content")
    (source / "link").symlink_to("below/file")
    (source / "below" / "file").chmod(0o600)
    try:
        guest.call(FS + "Move", {"source": str(source), "destination": str(shared)})
        assert not source.exists()
        assert (shared / "below" / "file").read_text() == "content"
        assert (shared / "below" / "file").stat().st_mode & 0o777 == 0o600
        assert (shared / "link").readlink() == Path("below/file")
    finally:
        guest.call(FS + "Remove", {"path": str(shared)})
    assert not shared.exists()


def test_remove(guest: Guest, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "file").touch()
    (tree / "link").symlink_to(outside)
    assert guest.call(FS + "Remove", {"path": str(tree)}) == {}
    assert not tree.exists() and (outside / "kept").exists()
    assert guest.call(FS + "Remove", {"path": str(tree)}) == {}
    (tmp_path / "link").symlink_to(outside)
    guest.call(FS + "Remove", {"path": str(tmp_path / "link")})
    assert (outside / "kept").exists() and not (tmp_path / "link").is_symlink()
    with pytest.raises(RpcFailure, match="invalid_argument"):
        guest.call(FS + "Remove", {})
