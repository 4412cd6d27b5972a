"""Writes dist/roost-VERSION-linux-MACHINE.tar: all that a machine without a network needs, and `install`, which sets it up there.

    .venv/bin/python scripts/bundle [--templates base,desktop] [--pythons 3.12] [--with-tools]

`make bundle TEMPLATES=… PYTHONS=… WITH_TOOLS=1` is the same. What the cache lacks is made first, for which root is needed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

from parts import CompressedParts
from wheels import PYTHONS, build_own_wheel, collect_wheels

from roost.domain.errors import Invalid, RoostError
from roost.settings import Settings
from roost.setup.artefacts import emptied
from roost.setup.bundle import CONTENTS, BundlePart, Contents
from roost.setup.commands import Commands
from roost.setup.definitions import TemplateDefinition, find_definitions
from roost.setup.engine import ensure_engine
from roost.setup.interpreter import ensure_interpreter
from roost.setup.mirror import machine_mirror
from roost.setup.packages import BUILDING, check_root, ensure_packages
from roost.setup.puller import MARKER as PULLER_MARKER
from roost.setup.puller import ensure_puller
from roost.setup.rootfs import ensure_rootfs
from roost.setup.tools import ensure_tools

TOP = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
DEFAULT_TEMPLATES = "base"


def say(text: str) -> None:
    print(f"bundle: {text}", file=sys.stderr, flush=True)


def chosen_templates(asked: str) -> tuple[str, ...]:
    """Whoever names no template gets `base`, as E2B's clients do: if it is not among those asked for, the first stands in."""
    names = tuple(name.strip() for name in asked.split(",") if name.strip())
    if not names:
        raise Invalid("bundle_without_template", "A bundle needs one template or more (TEMPLATES=base).")
    if any(name.partition("=")[0] == "base" for name in names):
        return names
    return (f"base={names[0]}", *names[1:])


class Builder:
    """Makes the pieces and puts them into `folder`."""

    def __init__(self, folder: Path, settings: Settings, preset: int) -> None:
        self.folder = folder
        self._settings = settings
        self._commands = Commands()
        self._mirror = machine_mirror(settings.mirror)
        self._parts = CompressedParts(settings.cache / "bundle", folder / "parts", preset, say)

    def engine(self) -> BundlePart:
        """The whole folder: whatever stands beside the binary belongs to it."""
        found = ensure_engine(None, self._settings.cache, self._commands, say)
        folder = found.path.parent
        if folder.parent != self._settings.cache / "engines":
            raise Invalid(
                "bundle_engine_foreign", f"{found.path} is not Roost's own engine. Run `roost setup --cache-only` first."
            )
        return BundlePart(self._parts.add("engine", folder, self._settings.cache), f"engines/{folder.name}/engine.json")

    def interpreter(self) -> BundlePart:
        folder = ensure_interpreter(self._settings.cache, self._mirror, self._commands, say).path.parent
        file = self._parts.add("interpreter", folder, self._settings.cache)
        return BundlePart(file, f"interpreter/{folder.name}/interpreter.json")

    def puller(self) -> BundlePart:
        folder = ensure_puller(self._settings.cache, self._commands, say).parent
        return BundlePart(self._parts.add("puller", folder, self._settings.cache), f"pullers/{folder.name}/{PULLER_MARKER}")

    def rootfs(self, definition: TemplateDefinition) -> BundlePart:
        """Without this machine's CAs: the machine that it is carried to adds its own."""
        cache = self._settings.cache
        tar = ensure_rootfs(definition, (), cache, self._mirror, self._commands, say).path
        marker = tar.with_suffix(".json")
        file = self._parts.add(f"rootfs-{definition.name}", tar, cache, beside=marker)
        return BundlePart(file, str(marker.relative_to(cache)))

    def tools(self) -> str:
        root = ensure_tools(self._settings.cache, self._mirror, self._commands, say).path
        return self._parts.add("tools", root, root)

    def wheels(self, pythons: tuple[str, ...]) -> str:
        """Those that Roost needs. Its own lies beside `install`: it changes more often, and compresses in no time."""
        with tempfile.TemporaryDirectory(prefix="roost-wheels-") as work:
            wheels = collect_wheels(TOP, Path(work), pythons, self._commands, say)
            return self._parts.add("wheels", wheels, wheels)


def write_bundle(builder: Builder, definitions: dict[str, TemplateDefinition], options: argparse.Namespace) -> None:
    pythons = tuple(options.pythons.split(","))
    cache = [builder.engine(), builder.interpreter(), builder.puller(), *(builder.rootfs(each) for each in definitions.values())]
    contents = Contents(
        version=version("roost"),
        machine=os.uname().machine,
        pythons=pythons,
        templates=chosen_templates(options.templates),
        roost=build_own_wheel(TOP, builder.folder, Commands(), say).name,
        wheels=builder.wheels(pythons),
        tools=builder.tools() if options.with_tools else None,
        cache=tuple(cache),
    )
    (builder.folder / CONTENTS).write_text(json.dumps(contents.as_json(), indent=2) + "\n")
    for name in ("install", "install.py"):
        shutil.copy2(HERE / name, builder.folder / name)
    shutil.copytree(TOP / "bench", builder.folder / "bench", ignore=shutil.ignore_patterns("__pycache__", "results"))
    write_sums(builder.folder)


def write_sums(folder: Path) -> None:
    """As `sha256sum` writes and reads them."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines))


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_archive(folder: Path, into: Path) -> Path:
    """Not compressed once more: its parts are, and so any `tar` can unpack it."""
    into.mkdir(parents=True, exist_ok=True)
    archive = into / f"{folder.name}.tar"

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        return member

    making = archive.with_suffix(".making")
    with tarfile.open(making, "w", format=tarfile.GNU_FORMAT) as tar:
        tar.add(folder, folder.name, filter=plain)
    making.replace(archive)
    archive.with_suffix(".tar.sha256").write_text(f"{sha256(archive)}  {archive.name}\n")
    return archive


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bundle", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--templates", default=DEFAULT_TEMPLATES, help=f"which templates it brings ({DEFAULT_TEMPLATES})")
    parser.add_argument("--pythons", default="3.12", help=f"which Pythons the wheels are for (3.12; of {', '.join(PYTHONS)})")
    parser.add_argument("--with-tools", action="store_true", help="bring nft, mkfs.btrfs and btrfs along")
    parser.add_argument("--preset", type=int, default=9, help="how hard to compress, 0 to 9 (9)")
    parser.add_argument("--into", type=Path, default=TOP / "dist", help="where to write it (dist)")
    options = parser.parse_args()
    try:
        check_root()
        settings = Settings.load()
        definitions = find_definitions(chosen_templates(options.templates))
        ensure_packages(Commands(), say, BUILDING)
        name = f"roost-{version('roost')}-linux-{os.uname().machine}"
        with tempfile.TemporaryDirectory(prefix="roost-bundle-", dir="/var/tmp") as work:
            builder = Builder(emptied(Path(work) / name), settings, options.preset)
            write_bundle(builder, definitions, options)
            archive = write_archive(builder.folder, options.into)
    except RoostError as error:
        say(error.message)
        return 1
    say(f"{archive.stat().st_size / 1e6:.1f} MB")
    print(archive)
    return 0


if __name__ == "__main__":
    sys.exit(main())
