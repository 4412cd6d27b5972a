"""Every requirement of Roost, looked at one by one. Nothing is changed; what to do is told."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from roost.domain.errors import RoostError
from roost.settings import Settings
from roost.setup.commands import CommandFailed, Commands
from roost.setup.definitions import find_definitions, list_definitions
from roost.setup.engine import find_cached, find_changed, has_prewarmer, inspect_engine
from roost.setup.engine_build import VERSION
from roost.setup.installation import to_bootstrap, trusted_cas
from roost.setup.interpreter import find_interpreter, this_machine
from roost.setup.mirror import machine_mirror
from roost.setup.packages import BUILDING, SERVING, check_root, missing_packages
from roost.setup.puller import VERSION as PULLER_VERSION
from roost.setup.puller import find_puller, is_changed
from roost.setup.rootfs import find_rootfs
from roost.setup.running import find_running
from roost.setup.volume import GIB, Quotas, check_volume, existing_parent, is_btrfs, is_ready, quotas_of
from roost.setup.web import find_web

RUN_SETUP = "Run `roost setup` (or `make setup`)."


class Status(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement: how it stands, and what to do if it does not."""

    name: str
    status: Status
    detail: str
    remedy: str | None = None

    def as_json(self) -> dict[str, str | None]:
        return asdict(self)


def ok(name: str, detail: str) -> Requirement:
    return Requirement(name, Status.OK, detail)


def warning(name: str, detail: str, remedy: str) -> Requirement:
    return Requirement(name, Status.WARNING, detail, remedy)


def failure(name: str, detail: str, remedy: str) -> Requirement:
    return Requirement(name, Status.FAILURE, detail, remedy)


def examine(settings: Settings, commands: Commands | None = None) -> tuple[Requirement, ...]:
    """Look at everything. Takes well under a second, and works without root, though it sees less then."""
    running = commands or Commands()
    looks: tuple[Callable[[Settings, Commands], Iterator[Requirement]], ...] = (
        _machine,
        _packages,
        _kernel,
        _cgroups,
        _engine,
        _interpreter,
        _puller,
        _web,
        _templates,
        _volume,
        _disk,
        _network,
        _port,
    )
    found: list[Requirement] = []
    for look in looks:
        try:
            found.extend(look(settings, running))
        except (RoostError, OSError) as error:
            # A check that cannot be made is itself worth telling, and must not hide the others.
            name = look.__name__.removeprefix("_")
            found.append(failure(name, f"could not be looked at: {error}", "See the message; if it makes no sense, report it."))
    return tuple(found)


def worst(checks: tuple[Requirement, ...]) -> Status:
    order = (Status.OK, Status.WARNING, Status.FAILURE)
    return max((check.status for check in checks), key=order.index, default=Status.OK)


def _machine(settings: Settings, commands: Commands) -> Iterator[Requirement]:
    try:
        check_root()
        yield ok("root", "running as root")
    except RoostError:
        yield failure("root", f"running as user {os.geteuid()}", "Use sudo: volumes, networks and sandboxes need root.")
    try:
        this_machine()
        yield ok(
            "machine",
            f"{os.uname().machine}, Linux {os.uname().release}, {os.cpu_count()} processors, {_memory_gb()} GiB memory",
        )
    except RoostError as error:
        yield failure("machine", error.message, "Use a machine with a supported processor.")
    yield ok("python", f"{sys.version.split()[0]} at {sys.prefix}")


def _memory_gb() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // GIB


def _packages(settings: Settings, commands: Commands) -> Iterator[Requirement]:
    serving, building = missing_packages(needs=SERVING), missing_packages(needs=BUILDING)
    for need in serving:
        yield failure(need.package, f"{need.proof} is missing ({need.purpose})", f"{RUN_SETUP} It installs {need.package}.")
    if not serving:
        yield ok("packages for serving", "all there")
    names = " ".join(need.package for need in building)
    if not building:
        yield ok("packages for building", "all there")
    elif to_bootstrap(settings, find_definitions(settings.templates)) or find_interpreter(settings.cache) is None:
        yield failure("packages for building", f"{names} missing, and something is to be built", f"{RUN_SETUP} It installs them.")
    else:
        yield ok("packages for building", f"{names} missing; only building needs them, and all that is wanted is built")


def _kernel(settings: Settings, commands: Commands) -> Iterator[Requirement]:
    if "btrfs" in Path("/proc/filesystems").read_text().split() or is_btrfs(settings.volume):
        yield ok("btrfs", "in the kernel")
    elif Path(f"/lib/modules/{os.uname().release}").is_dir():
        yield warning("btrfs", "not loaded", "`modprobe btrfs`; set-up does it if the module is there.")
    else:
        yield failure("btrfs", "not in the kernel", "Use a kernel that has btrfs (Debian's and Ubuntu's own do).")
    if Path("/dev/loop-control").exists():
        yield ok("loop devices", "available")
    else:
        yield failure(
            "loop devices",
            "/dev/loop-control is missing",
            "`modprobe loop`, or mount a btrfs of your own at the volume's place.",
        )
    forwarding = Path("/proc/sys/net/ipv4/ip_forward")
    if forwarding.exists():
        forwards = forwarding.read_text().strip() == "1"
        yield ok("forwarding", "on" if forwards else "off; the server turns it on when it starts")


def _cgroups(settings: Settings, commands: Commands, top: Path = Path("/sys/fs/cgroup")) -> Iterator[Requirement]:
    wanted = {"cpu", "memory", "pids"}
    unified = top / "cgroup.controllers"
    have = set(unified.read_text().split()) if unified.exists() else {name for name in wanted if (top / name).is_dir()}
    version = "v2" if unified.exists() else "v1"
    if wanted <= have:
        yield ok("cgroups", f"{version} with cpu, memory and pids")
    else:
        lacking = ", ".join(sorted(wanted - have))
        yield failure("cgroups", f"{version} without {lacking}", "Turn these controllers on: limits of sandboxes depend on them.")


def _engine(settings: Settings, commands: Commands) -> Iterator[Requirement]:
    if settings.engine is not None:
        yield _own_engine(settings.engine)
        return
    cached = find_cached(settings.cache)
    folder = settings.cache / "engines" / VERSION
    if cached is None:
        state = "half-built: it will be built again" if folder.exists() else "not built yet"
        yield failure("engine", f"gVisor {VERSION}: {state}", RUN_SETUP)
    elif changed := next(find_changed(cached), None):
        yield failure(
            "engine",
            f"{changed} is not the file that was built",
            f"Remove {folder}, then {RUN_SETUP[0].lower()}{RUN_SETUP[1:]}",
        )
    else:
        slower = "" if has_prewarmer(cached) else "; sandboxes start slower here: its prewarmer is for x86-64"
        yield ok("engine", f"gVisor {VERSION}{slower}")


def _own_engine(binary: Path) -> Requirement:
    try:
        engine = inspect_engine(binary)
    except RoostError as error:
        return failure("engine", error.message, "Correct `engine` in the settings, or leave it out.")
    if engine.is_ours:
        return ok("engine", f"your own: {engine.version}")
    return warning(
        "engine",
        f"your own: {engine.version}. Without Roost's patch, connections inside may wait for seconds after a wake",
        "Leave `engine` out of the settings: Roost then builds its own.",
    )


def _interpreter(settings: Settings, commands: Commands) -> Iterator[Requirement]:
    found = find_interpreter(settings.cache)
    if found is None:
        yield failure("agent's interpreter", "not made yet", RUN_SETUP)
        return
    try:
        said = commands.run([*found.command(), "-c", "import asyncio, ctypes, sys; print(sys.version.split()[0])"])
        yield ok("agent's interpreter", f"Python {said}")
    except CommandFailed as error:
        remedy = f"Remove {found.path.parent}, then {RUN_SETUP[0].lower()}{RUN_SETUP[1:]}"
        yield failure("agent's interpreter", f"does not start: {error.facts['output']}", remedy)


def _puller(settings: Settings, _: Commands) -> Iterator[Requirement]:
    found = find_puller(settings.cache)
    if found is None:
        yield warning("image puller", "not built yet; the first image waits a minute for it", RUN_SETUP)
    elif is_changed(found):
        remedy = f"Remove {found.parent}, then {RUN_SETUP[0].lower()}{RUN_SETUP[1:]}"
        yield failure("image puller", f"{found} is not the file that was built", remedy)
    else:
        yield ok("image puller", f"roost-pull {PULLER_VERSION}")


def _web(settings: Settings, _: Commands) -> Iterator[Requirement]:
    found = find_web(settings.cache)
    yield ok("Mission Control", f"built ({found.digest})") if found else failure("Mission Control", "not built yet", RUN_SETUP)


def _templates(settings: Settings, commands: Commands) -> Iterator[Requirement]:
    cas = trusted_cas(settings)
    wanted = find_definitions(settings.templates)
    lacking = to_bootstrap(settings, wanted)
    for definition in wanted.values():
        found = find_rootfs(definition, cas, settings.cache) or find_rootfs(definition, (), settings.cache)
        if definition in lacking or found is None:
            yield failure(f"template {definition.name}", "root filesystem not made yet", RUN_SETUP)
        else:
            yield ok(f"template {definition.name}", f"root filesystem of {found.size_bytes >> 20} MiB; {definition.description}")
    others = [each.name for each in list_definitions() if each.name not in wanted]
    if others:
        yield ok("other templates", f"{', '.join(others)}: not among those that are set to be made (`templates`)")
    trusted = f"; {len(cas)} CAs of this machine are trusted inside" if cas else ""
    yield ok("mirror", f"{machine_mirror(settings.mirror).archive}{trusted}")


def _volume(settings: Settings, commands: Commands) -> Iterator[Requirement]:
    if not is_ready(settings.home):
        is_default = settings.origin("volume_size_gb") == "default"
        try:
            check_volume(settings.home, settings.volume_size_gb, commands, is_default=is_default)
        except RoostError as error:
            yield failure("volume", error.message, "See there.")
            return
        made = settings.volume_file.exists()
        yield warning("volume", "not mounted" if made else "not made yet", "`roost up` mounts it." if made else RUN_SETUP)
        return
    usage = shutil.disk_usage(settings.volume)
    free_gb = usage.free // GIB
    if free_gb < 2:
        yield warning("volume", f"{free_gb} GiB free at {settings.volume}", "Delete snapshots, or kill sandboxes.")
    else:
        yield ok("volume", f"{free_gb} of {usage.total // GIB} GiB free at {settings.volume}")
    quotas = quotas_of(settings.volume)
    if quotas is Quotas.NONE:
        yield warning("disk quotas", "none", f"`btrfs quota enable {settings.volume}`; until then a sandbox may fill the volume.")
    else:
        yield ok("disk quotas", f"{quotas} quotas")


def _disk(settings: Settings, commands: Commands) -> Iterator[Requirement]:
    """The volume's file is sparse: what it may still grow by must be free on the disk under it."""
    if not settings.volume_file.exists():
        return
    status = settings.volume_file.stat()
    may_grow = status.st_size - status.st_blocks * 512
    free = shutil.disk_usage(existing_parent(settings.home)).free
    detail = f"{free // GIB} GiB free under the volume's file, which may grow by {may_grow // GIB} GiB"
    if free < may_grow:
        yield warning("disk", detail, "Free space before the volume fills up: sandboxes get I/O errors when the disk is full.")
    else:
        yield ok("disk", detail)


def _network(settings: Settings, commands: Commands) -> Iterator[Requirement]:
    domain = settings.domain
    if domain == "localhost" or domain.endswith(".localhost"):
        yield ok("domain", f"*.{domain} is this machine to browsers and curl; other programs can use E2B's headers")
        return
    try:
        socket.getaddrinfo(f"anything.{domain}", None)
        yield ok("domain", f"*.{domain} resolves")
    except OSError:
        remedy = f"Point *.{domain} at this machine in your DNS; until then, clients can use E2B's headers."
        yield warning("domain", f"*.{domain} does not resolve on this machine", remedy)


def _port(settings: Settings, commands: Commands) -> Iterator[Requirement]:
    where = f"{settings.host}:{settings.port}"
    server = find_running(settings.home)
    if server is not None and urlsplit(server.url).port == settings.port:
        yield ok("port", f"{where} is served by this Roost (pid {server.pid})")
        return
    with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            remedy = "Choose another (ROOST_PORT), or stop what holds it."
            yield failure("port", f"{where} cannot be had: {error.strerror}", remedy)
            return
    yield ok("port", f"{where} is free")
