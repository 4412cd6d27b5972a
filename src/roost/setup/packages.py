"""The system packages that Roost stands on: which are missing, and one run of apt to get them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from roost.domain.errors import Fault, Forbidden, Unsupported
from roost.setup.artefacts import Say, silent
from roost.setup.commands import CommandFailed, Commands, find_program


@dataclass(frozen=True, slots=True)
class Requirement:
    """A system package, the program or file that proves it is there, and what Roost wants of it."""

    package: str
    proof: str
    purpose: str


SERVING = (
    Requirement("btrfs-progs", "mkfs.btrfs", "disks and snapshots of sandboxes"),
    Requirement("nftables", "nft", "firewalls of sandboxes"),
    Requirement("mount", "losetup", "the volume's loop device"),
    Requirement("tar", "tar", "unpacking root filesystems"),
)

# Only to make root filesystems and the agent's interpreter, which a bundle brings ready-made.
BUILDING = (
    Requirement("util-linux", "unshare", "private mounts while a root filesystem is made"),
    Requirement("mmdebstrap", "mmdebstrap", "root filesystems of templates"),
    Requirement("gpg", "gpg", "checking the signatures of Debian's archive"),
    Requirement("debian-archive-keyring", "/usr/share/keyrings/debian-archive-keyring.gpg", "the keys of Debian's archive"),
    Requirement("zstd", "zstd", "unpacking Debian's packages"),
    Requirement("ca-certificates", "/etc/ssl/certs/ca-certificates.crt", "trusted certificates"),
)

# Only to test what is served, and to picture it.
BROWSER = Requirement("chromium", "chromium", "tests of Mission Control in a browser")
TESTING = (Requirement("iproute2", "ip", "tests that look at networks from outside"), BROWSER)


class NotRoot(Forbidden):
    def __init__(self) -> None:
        super().__init__(
            "not_root",
            "Roost needs root: it mounts a volume, makes networks and starts sandboxes. Run the same command with sudo"
            " (for example `sudo make up`), or as root.",
        )


def check_root(uid: int | None = None) -> None:
    """Raises NotRoot."""
    if (os.geteuid() if uid is None else uid) != 0:
        raise NotRoot


def missing_packages(
    find: Callable[[str], str | None] = find_program,
    exists: Callable[[Path], bool] = Path.exists,
    needs: tuple[Requirement, ...] = SERVING + BUILDING,
) -> tuple[Requirement, ...]:
    """What is not installed. Programs are looked for, not packages: another source of them is as good."""
    return tuple(need for need in needs if not (exists(Path(need.proof)) if need.proof.startswith("/") else find(need.proof)))


def check_packages(needs: tuple[Requirement, ...] = SERVING) -> None:
    """Raises Unsupported, which names what is missing and the package that has it."""
    missing = missing_packages(needs=needs)
    if missing:
        lines = "".join(f"\n  {need.proof:<12} {need.purpose}: in the package {need.package}" for need in missing)
        names = " ".join(need.package for need in missing)
        raise Unsupported(
            "packages_missing",
            f"This machine lacks programs that Roost needs:{lines}\nInstall them (`apt-get install {names}`), or use a bundle"
            " made with WITH_TOOLS=1, which brings them along; then run the same command again.",
            packages=names.split(),
        )


def ensure_packages(
    commands: Commands, say: Say = silent, needs: tuple[Requirement, ...] = SERVING + BUILDING
) -> tuple[str, ...]:
    """Install what is missing, in one run of apt, and return the names. May be called twice."""
    missing = tuple(need.package for need in missing_packages(needs=needs))
    if not missing:
        return ()
    names = " ".join(missing)
    if find_program("apt-get") is None:
        raise Unsupported(
            "packages_missing",
            f"These programs are missing: {names}. Roost installs them itself on Debian and Ubuntu; here, install them by hand.",
            packages=list(missing),
        )
    say(f"installing {names}")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    waiting = ["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"]
    try:
        commands.run(["apt-get", *waiting, "update"], env=quiet, on_line=say)
        commands.run(["apt-get", *waiting, "install", "--yes", "--no-install-recommends", *missing], env=quiet, on_line=say)
    except CommandFailed as error:
        raise Fault(
            "packages_failed",
            f"apt could not install {names}. {error.message}\nRun `apt-get update && apt-get install {names}` by hand"
            " to see why, then the same command again.",
            packages=list(missing),
        ) from error
    still = " ".join(need.package for need in missing_packages(needs=needs))
    if still:
        raise Fault(
            "packages_failed",
            f"apt ended well but left these missing: {still}. Install them by hand.",
            packages=still.split(),
        )
    return missing
