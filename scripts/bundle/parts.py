"""Compressed pieces of a bundle. To compress an engine takes a minute, so each is kept in the cache by what went into it."""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

from roost.setup.artefacts import digest_of_tree
from roost.setup.engine import file_sha256

KEPT_S = 30 * 24 * 3600.0
DICTIONARY_BYTES = 128 << 20
RECIPE = 2  # raise it when the way parts are compressed changes


class CompressedParts:
    """Puts .tar.xz files into `into`, from `kept` where it has them."""

    def __init__(self, kept: Path, into: Path, preset: int, say: Callable[[str], None]) -> None:
        self._kept = kept
        self._into = into
        self._preset = preset
        self._say = say

    def add(self, name: str, path: Path, top: Path, *, beside: Path | None = None) -> str:
        """`path`, a file or a folder, and the file that stands beside it, by their paths below `top`. Returns the part's path
        in the bundle."""
        paths = [path, *([beside] if beside else [])]
        digest = hashlib.sha256(f"{RECIPE} {self._preset}".encode())
        for each in paths:
            content = digest_of_tree(each) if each.is_dir() else file_sha256(each)
            digest.update(f"{each.relative_to(top)} {content}\n".encode())
        file = f"{name}.tar.xz"
        kept = self._kept / f"{name}-{digest.hexdigest()[:16]}.tar.xz"
        if not kept.exists():
            self._say(f"compressing {name}")
            self._compress(paths, top, kept)
        os.utime(kept)
        self._into.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept, self._into / file)
        self._drop_unused(name)
        self._say(f"{name}: {kept.stat().st_size / 1e6:.1f} MB")
        return f"parts/{file}"

    def _compress(self, paths: list[Path], top: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        making = target.with_suffix(f".{os.getpid()}.making")  # two at once make the same bytes
        packing = filters(self._preset, os.uname().machine)
        with lzma.open(making, "wb", filters=packing) as stream, tarfile.open(fileobj=stream, mode="w|") as tar:
            for path in paths:
                tar.add(path, path.relative_to(top).as_posix(), filter=_plain)
        making.replace(target)

    def _drop_unused(self, name: str) -> None:
        long_ago = time.time() - KEPT_S
        for old in self._kept.glob(f"{name}-{'[0-9a-f]' * 16}.tar.*"):
            if old.stat().st_mtime < long_ago:
                old.unlink()


def filters(preset: int, machine: str) -> list[dict[str, int]]:
    """Programs shrink by a tenth more when their jumps are written as addresses first. The dictionary spans a whole engine: its
    two programs are mostly the same code."""
    packing = {"id": lzma.FILTER_LZMA2, "preset": preset} | ({"dict_size": DICTIONARY_BYTES} if preset == 9 else {})
    return [{"id": lzma.FILTER_X86}, packing] if machine == "x86_64" else [packing]


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same bytes from the same content, whoever made it and when."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = "root"
    return member
