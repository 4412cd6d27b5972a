"""nft, mkfs.btrfs and btrfs that need nothing of the machine they run on: for a bundle that is carried to one without them.

Debian's own, each started through the loader and the libraries that it was built for.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from roost.domain.errors import Fault
from roost.setup.artefacts import Say, discard, exclusive, read_marker, silent, work_folder, write_marker
from roost.setup.commands import CommandFailed, Commands
from roost.setup.interpreter import SUITE, this_machine
from roost.setup.mirror import MMDEBSTRAP, Mirror

PACKAGES = ("btrfs-progs", "nftables")
PROGRAMS = ("nft", "mkfs.btrfs", "btrfs")
RECIPE = 1  # raise it when the way they are made changes
# They are called by their full path, which leads to their libraries.
WRAPPER = """#!/bin/sh
top=${{0%/*}}/..
exec "$top/lib/{loader}" --library-path "$top/lib" "$top/libexec/{name}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Tools:
    """`bin` of the folder holds the programs."""

    path: Path


def ensure_tools(cache: Path, mirror: Mirror, commands: Commands, say: Say = silent) -> Tools:
    """The tools, made now if the cache lacks them. May be called twice, by two processes at once."""
    recipe = json.dumps([RECIPE, SUITE, PACKAGES, PROGRAMS, WRAPPER, this_machine().triple])
    target = cache / "tools" / hashlib.sha256(recipe.encode()).hexdigest()[:16]
    with exclusive(cache / "locks" / "tools", say):
        if read_marker(target / "tools.json") is None:
            _make(target, cache, mirror, commands, say)
    return Tools(target / "root")


def _make(target: Path, cache: Path, mirror: Mirror, commands: Commands, say: Say) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with work_folder(cache, "tools") as work:
        whole, done = work / "whole", work / "done"
        packages = f"--include={','.join(PACKAGES)}"
        command = [*MMDEBSTRAP, "--variant=extract", packages, SUITE, str(whole), *mirror.lines(SUITE)]
        try:
            commands.run(command, env={"TMPDIR": str(work)}, name="mmdebstrap", on_line=say)
        except CommandFailed as error:
            raise Fault(
                "tools_failed",
                f"The tools could not be fetched from {mirror.archive}. {error.message}\n"
                "Check that the mirror is reachable (`mirror` in roost.toml names another), then run the command again.",
                mirror=mirror.archive,
            ) from error
        _collect(whole, done / "root", commands)
        versions = {name: commands.run([done / "root" / "bin" / name, "--version"]) for name in ("nft", "btrfs")}
        write_marker(done / "tools.json", {"suite": SUITE, "versions": versions})
        discard(target)
        done.replace(target)


def _collect(whole: Path, root: Path, commands: Commands) -> None:
    machine = this_machine()
    source = whole / "usr" / "lib" / machine.triple
    for folder in ("bin", "lib", "libexec"):
        (root / folder).mkdir(parents=True)
    needed = {machine.loader}
    for name in PROGRAMS:
        program = next(folder / name for folder in (whole / "usr/sbin", whole / "usr/bin") if (folder / name).is_file())
        listing = commands.run([source / machine.loader, "--library-path", source, "--list", program])
        needed.update(Path(line.split()[0]).name for line in listing.splitlines() if f"=> {source}/" in line)
        shutil.copy2(program, root / "libexec" / name)
        wrapper = root / "bin" / name
        wrapper.write_text(WRAPPER.format(loader=machine.loader, name=name))
        wrapper.chmod(0o755)
    for name in sorted(needed):
        shutil.copy2((source / name).resolve(), root / "lib" / name)
