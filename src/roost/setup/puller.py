"""`roost-pull`, the program that fetches images of registries (`pull/README.md`): built from the pinned go-containerregistry.

    pullers/VERSION/roost-pull      the program
    pullers/VERSION/puller.json     the marker, last: its hash and size

`roost setup` builds it, and a bundle brings it along. `roost up` does not wait for it: a server that was started without builds
it when the first image is asked for, which takes that one a minute longer, and saves everybody else the minute.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from roost.domain.errors import Fault, NotFound
from roost.setup.artefacts import Say, discard, emptied, exclusive, read_marker, silent, write_marker
from roost.setup.commands import CommandFailed, Commands
from roost.setup.engine_build import GO_NEEDED, file_sha256
from roost.setup.go import PinnedModule, WrongModule, build_environment, download_module, fetch_go, find_go

MODULE = PinnedModule("github.com/google/go-containerregistry", "v0.22.1", "h1:RZuuSYhTvlDvtsK+NkutoCZ//C0X2ebLK8X8l3ULs84=")
PROGRAM = "roost-pull"
MARKER = "puller.json"

_OURS = Path(__file__).parent / "pull"


def _our_digest() -> str:
    digest = hashlib.sha256()
    for file in sorted(_OURS.glob("*.go")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:8]


VERSION = f"{MODULE.version}+roost.{_our_digest()}"


def find_puller(cache: Path) -> Path | None:
    """The program, if the cache has it whole."""
    folder = cache / "pullers" / VERSION
    marker = read_marker(folder / MARKER) or {}
    program = folder / PROGRAM
    is_whole = program.is_file() and program.stat().st_size == marker.get("size_bytes")
    return program if is_whole else None


def is_changed(program: Path) -> bool:
    """Whether it is no longer the file that was built. Reads it all."""
    marker = read_marker(program.parent / MARKER) or {}
    return file_sha256(program) != marker.get("sha256")


def ensure_puller(cache: Path, commands: Commands, say: Say = silent) -> Path:
    """The program, built now if there is none. May be called twice, by two processes at once. Raises Fault."""
    found = find_puller(cache)
    if found is not None:
        return found
    with exclusive(cache / "locks" / "puller", say):
        return find_puller(cache) or _build(cache, commands, say)


def _build(cache: Path, commands: Commands, say: Say) -> Path:
    work = cache / "work" / "puller"  # kept when interrupted, as the engine's is
    work.mkdir(parents=True, exist_ok=True)
    target = cache / "pullers" / VERSION
    try:
        go = find_go(GO_NEEDED, commands) or fetch_go(GO_NEEDED, work, commands, say)
        say(f"building {PROGRAM} {VERSION} (a minute or so)")
        made = _compile(go, work, commands, say)
        program = made / PROGRAM
        facts = {"version": VERSION, "sha256": file_sha256(program), "size_bytes": program.stat().st_size}
        write_marker(made / MARKER, facts)
        target.parent.mkdir(parents=True, exist_ok=True)
        discard(target)
        made.replace(target)
    except (CommandFailed, WrongModule, NotFound) as error:
        raise Fault(
            "puller_build_failed",
            f"{PROGRAM} {VERSION}, which fetches images, could not be built. {error.message}\nNothing was installed. Check that"
            " Go's module registry is reachable, then run `roost setup`; or make a bundle where there is a network"
            " (`make bundle`), which brings it along.",
            version=VERSION,
        ) from error
    discard(work)
    return target / PROGRAM


def _compile(go: Path, work: Path, commands: Commands, say: Say) -> Path:
    """Inside a copy of the module, whose go.sum then pins all that it is made of."""
    environment = build_environment(work)
    source = work / "source"
    discard(source)
    shutil.copytree(download_module(go, MODULE, commands, environment), source)
    place = source / "roost" / "pull"
    place.mkdir(parents=True)
    for file in _OURS.glob("*.go"):
        shutil.copyfile(file, place / file.name)
    made = emptied(work / "made")
    flags = ["-trimpath", "-ldflags", "-s -w"]
    commands.run([go, "build", "-C", source, *flags, "-o", made / PROGRAM, "./roost/pull"], env=environment, on_line=say)
    return made
