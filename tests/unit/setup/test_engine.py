from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from roost.domain.errors import Fault, Invalid
from roost.setup import engine_build
from roost.setup.commands import Commands
from roost.setup.engine import Engine, ensure_engine, find_cached, find_changed, inspect_engine, install_engine
from roost.setup.engine_build import GVISOR, GVISOR_SUM, MODULE, PREWARMER, SENTRY, VERSION
from roost.setup.go import go_version
from roost.setup.patches import read_patch

PATCH = Path(engine_build.__file__).parent / "gvisor" / "tcp-after-restore.patch"
BUILD_LABEL = "\tgvisor.dev/gvisor\tv0.0.0-{day}010203-0123456789ab\th1:sum"

# A Go that downloads a module made for the test, and whose builds are scripts. `-o` is a file, or a folder for two programs.
FAKE_GO = """#!/bin/sh
echo "$*" >> "{log}"
case "$1" in
version) echo "go version go1.99.0 linux/amd64" ;;
mod) echo "go: downloading a module" >&2; echo '{module}' ;;
build)
    echo "go: downloading something"
    {body}
    while [ "$1" != -o ]; do shift; done
    case "$2" in
    */) printf binary > "$2runsc"; printf sentry > "$2sentry"; chmod +x "$2"* ;;
    *) printf '#!/bin/sh\\necho filtered > "$1/filtered"\\n' > "$2"; chmod +x "$2" ;;
    esac
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


def fake_go(tools: Path, body: str = "", checksum: str = GVISOR_SUM) -> Path:
    """Its log: a line for each call."""
    module = tools / "module"
    for name, hunks in read_patch(PATCH.read_text()):
        lines: list[str] = []
        for hunk in hunks:
            lines += ["// not part of the test\n"] * (hunk.start - len(lines)) + hunk.old
        (module / name).parent.mkdir(parents=True, exist_ok=True)
        (module / name).write_text("".join(lines))
    log = tools / "go.log"
    script(tools / "go", FAKE_GO.format(log=log, body=body, module=json.dumps({"Dir": str(module), "Sum": checksum})))
    return log


def test_it_is_built_once_patched_and_with_its_helpers(tools: Path, tmp_path: Path) -> None:
    # What is compiled has the patch in it, and the programs that were compiled before.
    body = 'case "$*" in *runsc) grep -q CtxKeepSecrets "$3/runsc/boot/restore.go" && test -f "$3/filtered" || exit 9 ;; esac'
    log = fake_go(tools, body)
    said: list[str] = []
    made = ensure_engine(None, tmp_path / "cache", Commands(), said.append)
    again = ensure_engine(None, tmp_path / "cache", Commands())
    assert made == again == find_cached(tmp_path / "cache")
    assert made.version == VERSION and VERSION.startswith(f"{GVISOR}+roost.") and made.is_ours
    assert made.path.read_text() == "binary"
    assert (made.path.parent / SENTRY).read_text() == "sentry"
    assert os.access(made.path.parent / PREWARMER, os.X_OK) == (os.uname().machine == "x86_64")
    asked = [line.split()[0] for line in log.read_text().splitlines()]
    assert asked == ["version", "mod", "build", "build"]
    assert f"-X {MODULE}/runsc/version.version={VERSION}" in log.read_text()
    assert "go: downloading something" in said
    assert list(find_changed(made)) == []
    assert not (tmp_path / "cache" / "work" / "engine").exists()


def test_a_module_that_is_not_the_pinned_one_is_not_built(tools: Path, tmp_path: Path) -> None:
    log = fake_go(tools, checksum="h1:another")
    with pytest.raises(Fault, match="is not the one that Roost was made for"):
        ensure_engine(None, tmp_path / "cache", Commands())
    assert "build" not in log.read_text()


def test_a_patch_that_does_not_fit_is_told(tools: Path, tmp_path: Path) -> None:
    fake_go(tools)
    changed = tools / "module" / "runsc" / "boot" / "restore.go"
    changed.write_text("// rewritten\n" + changed.read_text())
    with pytest.raises(Fault, match=r"does not fit runsc/boot/restore\.go") as failed:
        ensure_engine(None, tmp_path / "cache", Commands())
    assert failed.value.code == "engine_build_failed"


@pytest.mark.parametrize(
    "damage", ["no marker", "half a marker", "another version", "binary cut short", "no binary", "no helper"]
)
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
            marker.write_text(marker.read_text().replace(VERSION, "v0"))
        case "binary cut short":
            made.path.write_text("bin")
        case "no helper":
            (made.path.parent / SENTRY).unlink()
        case _:
            made.path.unlink()
    assert find_cached(tmp_path / "cache") is None
    assert ensure_engine(None, tmp_path / "cache", Commands()).path.read_text() == "binary"


@pytest.mark.parametrize("body", ["echo cannot reach the registry; exit 3", "exit 0"], ids=["go fails", "go makes nothing"])
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


def test_one_on_the_path_is_not_used(tools: Path, tmp_path: Path) -> None:
    """It lacks the patch. Who wants it all the same names it in the settings."""
    fake_go(tools)
    engine_of(tools / "runsc", "20260701")
    assert ensure_engine(None, tmp_path / "cache", Commands()).version == VERSION


def test_the_users_own_wins_and_is_named_by_its_bytes(tmp_path: Path) -> None:
    own = engine_of(tmp_path / "runsc", "20260701")
    found = ensure_engine(own, tmp_path / "cache", Commands())
    assert found.version.startswith("v0.0.0-20260701010203-0123456789ab-")
    own.write_text(own.read_text() + "more")
    assert inspect_engine(own).version != found.version
    assert inspect_engine(script(tmp_path / "release", "# release-20260608.0")).version.startswith("release-20260608.0-")
    assert not inspect_engine(own).is_ours
    assert inspect_engine(script(tmp_path / "ours", f"# {VERSION}")).is_ours


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


def test_its_helpers_are_installed_beside_it(tmp_path: Path) -> None:
    source = script(tmp_path / "cache" / "runsc", "engine")
    script(tmp_path / "cache" / SENTRY, "sentry")
    installed = install_engine(Engine(VERSION, source), tmp_path / "home")
    assert (installed.path.parent / SENTRY).read_text() == "sentry"
    # What is half there, since a set-up was interrupted, is made whole.
    (installed.path.parent / SENTRY).unlink()
    assert install_engine(Engine(VERSION, source), tmp_path / "home") == installed
    assert (installed.path.parent / SENTRY).read_text() == "sentry"


def test_go_versions() -> None:
    assert go_version("go version go1.26.8 linux/amd64") == (1, 26, 8)
    assert go_version("go version go1.30 linux/arm64") == (1, 30, 0)
    assert go_version("nonsense") == ()
