"""Things made once and kept: made aside, marked as whole last, made by one process at a time."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from roost.domain.errors import Fault

Say = Callable[[str], None]


def silent(_: str) -> None:
    """For callers that want no progress."""


@contextmanager
def exclusive(path: Path, say: Say = silent) -> Iterator[None]:
    """Hold the lock at `path`; while another process holds it, say so and wait. The kernel drops it if we die."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another set-up that is doing the same")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def write_atomically(path: Path, content: str, mode: int = 0o644) -> None:
    """The file is there whole or not at all, even after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with aside.open("w") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def write_marker(path: Path, facts: Mapping[str, Any]) -> None:
    write_atomically(path, json.dumps(dict(facts), indent=2, sort_keys=True) + "\n")


def read_marker(path: Path) -> dict[str, Any] | None:
    """The facts of an artefact, or None where it is missing or half-made."""
    try:
        facts = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
        return None
    return facts if isinstance(facts, dict) else None


def emptied(path: Path) -> Path:
    """A fresh directory at `path`; whatever an interrupted run left there is gone."""
    discard(path)
    path.mkdir(parents=True)
    return path


@contextmanager
def work_folder(cache: Path, name: str) -> Iterator[Path]:
    """A directory of our own to work in, removed afterwards with what killed runs left of the same work. Hold the lock."""
    _sweep(cache, name)
    try:
        yield emptied(cache / "work" / f"{name}.{os.getpid()}")
    finally:
        _sweep(cache, name)


def _sweep(cache: Path, name: str) -> None:
    for folder in (cache / "work").glob(f"{name}.*"):
        if not mounts_under(folder):
            # A program of a killed run may be ending in there still: what it leaves, the next sweep takes.
            shutil.rmtree(folder, ignore_errors=True)


def discard(path: Path) -> None:
    """Remove it and all it holds. Raises Fault rather than reach into something mounted there."""
    mounted = mounts_under(path)
    if mounted:
        places = ", ".join(map(str, mounted))
        raise Fault(
            "still_mounted",
            f"{path} is left over from an interrupted run and cannot be removed while something is mounted in it: {places}."
            f" Unmount that (`umount {mounted[-1]}`), then run the same command again.",
            path=str(path),
        )
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def mounts_under(path: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> tuple[Path, ...]:
    """Mount points at or below `path`, as this process sees them."""
    top = path.resolve()
    # Field 5 is the mount point, with blanks as octal escapes.
    points = (line.split()[4].encode().decode("unicode_escape") for line in mountinfo.read_text().splitlines())
    return tuple(sorted(point for point in map(Path, points) if point.is_relative_to(top)))


def link_or_copy(source: str, target: str) -> None:
    """One file shared by cache and home where they are on one disk, a copy where they are not."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK):
            raise
        shutil.copy2(source, target, follow_symlinks=False)


def link_tree(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, copy_function=link_or_copy)


def digest_of_tree(root: Path) -> str:
    """One hash over names, kinds, contents, and whether a file may be executed. Times and the maker's umask do not count."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            digest.update(f"link {name} {path.readlink()}\n".encode())
        elif path.is_dir():
            digest.update(f"dir {name}\n".encode())
        else:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            digest.update(f"file {name} {mode:o} {content}\n".encode())
    return digest.hexdigest()
