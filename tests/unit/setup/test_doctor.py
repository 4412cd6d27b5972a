from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.settings import Settings
from roost.setup.doctor import Requirement, Status, examine, worst
from roost.setup.engine_build import VERSION
from roost.setup.running import hold_home


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", cache=tmp_path / "cache", port=0)


@pytest.fixture(autouse=True)
def old_engine_on_the_path(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """First on the PATH and of no use, whatever the machine under test has installed."""
    engine = tmp_path_factory.mktemp("tools") / "runsc"
    engine.write_text("# release-20220101.0")
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(engine.parent), prepend=os.pathsep)
    return engine


def by_name(checks: tuple[Requirement, ...]) -> dict[str, Requirement]:
    found = {check.name: check for check in checks}
    assert len(found) == len(checks)
    return found


def test_whatever_is_not_ok_says_what_to_do(settings: Settings) -> None:
    checks = examine(settings)
    for check in checks:
        assert check.detail
        assert (check.remedy is None) == (check.status is Status.OK), check
    assert worst(checks) is Status.FAILURE


def test_an_empty_cache_lacks_all_that_is_made(settings: Settings) -> None:
    found = by_name(examine(settings))
    for name in ("engine", "agent's interpreter", "template base"):
        assert found[name].status is Status.FAILURE
        assert "roost setup" in (found[name].remedy or "")


def test_nothing_is_made_by_looking(settings: Settings, tmp_path: Path) -> None:
    examine(settings)
    assert list(tmp_path.iterdir()) == []


def test_a_half_built_engine_is_told_from_a_missing_one(settings: Settings) -> None:
    folder = settings.cache / "engines" / VERSION
    folder.mkdir(parents=True)
    (folder / "runsc").write_text("half")
    assert "half-built" in by_name(examine(settings))["engine"].detail


def test_a_changed_engine_is_a_failure(settings: Settings) -> None:
    from roost.setup.artefacts import write_marker

    folder = settings.cache / "engines" / VERSION
    folder.mkdir(parents=True)
    (folder / "runsc").write_text("changed")
    write_marker(
        folder / "engine.json", {"version": VERSION, "files": {"runsc": {"size_bytes": 7, "sha256": "of what was built"}}}
    )
    check = by_name(examine(settings))["engine"]
    assert check.status is Status.FAILURE
    assert "not the file that was built" in check.detail


def test_an_engine_of_ones_own_works_and_lacks_the_patch(tmp_path: Path) -> None:
    own = tmp_path / "runsc"
    own.write_text("# release-20260608.0")
    own.chmod(0o755)
    check = by_name(examine(Settings.load(home=tmp_path / "home", cache=tmp_path / "cache", engine=own)))["engine"]
    assert check.status is Status.WARNING
    assert "release-20260608.0" in check.detail and "after a wake" in check.detail


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def test_a_taken_port_is_a_failure(tmp_path: Path, taken_port: int) -> None:
    settings = Settings(home=tmp_path, cache=tmp_path, port=taken_port)
    check = by_name(examine(settings))["port"]
    assert check.status is Status.FAILURE
    assert "ROOST_PORT" in (check.remedy or "")


def test_the_port_of_a_server_that_runs_is_its_own(tmp_path: Path, taken_port: int) -> None:
    settings = Settings(home=tmp_path, cache=tmp_path, port=taken_port)

    def says(port: int) -> Requirement:
        record = {"url": f"https://127.0.0.1:{port}", "pid": os.getpid()}
        (tmp_path / "server.json").write_text(json.dumps(record))
        return by_name(examine(settings))["port"]

    assert says(taken_port).status is Status.FAILURE, "what a dead server left counts for nothing"
    with hold_home(tmp_path):
        own = says(taken_port)
        assert own == Requirement("port", Status.OK, f"127.0.0.1:{taken_port} is served by this Roost (pid {os.getpid()})")
        assert says(1).status is Status.FAILURE, "it serves elsewhere, and this port is somebody else's"


def test_the_worst_counts() -> None:
    checks = tuple(Requirement("x", status, "y") for status in (Status.OK, Status.WARNING))
    assert worst(()) is Status.OK
    assert worst(checks) is Status.WARNING
    assert worst((*checks, Requirement("x", Status.FAILURE, "y"))) is Status.FAILURE


def test_as_data() -> None:
    assert Requirement("root", Status.OK, "fine").as_json() == {"name": "root", "status": "ok", "detail": "fine", "remedy": None}
