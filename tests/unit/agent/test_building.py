"""Files put into place and taken out while a template is built. As root: owners are part of it."""

from __future__ import annotations

import io
import json
import os
import struct
import tarfile
from pathlib import Path
from typing import Any

import httpx
import pytest

from roost_agent.users import UnknownUser, Users

from .guest import Guest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to others")


def tar(*members: tuple[str, bytes | None] | tarfile.TarInfo) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            name, content = member
            info = tarfile.TarInfo(name)
            info.mtime, info.mode = 1000, 0o640
            if content is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o750
            info.size = len(content or b"")
            archive.addfile(info, io.BytesIO(content or b""))
    return made.getvalue()


def unpack(guest: Guest, target: Path | str, archive: bytes, **order: Any) -> httpx.Response:
    head = json.dumps({"target": str(target), **order}).encode()
    return guest.http.post("/roost/build/unpack", content=struct.pack(">I", len(head)) + head + archive)


def link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


@needs_root
def test_one_file_is_called_as_the_target_says(guest: Guest, tmp_path: Path) -> None:
    answer = unpack(guest, tmp_path / "new" / "name", tar(("a", b"content")))
    assert answer.json() == {"files": 1}
    made = tmp_path / "new" / "name"
    assert made.read_bytes() == b"content"
    assert made.stat().st_mode & 0o7777 == 0o640
    assert made.stat().st_mtime == 1000


@needs_root
def test_a_target_that_is_a_directory_holds_them(guest: Guest, tmp_path: Path) -> None:
    unpack(guest, f"{tmp_path}/new/", tar(("a", b"1"), ("b", b"2")))
    (tmp_path / "there").mkdir()
    unpack(guest, tmp_path / "there", tar(("a", b"1")))
    assert (tmp_path / "new" / "b").read_bytes() == b"2"
    assert (tmp_path / "there" / "a").read_bytes() == b"1"


@needs_root
def test_directories_links_owners_and_modes(guest: Guest, tmp_path: Path) -> None:
    archive = tar(
        (".", None), ("deep", None), ("deep/file", b"x"), link("to", "deep/file"), link("same", "deep/file", tarfile.LNKTYPE)
    )
    answer = unpack(guest, tmp_path / "t", archive, owner="12345:54321")
    assert answer.status_code == 200, answer.text
    file = tmp_path / "t" / "deep" / "file"
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 54321)
    assert (tmp_path / "t" / "deep").stat().st_mode & 0o777 == 0o750
    assert os.readlink(tmp_path / "t" / "to") == "deep/file"
    assert (tmp_path / "t" / "same").stat().st_ino == file.stat().st_ino


@needs_root
def test_an_archive_within_is_unpacked_if_asked(guest: Guest, tmp_path: Path) -> None:
    inner = tar(("inside", b"y"))
    unpack(guest, f"{tmp_path}/kept/", tar(("a.tar", inner)))
    unpack(guest, f"{tmp_path}/open/", tar(("a.tar", inner), ("plain", b"p" * 600)), unpacks=True)
    assert (tmp_path / "kept" / "a.tar").read_bytes() == inner
    assert (tmp_path / "open" / "inside").read_bytes() == b"y"
    assert (tmp_path / "open" / "plain").exists()


@needs_root
def test_a_file_takes_the_place_of_a_link(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("stays")
    (tmp_path / "name").symlink_to("other")
    unpack(guest, tmp_path / "name", tar(("name", b"new")))
    assert (tmp_path / "other").read_text() == "stays"
    assert not (tmp_path / "name").is_symlink()


@needs_root
@pytest.mark.parametrize(
    ("order", "archive", "says"),
    [
        ({"owner": "nobody-here"}, tar(("a", b"")), "no user or group"),
        ({}, b"x" * 600, "cannot be read"),
        ({"target": "a"}, b"", "absolute"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(guest: Guest, tmp_path: Path, order: dict[str, Any], archive: bytes, says: str) -> None:
    head = json.dumps({"target": str(tmp_path / "t"), **order}).encode()
    answer = guest.http.post("/roost/build/unpack", content=struct.pack(">I", len(head)) + head + archive)
    assert answer.status_code == 400
    assert says in answer.json()["message"]


def test_files_are_packed_by_patterns(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.so").write_text("a")
    (tmp_path / "lib" / "b.txt").write_text("b")
    answer = guest.http.post("/roost/build/pack", json={"sources": [f"{tmp_path}/lib/*.so", f"{tmp_path}/lib"]})
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as packed:
        names = packed.getnames()
    assert names == ["a.so", ".", "./a.so", "./b.txt"]
    assert guest.http.post("/roost/build/pack", json={"sources": [f"{tmp_path}/none"]}).status_code == 404


def pack(guest: Guest, *sources: str, **asked: Any) -> list[str]:
    answer = guest.http.post("/roost/build/pack", json={"sources": sources, **asked})
    assert answer.status_code == 200, answer.text
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        return sorted(archive.getnames())


def test_what_is_excluded_is_not_packed(guest: Guest, tmp_path: Path) -> None:
    for name in ("a.py", "a.md", "deep/b.md", "deep/er/c.md", "deep/d.py"):
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text("x")
    source = f"{tmp_path}/src"
    assert pack(guest, source, exclude=["*.md"]) == [
        ".",
        "./a.py",
        "./deep",
        "./deep/b.md",
        "./deep/d.py",
        "./deep/er",
        "./deep/er/c.md",
    ]
    assert pack(guest, source, exclude=["**/*.md"]) == [".", "./a.py", "./deep", "./deep/d.py", "./deep/er"]
    assert pack(guest, source, exclude=["deep"]) == [".", "./a.md", "./a.py"]
    assert pack(guest, f"{source}/a.*", exclude=["*.md"]) == ["a.py"]


def test_a_pattern_may_fit_nothing(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert pack(guest, f"{tmp_path}/a", f"{tmp_path}/none*") == ["a"]


def test_parents_are_kept_from_the_pivot_on_at_any_depth(guest: Guest, tmp_path: Path) -> None:
    for name in ("x/y/a.txt", "x/y/z/b.txt", "x/c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert pack(guest, f"{tmp_path}/x/./y/*.txt", keepsParents=True) == ["y/a.txt"]
    assert pack(guest, f"{tmp_path}/./x/**/*.txt", keepsParents=True) == ["x/c.txt", "x/y/a.txt", "x/y/z/b.txt"]


def test_users_by_number_and_group() -> None:
    users = Users()
    users.may_switch = True
    plain = users.find("4321")
    assert (plain.uid, plain.gid, plain.home) == (4321, 0, "/")
    both = users.find("root:4321")
    assert (both.uid, both.gid, both.groups) == (0, 4321, (4321,))
    for unknown in ("no such", "99999999999", "root:no such", ""):
        with pytest.raises(UnknownUser):
            users.find(unknown)
