from __future__ import annotations

from pathlib import Path

import pytest

from .guest import Guest, Message, RpcFailure

FS = "filesystem.Filesystem/"


class Watch:
    def __init__(self, guest: Guest, path: Path, **options: bool) -> None:
        self._guest = guest
        self.id = guest.call(FS + "CreateWatcher", {"path": str(path), **options})["watcherId"]

    def events(self) -> list[Message]:
        return self._guest.call(FS + "GetWatcherEvents", {"watcherId": self.id})["events"]

    def short(self) -> list[tuple[str, str]]:
        return [(event["type"].removeprefix("EVENT_TYPE_"), event["name"]) for event in self.events()]


def upload(guest: Guest, path: Path, content: bytes) -> None:
    kind = {"Content-Type": "application/octet-stream"}
    assert guest.http.post("/files", params={"path": str(path)}, content=content, headers=kind).status_code == 200


def test_an_upload_is_exactly_three_events(guest: Guest, tmp_path: Path) -> None:
    watch = Watch(guest, tmp_path)
    upload(guest, tmp_path / "file", b"content")
    assert watch.short() == [("CREATE", "file"), ("CHMOD", "file"), ("WRITE", "file")]
    assert watch.events() == []


def test_what_is_told_of_changes(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    watch = Watch(guest, tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    (tmp_path / "b").chmod(0o600)
    (tmp_path / "b").unlink()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "unseen").touch()
    assert watch.short() == [("RENAME", "a"), ("CREATE", "b"), ("CHMOD", "b"), ("REMOVE", "b"), ("CREATE", "sub")]


def test_recursive_watches_follow_new_directories(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    watch = Watch(guest, tmp_path, recursive=True)
    (tmp_path / "old" / "file").touch()
    assert ("CREATE", "old/file") in watch.short()
    (tmp_path / "new" / "deep").mkdir(parents=True)
    (tmp_path / "new" / "deep" / "early").touch()
    created = [name for kind, name in watch.short() if kind == "CREATE"]
    assert created == ["new", "new/deep", "new/deep/early"]
    (tmp_path / "new" / "deep" / "late").write_text("x")
    assert [event for event in watch.short() if event[0] != "CHMOD"] == [
        ("CREATE", "new/deep/late"),
        ("WRITE", "new/deep/late"),
    ]
    outside = tmp_path.parent / "elsewhere"
    (tmp_path / "new").rename(outside)
    (outside / "deep" / "unseen").touch()
    assert watch.short() == [("RENAME", "new")]


def test_entries_come_along_when_asked_for(guest: Guest, tmp_path: Path) -> None:
    watch = Watch(guest, tmp_path, includeEntry=True)
    upload(guest, tmp_path / "file", b"12345")
    events = watch.events()
    assert events[-1]["entry"]["size"] == "5" and events[0]["entry"]["path"] == str(tmp_path / "file")
    (tmp_path / "file").unlink()
    assert [set(event) for event in watch.events()] == [{"name", "type"}]


def test_streamed_events(guest: Guest, tmp_path: Path) -> None:
    with guest.stream(FS + "WatchDir", {"path": str(tmp_path)}) as events:
        assert next(events) == {"start": {}}
        upload(guest, tmp_path / "file", b"x")
        assert [next(events)["filesystem"]["type"] for _ in range(3)] == [
            "EVENT_TYPE_CREATE",
            "EVENT_TYPE_CHMOD",
            "EVENT_TYPE_WRITE",
        ]


def test_the_time_to_watch_ends(guest: Guest, tmp_path: Path) -> None:
    with (
        pytest.raises(RpcFailure, match="deadline_exceeded"),
        guest.stream(FS + "WatchDir", {"path": str(tmp_path)}, **{"Connect-Timeout-Ms": "50"}) as events,
    ):
        assert list(events)


def test_what_cannot_be_watched(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RpcFailure, match="invalid_argument"):
        Watch(guest, tmp_path / "file")
    with pytest.raises(RpcFailure, match="not_found"):
        Watch(guest, tmp_path / "missing")
    with (
        pytest.raises(RpcFailure, match="not_found"),
        guest.stream(FS + "WatchDir", {"path": str(tmp_path / "missing")}) as events,
    ):
        next(events)


def test_removed_watchers_are_gone(guest: Guest, tmp_path: Path) -> None:
    watch = Watch(guest, tmp_path)
    assert guest.call(FS + "RemoveWatcher", {"watcherId": watch.id}) == {}
    with pytest.raises(RpcFailure, match="not_found"):
        watch.events()
    with pytest.raises(RpcFailure, match="not_found"):
        guest.call(FS + "RemoveWatcher", {"watcherId": watch.id})
