"""`roost cp`: files and directories, both ways."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, User
from roost.cli.progress import Bar, transferring
from roost.cli.rendering import say_json
from roost.domain.errors import Conflict, Invalid, NotFound

if TYPE_CHECKING:
    from roost.client.blocking.files import Files
    from roost.client.blocking.sandbox import Sandbox
    from roost.client.records import FileEntry

CHUNK_BYTES = 1 << 18


def cp(
    source: Annotated[str, typer.Argument(help="A path here, or SANDBOX:PATH.", show_default=False)],
    destination: Annotated[str, typer.Argument(help="A path here, or SANDBOX:PATH.", show_default=False)],
    user: User = None,
    as_json: AsJson = False,
) -> None:
    """Copy a file or a directory into a sandbox or out of it.

    Into an existing directory it goes under its own name; anything else is the new name. Relative paths in a sandbox
    start at home."""
    origin, target = CopyEnd.of(source), CopyEnd.of(destination)
    if (origin.sandbox is None) == (target.sandbox is None):
        raise Invalid("invalid", "One of the two must be in a sandbox, written SANDBOX:PATH, and the other one here.")
    with connect() as roost:
        sandbox = roost.enter(target.sandbox or origin.sandbox or "")
        if target.sandbox is not None:
            made = _upload(sandbox, Path(origin.path), target.path, user)
        else:
            made = str(_download(sandbox, origin.path, target.path, user))
    if as_json:
        say_json({"sandbox": sandbox.id, "source": source, "destination": destination, "path": made})


@dataclass(frozen=True, slots=True)
class CopyEnd:
    sandbox: str | None
    path: str

    @staticmethod
    def of(text: str) -> CopyEnd:
        """`name:path` is in a sandbox, unless a slash comes first: `./a:b` is a file here."""
        sandbox, colon, path = text.partition(":")
        if not colon or not sandbox or "/" in sandbox:
            return CopyEnd(None, text)
        return CopyEnd(sandbox, path or ".")


def _upload(sandbox: Sandbox, local: Path, path: str, user: str | None) -> str:
    """Where it is now, in the sandbox."""
    files = sandbox.files.as_user(user)
    try:
        found = local.stat()
    except OSError as error:
        raise Invalid("invalid", f"{local} cannot be read: {error.strerror}.", path=str(local)) from error
    entry = _look(files, path)
    into_directory = path.endswith("/") or (entry is not None and entry.is_directory)
    if into_directory:
        path = posixpath.join(entry.path if entry is not None else path, local.resolve().name)
    if stat.S_ISDIR(found.st_mode):
        return _upload_directory(sandbox, local, path, user)
    with local.open("rb") as content, transferring(local.name, found.st_size) as bar:
        files.write(path, _chunks_of(content, bar), size=found.st_size)
    if found.st_mode & stat.S_IXUSR:
        _must_succeed(sandbox, ("chmod", f"{stat.S_IMODE(found.st_mode) & 0o777:o}", path), user)
    return path


def _upload_directory(sandbox: Sandbox, local: Path, path: str, user: str | None) -> str:
    from roost.cli.inside.tarring import tar_of, weigh

    files = sandbox.files.as_user(user)
    try:
        target = files.make_directory(path).path
    except Conflict:  # it is there already
        target = files.stat(path).path
    with transferring(local.name or str(local), weigh(local)) as bar:
        command = ("tar", "--no-same-owner", "-xf", "-", "-C", target)
        _must_succeed(sandbox, command, user, tar_of(local, bar.advance))
    return target


def _download(sandbox: Sandbox, path: str, destination: str, user: str | None) -> Path:
    """Where it is now, here."""
    local = Path(destination)
    files = sandbox.files.as_user(user)
    entry = files.stat(path)
    if local.is_dir():
        local = local / posixpath.basename(entry.path.rstrip("/") or sandbox.id)
    elif destination.endswith("/"):
        raise Invalid("invalid", f"There is no directory {destination} here.", path=destination)
    if entry.is_directory:
        _download_directory(sandbox, entry, local, user)
    else:
        with transferring(entry.name, entry.size_bytes) as bar, files.reading(entry.path) as chunks:
            _write_beside(local, chunks, entry.mode & 0o777 or 0o644, bar)
    return local


def _download_directory(sandbox: Sandbox, entry: FileEntry, local: Path, user: str | None) -> None:
    from roost.cli.inside.tarring import unpack

    process = sandbox.start(("tar", "-cf", "-", "-C", entry.path, "."), user=user)
    with process, transferring(entry.name, None) as bar:
        complaints = unpack(process, local, bar.advance)
    ended = process.wait()
    if ended.code:
        raise Conflict("copy_failed", f"{entry.path} could not be read whole: {complaints or ended.status}", path=entry.path)


def _write_beside(local: Path, chunks: Iterator[bytes], mode: int, bar: Bar) -> None:
    """Written under another name first, so that a copy that breaks off leaves what was there."""
    partial = local.with_name(f".{local.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb", buffering=0) as out:
            for chunk in chunks:
                out.write(chunk)
                bar.advance(len(chunk))
        partial.replace(local)
    except OSError as error:
        raise Invalid("invalid", f"{local} cannot be written: {error.strerror}.", path=str(local)) from error
    finally:
        partial.unlink(missing_ok=True)


def _chunks_of(content, bar: Bar) -> Iterator[bytes]:
    while chunk := content.read(CHUNK_BYTES):
        bar.advance(len(chunk))
        yield chunk


def _look(files: Files, path: str) -> FileEntry | None:
    try:
        return files.stat(path)
    except NotFound:
        return None


def _must_succeed(sandbox: Sandbox, command: tuple[str, ...], user: str | None, input: Iterator[bytes] | None = None) -> None:
    from roost.client.blocking.processes import run_to_end

    result = run_to_end(sandbox.start(command, stdin=input is not None, user=user), input)
    if result.code:
        said = result.stderr.strip() or f"exit code {result.code}"
        raise Conflict("copy_failed", f"`{command[0]}` in sandbox {sandbox.id} failed: {said}", command=list(command))
