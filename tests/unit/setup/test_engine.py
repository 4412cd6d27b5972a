from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.domain.errors import Fault, Invalid
from roost.setup.artefacts import read_marker
from roost.setup.commands import Commands
from roost.setup.engine import (
    MODULE,
    PINNED,
    Engine,
    ensure_engine,
    file_sha256,
    find_cached,
    go_version,
    inspect_engine,
    install_engine,
)

BUILD_LABEL = "\tgvisor.dev/gvisor\tv0.0.0-{day}010203-0123456789ab\th1:sum"

FAKE_GO = """#!/bin/sh
case "$1" in
version) echo "go version go1.99.0 linux/amd64" ;;
install)
    echo "$*" >> "{log}"
    echo "go: downloading something"
    {body}
    ;;
esac
"""


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory first on the PATH, with a runsc that is too old to be of use."""
    folder = tmp_path / "tools"
    script(folder / "runsc", "#!/bin/sh\n# release-20220101.0\n")
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


def fake_go(tools: Path, body: str = 'printf "binary" > "$GOBIN/runsc"; chmod +x "$GOBIN/runsc"') -> Path:
    log = tools / "go.log"
    script(tools / "go", FAKE_GO.format(log=log, body=body))
    return log


def test_it_is_built_once_at_the_pinned_version(tools: Path, tmp_path: Path) -> None:
    log = fake_go(tools)
    said: list[str] = []
    made = ensure_engine(None, tmp_path / "cache", Commands(), said.append)
    again = ensure_engine(None, tmp_path / "cache", Commands())
    assert made == again == find_cached(tmp_path / "cache")
    assert made.path.read_text() == "binary"
    assert log.read_text().splitlines() == [f"install -trimpath -ldflags -s -w {MODULE}@{PINNED}"]
    assert "go: downloading something" in said
    assert (read_marker(made.path.parent / "engine.json") or {})["sha256"] == file_sha256(made.path)
    assert not (tmp_path / "cache" / "work" / "engine").exists()


@pytest.mark.parametrize("damage", ["no marker", "half a marker", "another version", "binary cut short", "no binary"])
def test_a_half_built_one_is_built_again(damage: str, tools: Path, tmp_path: Path) -> None:
    fake_go(tools)
    made = ensure_engine(None, tmp_path / "cache", Commands())
    marker = made.path.parent / "engine.json"
    match damage:
        case "no marker":
            marker.unlink()
        case "half a marker":
            marker.write_text(marker.read_text()[:20])
        case "another version":
            marker.write_text(marker.read_text().replace(PINNED, "v0"))
        case "binary cut short":
            made.path.write_text("bin")
        case _:
            made.path.unlink()
    assert find_cached(tmp_path / "cache") is None
    assert ensure_engine(None, tmp_path / "cache", Commands()).path.read_text() == "binary"


@pytest.mark.parametrize("body", ["echo cannot reach the registry; exit 3", "true"], ids=["go fails", "go makes nothing"])
def test_a_failed_build_says_why_and_installs_nothing(body: str, tools: Path, tmp_path: Path) -> None:
    fake_go(tools, body)
    with pytest.raises(Fault) as failed:
        ensure_engine(None, tmp_path / "cache", Commands())
    assert failed.value.code == "engine_build_failed"
    assert ("cannot reach the registry" in failed.value.message) == ("exit 3" in body)
    assert find_cached(tmp_path / "cache") is None
    fake_go(tools)
    assert ensure_engine(None, tmp_path / "cache", Commands()).path.read_text() == "binary"


def engine_of(path: Path, day: str) -> Path:
    return script(path, "#!/bin/sh\n# " + BUILD_LABEL.format(day=day) + "\n")


def test_a_recent_one_on_the_path_is_used(tools: Path, tmp_path: Path) -> None:
    log = fake_go(tools)
    engine_of(tools / "runsc", "20260701")
    assert ensure_engine(None, tmp_path / "cache", Commands()).path == tools / "runsc"
    assert not log.exists()


def test_the_users_own_wins_and_is_named_by_its_bytes(tmp_path: Path) -> None:
    own = engine_of(tmp_path / "runsc", "20260701")
    found = ensure_engine(own, tmp_path / "cache", Commands())
    assert found.version.startswith("v0.0.0-20260701010203-0123456789ab-")
    own.write_text(own.read_text() + "more")
    assert inspect_engine(own).version != found.version
    assert inspect_engine(script(tmp_path / "release", "# release-20260608.0")).version.startswith("release-20260608.0-")


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [
        (BUILD_LABEL.format(day="20260531"), 0o755, "engine_too_old"),
        ("release-20240101.0", 0o755, "engine_too_old"),
        ("just a program", 0o755, "engine_unknown"),
        (BUILD_LABEL.format(day="20260701"), 0o644, "engine_unknown"),
        ("", 0o755, "engine_unreadable"),
        (None, 0, "engine_unreadable"),
    ],
)
def test_an_unusable_one_is_refused(content: str | None, mode: int, code: str, tmp_path: Path) -> None:
    own = tmp_path / "runsc"
    if content is not None:
        own.write_text(content)
        own.chmod(mode)
    with pytest.raises(Invalid) as refused:
        ensure_engine(own, tmp_path / "cache", Commands())
    assert refused.value.code == code
    assert str(own) in refused.value.message


def test_installed_whole_and_left_alone_afterwards(tmp_path: Path) -> None:
    source = script(tmp_path / "cache" / "runsc", "engine")
    installed = install_engine(Engine("v1-abc", source), tmp_path / "home")
    assert installed.path == tmp_path / "home" / "engines" / "v1-abc" / "runsc"
    before = installed.path.stat()
    assert install_engine(Engine("v1-abc", source), tmp_path / "home") == installed
    assert installed.path.stat().st_ino == before.st_ino
    # A user's own is copied: replacing it must not change what snapshots were made with.
    source.write_text("other!")
    assert installed.path.read_text() == "engine"
    assert [path.name for path in installed.path.parent.iterdir()] == ["runsc"]


def test_go_versions() -> None:
    assert go_version("go version go1.26.8 linux/amd64") == (1, 26, 8)
    assert go_version("go version go1.30 linux/arm64") == (1, 30, 0)
    assert go_version("nonsense") == ()
