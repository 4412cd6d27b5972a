"""The volume: a btrfs for sandboxes, snapshots and templates.

By default a sparse file in the home, formatted once and mounted through a loop device. Whoever mounts a btrfs of their
own at `$ROOST_HOME/volume` (in production, a disk) gets that used instead; nothing is formatted then.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from roost.domain.errors import Conflict, Exhausted, Fault, Unavailable, Unsupported
from roost.setup.artefacts import Say, discard, exclusive, silent
from roost.setup.commands import CommandFailed, Commands, find_program

GIB = 1 << 30
SMALLEST_GB = 8  # the base template, one snapshot and room to work
KEPT_FREE_SHARE = 0.2  # of the disk's free space, when the size is ours to choose
BTRFS_MAGIC = 0x9123683E
QUOTA_CTL = 0xC0109428  # BTRFS_IOC_QUOTA_CTL
QUOTA_ENABLE, QUOTA_ENABLE_SIMPLE = 1, 4
MOUNT_OPTIONS = "noatime,discard=async"


class Quotas(StrEnum):
    """How the volume holds sandboxes to their disk size."""

    SIMPLE = "simple"  # by owner: cheap with any number of snapshots
    FULL = "full"  # by reference: exact, slower with very many snapshots
    NONE = "none"  # no limits


@dataclass(frozen=True, slots=True)
class Volume:
    path: Path
    quotas: Quotas
    is_loop: bool


class DiskTooSmall(Exhausted):
    def __init__(self, folder: Path, needed_gb: int, free_gb: int) -> None:
        way_out = (
            f"Ask for a smaller volume (ROOST_VOLUME_SIZE_GB={max(SMALLEST_GB, int(free_gb * (1 - KEPT_FREE_SHARE)))}),"
            if free_gb > SMALLEST_GB
            else "Free some space,"
        )
        super().__init__(
            "disk_too_small",
            f"The disk that holds {folder} has {free_gb} GiB free, and the volume needs {needed_gb} GiB."
            f" {way_out} or put the home on a larger disk (ROOST_HOME).",
            folder=str(folder),
            needed_gb=needed_gb,
            free_gb=free_gb,
        )


class NoBtrfs(Unsupported):
    def __init__(self) -> None:
        super().__init__(
            "btrfs_missing",
            "The kernel of this machine has no btrfs, which holds the disks of sandboxes. Load it (`modprobe btrfs`),"
            " or install a kernel that has it (Debian's and Ubuntu's own do; in a container the host's kernel counts).",
        )


class NoLoopDevice(Unsupported):
    def __init__(self, detail: str) -> None:
        super().__init__(
            "loop_device_missing",
            f"No loop device could be had for the volume's file: {detail}. Load the driver (`modprobe loop`)"
            " or free a device (`losetup -a` lists them); or mount a btrfs of your own at the volume's place.",
            detail=detail,
        )


def is_btrfs(path: Path) -> bool:
    return path.is_dir() and _filesystem_type(path) == BTRFS_MAGIC


def _filesystem_type(path: Path) -> int:
    # os.statvfs leaves the type out. f_type is the first word of struct statfs on every 64-bit Linux.
    result = ctypes.create_string_buffer(256)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.statfs(os.fsencode(path), result) != 0:
        raise OSError(ctypes.get_errno(), "statfs", str(path))
    return struct.unpack_from("=q", result)[0] & 0xFFFFFFFF


def kernel_has_btrfs(commands: Commands, filesystems: Path = Path("/proc/filesystems")) -> bool:
    """Whether btrfs can be mounted here; loads the module if that is all it takes."""
    if "btrfs" in filesystems.read_text().split():
        return True
    if find_program("modprobe") is None:
        return False
    try:
        commands.run(["modprobe", "btrfs"])
    except CommandFailed:
        return False
    return "btrfs" in filesystems.read_text().split()


def existing_parent(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if parent.exists())


def choose_size_gb(home: Path, wanted_gb: int, *, is_default: bool, free_bytes: int | None = None) -> int:
    """The size of a new volume. What was asked for must fit; the default shrinks to the disk. Raises DiskTooSmall."""
    parent = existing_parent(home)
    free_gb = (shutil.disk_usage(parent).free if free_bytes is None else free_bytes) // GIB
    if is_default:
        wanted_gb = min(wanted_gb, int(free_gb * (1 - KEPT_FREE_SHARE)))
    needed_gb = max(wanted_gb, SMALLEST_GB) if is_default else wanted_gb
    if free_gb < needed_gb:
        raise DiskTooSmall(parent, needed_gb, free_gb)
    return needed_gb


def uses_loop(home: Path) -> bool:
    """Whether the volume is a file of ours: always if there is one, else unless its place is on a btrfs already."""
    return (home / "volume.btrfs").exists() or not is_btrfs(existing_parent(home / "volume"))


def is_ready(home: Path) -> bool:
    """Whether the volume can be used as it stands."""
    path = home / "volume"
    return path.is_mount() if uses_loop(home) else path.is_dir()


def check_volume(home: Path, wanted_gb: int, commands: Commands, *, is_default: bool) -> None:
    """Whether a volume can be had, before anything is made. Raises NoBtrfs, NoLoopDevice or DiskTooSmall."""
    if is_ready(home) or not uses_loop(home):
        return
    if not kernel_has_btrfs(commands):
        raise NoBtrfs
    if not Path("/dev/loop-control").exists():
        raise NoLoopDevice("/dev/loop-control is missing")
    if not (home / "volume.btrfs").exists():
        choose_size_gb(home, wanted_gb, is_default=is_default)


def ensure_volume(home: Path, wanted_gb: int, commands: Commands, say: Say = silent, *, is_default: bool) -> Volume:
    """The volume, formatted if there is none, mounted if it is not. May be called twice, by two processes at once."""
    path, file = home / "volume", home / "volume.btrfs"
    if not is_ready(home):
        check_volume(home, wanted_gb, commands, is_default=is_default)
        with exclusive(home / ".volume.lock", say):
            # Asked before the directory is there, which would lie on the home's own btrfs where the home has one.
            is_loop = uses_loop(home)
            path.mkdir(mode=0o711, exist_ok=True)
            if is_loop and not file.exists():
                _format(file, choose_size_gb(home, wanted_gb, is_default=is_default), commands, say)
            if is_loop and not path.is_mount():
                say("mounting")
                _mount(file, path, commands)
    if path.is_mount():
        _enable_quotas(path)
    return Volume(path, quotas_of(path), is_loop=file.exists())


def _format(file: Path, size_gb: int, commands: Commands, say: Say) -> None:
    say(f"formatting {size_gb} GiB (sparse: it takes only what is used)")
    making = file.with_name(f".{file.name}.making")
    discard(making)
    try:
        with making.open("xb") as sparse:
            os.fchmod(sparse.fileno(), 0o600)
            sparse.truncate(size_gb * GIB)
        commands.run(["mkfs.btrfs", "--quiet", "--nodiscard", "--label", "roost", making])
        with making.open("rb") as formatted:
            os.fsync(formatted.fileno())
        making.replace(file)
    finally:
        discard(making)


def _mount(file: Path, path: Path, commands: Commands) -> None:
    """By the device that shows the file already, if there is one. Somebody else's mount namespace may have kept the volume
    through its unmount, or a set-up have been killed: a second device would be a second disk with the same bytes, and each of
    the two would spoil what the other writes."""
    for device in _devices_of(file, commands):
        try:
            return _mount_device(device, file, path, commands)
        except Fault:
            if device in _devices_of(file, commands):
                raise  # else it was just going
    try:
        # Direct I/O: pages of the volume are cached once, not once more for the file under it.
        device = commands.run(["losetup", "--find", "--show", "--direct-io=on", file]).strip()
    except CommandFailed as error:
        raise NoLoopDevice(error.facts["output"] or "losetup failed") from error
    return _mount_device(device, file, path, commands)


def _devices_of(file: Path, commands: Commands) -> list[str]:
    return commands.run(["losetup", "--list", "--noheadings", "--output", "NAME", "--associated", file]).split()


def _mount_device(device: str, file: Path, path: Path, commands: Commands) -> None:
    try:
        commands.run(["mount", "-t", "btrfs", "-o", MOUNT_OPTIONS, device, path])
    except CommandFailed as error:
        raise Fault(
            "volume_unmountable",
            f"{file} could not be mounted at {path}: {error.facts['output'].rstrip('.')}."
            f" `btrfs check {file}` tells whether it is damaged.",
            file=str(file),
            path=str(path),
        ) from error
    finally:
        # Of a mounted device this only means: let go of it at the unmount.
        commands.run(["losetup", "--detach", device])


def _enable_quotas(path: Path) -> None:
    if quotas_of(path) is not Quotas.NONE:
        return
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for mode in (QUOTA_ENABLE_SIMPLE, QUOTA_ENABLE):
            try:
                fcntl.ioctl(folder, QUOTA_CTL, struct.pack("=QQ", mode, 0))
                return
            except OSError:
                continue  # this kernel knows no simple quotas; a volume without any is told by `quotas_of`
    finally:
        os.close(folder)


def quotas_of(path: Path) -> Quotas:
    """Which quotas the volume has, as the kernel tells."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # BTRFS_IOC_FS_INFO: the file system's id is at byte 16 of 1024.
        answer = fcntl.ioctl(folder, 0x8400941F, bytes(1024))
    finally:
        os.close(folder)
    digits = answer[16:32].hex()
    uuid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    qgroups = Path("/sys/fs/btrfs") / uuid / "qgroups"
    try:
        mode = (qgroups / "mode").read_text().strip()
    except FileNotFoundError:
        # Kernels before 6.7 have no mode, and list the groups only.
        return Quotas.FULL if qgroups.is_dir() else Quotas.NONE
    return {"squota": Quotas.SIMPLE, "qgroup": Quotas.FULL}.get(mode, Quotas.NONE)


@contextmanager
def held(volume: Volume) -> Iterator[None]:
    """Nobody can unmount it meanwhile: a server that goes on without its volume would find all its snapshots gone. Raises
    Unavailable when somebody has done it already."""
    folder = os.open(volume.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if volume.is_loop and not volume.path.is_mount():
            raise Unavailable(
                "volume_unmounted",
                f"The volume at {volume.path} was unmounted just when it was to be used. Run the command again: it mounts it.",
                path=str(volume.path),
            )
        yield
    finally:
        os.close(folder)


def unmount_volume(home: Path, commands: Commands) -> None:
    """Unmount the volume; its loop device goes with it. May be called twice. Raises Conflict while it is in use."""
    path = home / "volume"
    if not path.is_mount():
        return
    try:
        commands.run(["umount", path])
    except CommandFailed as error:
        raise Conflict(
            "volume_busy",
            f"The volume at {path} is still in use: {error.facts['output'].rstrip('.')}. `fuser -vm {path}` tells by whom.",
            path=str(path),
        ) from error
