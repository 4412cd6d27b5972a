from __future__ import annotations

import threading
from pathlib import Path

import pytest

from roost.domain.errors import Fault
from roost.setup.artefacts import (
    digest_of_tree,
    discard,
    emptied,
    exclusive,
    link_tree,
    mounts_under,
    read_marker,
    write_marker,
)


def test_the_second_waits_says_so_and_goes_on(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "engine"
    waiting, order = threading.Event(), []

    def hear(text: str) -> None:
        order.append(text)
        waiting.set()

    def second() -> None:
        with exclusive(lock, hear):
            order.append("second")

    with exclusive(lock):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(20)
        order.append("first is done")
    thread.join(20)
    assert order == ["waiting for another set-up that is doing the same", "first is done", "second"]


def test_the_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), exclusive(tmp_path / "lock"):
        raise RuntimeError
    said: list[str] = []
    with exclusive(tmp_path / "lock", said.append):
        assert said == []


def test_markers(tmp_path: Path) -> None:
    marker = tmp_path / "made" / "marker.json"
    assert read_marker(marker) is None
    write_marker(marker, {"version": "1"})
    assert read_marker(marker) == {"version": "1"}
    marker.write_text('{"version": ')
    assert read_marker(marker) is None
    marker.write_text("[]")
    assert read_marker(marker) is None
    assert [path.name for path in marker.parent.iterdir()] == ["marker.json"]


def test_a_tree_is_shared_not_copied_and_links_stay_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "lib").mkdir(parents=True)
    (source / "lib" / "file").write_text("x")
    (source / "lib" / "link").symlink_to("file")
    link_tree(source, tmp_path / "target")
    assert (tmp_path / "target" / "lib" / "file").stat().st_ino == (source / "lib" / "file").stat().st_ino
    assert (tmp_path / "target" / "lib" / "link").readlink() == Path("file")
    assert digest_of_tree(source) == digest_of_tree(tmp_path / "target")


def test_a_digest_tells_content_names_modes_and_links_apart(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("a")
    seen = {digest_of_tree(tmp_path)}
    file.write_text("b")
    seen.add(digest_of_tree(tmp_path))
    file.chmod(0o700)
    seen.add(digest_of_tree(tmp_path))
    file.rename(tmp_path / "other")
    seen.add(digest_of_tree(tmp_path))
    (tmp_path / "link").symlink_to("other")
    seen.add(digest_of_tree(tmp_path))
    assert len(seen) == 5


def test_discard_takes_anything_and_nothing(tmp_path: Path) -> None:
    for path in (tmp_path / "file", tmp_path / "missing"):
        if path.name == "file":
            path.write_text("x")
        discard(path)
        assert not path.exists()
    folder = emptied(tmp_path / "folder")
    (folder / "inside").write_text("x")
    assert list(emptied(folder).iterdir()) == []
    (tmp_path / "link").symlink_to(folder)
    discard(tmp_path / "link")
    assert folder.is_dir()


def test_mount_points_below_are_seen(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(
        "1 0 0:1 / / rw - ext4 /dev/a rw\n"
        f"2 1 0:2 / {tmp_path}/work/proc rw - proc proc rw\n"
        f"3 1 0:3 / {tmp_path}/work/a\\040b rw - tmpfs tmpfs rw\n"
        f"4 1 0:4 / {tmp_path}/workshop rw - tmpfs tmpfs rw\n"
    )
    assert mounts_under(tmp_path / "work", table) == (tmp_path / "work" / "a b", tmp_path / "work" / "proc")


def test_nothing_is_removed_under_a_mount() -> None:
    # /proc is mounted on any Linux: the refusal must come before the first removal.
    with pytest.raises(Fault) as refused:
        discard(Path("/proc"))
    assert refused.value.code == "still_mounted"
