"""Builds the engine: the pinned gVisor, with one patch and the helpers that make it start faster (`gvisor/README.md`).

    runsc                                   the engine
    gvisor-bin/gvisor_sentry                what it starts for a sandbox, instead of itself
    gvisor-bin/gvisor-sentry-prewarmer      what it starts that with, where there is one for this machine
    engine.json                             the marker, last: hashes and sizes

The module is pinned by its hash, and its own go.sum pins what it needs: no checksum database is asked.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from roost.domain.errors import Fault, NotFound
from roost.setup.artefacts import Say, discard, emptied, write_marker
from roost.setup.commands import CommandFailed, Commands
from roost.setup.go import PinnedModule, WrongModule, build_environment, download_module, fetch_go, find_go
from roost.setup.patches import PatchRefused, apply_patch
from roost.setup.prewarmer import prewarmer

MODULE = "gvisor.dev/gvisor"
GVISOR = "v0.0.0-20260905035102-160fafc42237"
GVISOR_SUM = "h1:AU5+CtCvnBnxdZRNcZt1NfSLqgkXZVT3N/u6u1aXg44="
GO_NEEDED = (1, 26, 3)  # what its go.mod asks for

MARKER = "engine.json"
RUNSC = "runsc"
SENTRY = "gvisor-bin/gvisor_sentry"
PREWARMER = "gvisor-bin/gvisor-sentry-prewarmer"

_OURS = Path(__file__).parent / "gvisor"
_PATCH = _OURS / "tcp-after-restore.patch"
_PLACES = {  # what is added to the module, and where
    "sentry.go": "roost/sentry/main.go",
    "filters.go": "roost/filters/main.go",
    "precompile.go": "runsc/boot/filter/config/roost.go",
}


def _our_digest() -> str:
    """Of everything that makes this engine another than the plain one."""
    digest = hashlib.sha256(_PATCH.read_bytes())
    for name in sorted(_PLACES):
        digest.update((_OURS / name).read_bytes())
    digest.update(prewarmer(os.uname().machine) or b"")
    return digest.hexdigest()[:8]


VERSION = f"{GVISOR}+roost.{_our_digest()}"


def build_engine(cache: Path, commands: Commands, say: Say) -> Path:
    """The folder of the engine, made now. Hold the lock. Raises Fault; then nothing was made."""
    # Kept when interrupted: what was downloaded and compiled so far is not lost to the next run.
    work = cache / "work" / "engine"
    work.mkdir(parents=True, exist_ok=True)
    target = cache / "engines" / VERSION
    try:
        go = find_go(GO_NEEDED, commands) or fetch_go(GO_NEEDED, work, commands, say)
        say(f"building gVisor {VERSION} (two minutes or so)")
        made = _compile(go, work, commands, say)
        write_marker(made / MARKER, {"module": MODULE, "version": VERSION, "files": _facts(made)})
        target.parent.mkdir(parents=True, exist_ok=True)
        discard(target)
        made.replace(target)
    except (CommandFailed, PatchRefused, WrongModule, NotFound, FileNotFoundError) as error:
        said = f"Something that it is made of is missing ({error})." if isinstance(error, FileNotFoundError) else error.message
        raise Fault(
            "engine_build_failed",
            f"gVisor {VERSION} could not be built. {said}\nNothing was installed. Check that Go's module registry is"
            " reachable, then run the same command again;"
            " or give `engine` in the settings the path of a runsc of June 2026 or later.",
            version=VERSION,
        ) from error
    discard(work)
    return target


def _compile(go: Path, work: Path, commands: Commands, say: Say) -> Path:
    environment = build_environment(work)
    source = _prepare_source(go, work, commands, environment)
    made = emptied(work / "made")
    (made / SENTRY).parent.mkdir()
    inside = ["-C", str(source)]
    commands.run([go, "build", *inside, "-trimpath", "-o", work / "filters", "./roost/filters"], env=environment, on_line=say)
    say("compiling seccomp programs")
    commands.run([work / "filters", source])
    flags = ["-trimpath", "-ldflags", f"-s -w -X {MODULE}/runsc/version.version={VERSION}"]
    binaries = emptied(work / "bin")
    # In one go: most of the two is the same.
    commands.run([go, "build", *inside, *flags, "-o", f"{binaries}/", "./runsc", "./roost/sentry"], env=environment, on_line=say)
    shutil.move(binaries / "runsc", made / RUNSC)
    shutil.move(binaries / "sentry", made / SENTRY)
    if program := prewarmer(os.uname().machine):
        (made / PREWARMER).write_bytes(program)
        (made / PREWARMER).chmod(0o755)
    return made


def _prepare_source(go: Path, work: Path, commands: Commands, environment: dict[str, str]) -> Path:
    """A copy of the pinned module with what is ours in it."""
    module = download_module(go, PinnedModule(MODULE, GVISOR, GVISOR_SUM), commands, environment)
    source = work / "source"
    discard(source)
    shutil.copytree(module, source)
    apply_patch(_PATCH.read_text(), source)
    for name, place in _PLACES.items():
        (source / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_OURS / name, source / place)
    return source


def _facts(folder: Path) -> dict[str, dict[str, object]]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): {"sha256": file_sha256(path), "size_bytes": path.stat().st_size} for path in files
    }


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
