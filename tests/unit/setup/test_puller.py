from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from roost.domain.errors import Fault
from roost.settings import Settings
from roost.setup import puller
from roost.setup.commands import Commands
from roost.setup.doctor import Status, examine
from roost.setup.puller import MODULE, PROGRAM, VERSION, ensure_puller, find_puller, is_changed

# A Go that downloads a module made for the test, and whose build is a script.
FAKE_GO = """#!/bin/sh
echo "$*" >> "{log}"
case "$1" in
version) echo "go version go1.99.0 linux/amd64" ;;
mod) echo '{module}' ;;
build)
    {body}
    while [ "$1" != -o ]; do shift; done
    printf program > "$2"
    ;;
esac
"""


def fake_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, checksum: str = MODULE.sum, body: str = "") -> Path:
    """Its log: a line for each call."""
    module, tools = tmp_path / "module", tmp_path / "tools"
    module.mkdir(exist_ok=True)
    tools.mkdir(exist_ok=True)
    log = tmp_path / "go.log"
    go = tools / "go"
    go.write_text(FAKE_GO.format(log=log, module=json.dumps({"Sum": checksum, "Dir": str(module)}), body=body))
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    return log


def test_it_is_built_once_inside_the_pinned_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = fake_go(tmp_path, monkeypatch)
    cache = tmp_path / "cache"
    made = ensure_puller(cache, Commands())
    assert made == ensure_puller(cache, Commands()) == find_puller(cache) == cache / "pullers" / VERSION / PROGRAM
    calls = log.read_text()
    assert calls.count("build") == 1
    assert f"{MODULE.path}@{MODULE.version}" in calls
    assert not (cache / "work" / "puller").exists()


def test_another_module_than_the_pinned_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_go(tmp_path, monkeypatch, checksum="h1:other")
    with pytest.raises(Fault, match="GOPROXY") as refused:
        ensure_puller(tmp_path / "cache", Commands())
    assert refused.value.code == "puller_build_failed"
    assert find_puller(tmp_path / "cache") is None


def test_a_build_that_fails_says_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_go(tmp_path, monkeypatch, body="echo no space left; exit 1")
    with pytest.raises(Fault, match=r"no space left[\s\S]*make bundle"):
        ensure_puller(tmp_path / "cache", Commands())


def test_half_a_program_counts_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_go(tmp_path, monkeypatch)
    program = ensure_puller(tmp_path / "cache", Commands())
    program.write_text("pro")
    assert find_puller(tmp_path / "cache") is None
    assert ensure_puller(tmp_path / "cache", Commands()).read_text() == "program"


def test_the_doctor_tells_a_missing_one_from_a_changed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.load(home=tmp_path / "home", cache=tmp_path / "cache")

    def status() -> Status:
        return next(each.status for each in examine(settings) if each.name == "image puller")

    assert status() is Status.WARNING
    fake_go(tmp_path, monkeypatch)
    program = ensure_puller(settings.cache, Commands())
    assert status() is Status.OK
    program.write_text("PROGRAM")
    assert is_changed(program)
    assert status() is Status.FAILURE


def test_every_file_of_it_is_part_of_its_version() -> None:
    files = list((Path(puller.__file__).parent / "pull").glob("*.go"))
    assert {"main.go", "apply.go", "contain.go"} <= {file.name for file in files}
