"""A bundle: everything that set-up would fetch or build, in one archive, for a machine without a network.

    install            verifies the rest, installs the wheels and runs `roost setup --from` (`scripts/bundle/install.py`)
    SHA256SUMS         of every other file
    bundle.json        what is in it (`Contents`)
    roost-*.whl        Roost itself
    parts/*.tar.xz     the wheels it needs, the tools, and pieces of a cache: engine, interpreter, puller, root filesystems
    bench/             `python -m bench` for the machine it is carried to

`scripts/bundle` writes one; this reads it. A part of the cache holds one artefact under the path that it has in every cache.
"""

from __future__ import annotations

import json
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roost.domain.errors import Invalid
from roost.setup.artefacts import Say, discard, exclusive, silent, work_folder

FORMAT = 1
CONTENTS = "bundle.json"


@dataclass(frozen=True, slots=True)
class BundlePart:
    """An archive of the bundle. `marker` is the file that says that the artefact is whole, relative to the cache."""

    file: str
    marker: str


@dataclass(frozen=True, slots=True)
class Contents:
    version: str  # of Roost
    machine: str  # as `uname -m` says it
    pythons: tuple[str, ...]  # 3.12, …: the wheels are for these
    templates: tuple[str, ...]  # as in the setting of that name
    roost: str  # its own wheel
    wheels: str  # those that it needs
    tools: str | None
    cache: tuple[BundlePart, ...]

    def as_json(self) -> dict[str, Any]:
        cache = [{"file": part.file, "marker": part.marker} for part in self.cache]
        facts = {name: getattr(self, name) for name in ("version", "machine", "roost", "wheels", "tools")}
        return {"format": FORMAT, **facts, "pythons": self.pythons, "templates": self.templates, "cache": cache}


def read_contents(folder: Path) -> Contents:
    """Raises Invalid if this is no bundle, or one of another format."""
    try:
        facts = json.loads((folder / CONTENTS).read_text())
        if facts["format"] != FORMAT:
            raise ValueError(f"it has format {facts['format']}, and this Roost reads {FORMAT}")
        return Contents(
            version=facts["version"],
            machine=facts["machine"],
            pythons=tuple(facts["pythons"]),
            templates=tuple(facts["templates"]),
            roost=facts["roost"],
            wheels=facts["wheels"],
            tools=facts["tools"],
            cache=tuple(BundlePart(part["file"], part["marker"]) for part in facts["cache"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        text = f"{folder} is not an unpacked bundle that can be used: {error}. Give the folder that holds `install`."
        raise Invalid("bundle_invalid", text, folder=str(folder)) from error


def take_into_cache(folder: Path, contents: Contents, cache: Path, say: Say = silent) -> None:
    """The cache has what the bundle brings; what it has already is left alone. May be called twice. `install` has proven the
    files: their hashes are not looked at again."""
    for part in contents.cache:
        with exclusive(cache / "locks" / "bundle", say):
            if not (cache / part.marker).exists():
                say(f"unpacking {Path(part.file).name}")
                _take(folder / part.file, cache)


def _take(archive: Path, cache: Path) -> None:
    with work_folder(cache, "bundle") as work:
        unpack(archive, work)
        # An artefact is a folder with its marker in it, or a file with its marker beside it: markers come last.
        for made in sorted(work.glob("*/*"), key=lambda path: path.suffix == ".json"):
            target = cache / made.relative_to(work)
            target.parent.mkdir(parents=True, exist_ok=True)
            discard(target)
            made.replace(target)


def take_tools(folder: Path, contents: Contents, prefix: Path = Path(sys.prefix)) -> None:
    """nft, mkfs.btrfs and btrfs beside this installation, where `find_program` looks last."""
    if contents.tools is not None and not (prefix / "tools").exists():
        making = prefix / ".tools.making"
        discard(making)
        unpack(folder / contents.tools, making)
        making.replace(prefix / "tools")


def unpack(archive: Path, into: Path) -> None:
    with tarfile.open(archive, "r:xz") as members:
        if hasattr(tarfile, "fully_trusted_filter"):  # Debian 12's Python has no filters yet
            members.extraction_filter = tarfile.fully_trusted_filter
        members.extractall(into)
