"""A real server in a process of its own, on a home of its own: started, killed, started again, and cleared away without a
trace."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, TypeVar

from roost.client import Roost, Sandbox, SandboxRecord
from roost.domain.errors import Conflict
from roost.domain.lifecycle import MOVING
from roost.settings import RUN, instance_of
from roost.setup.commands import Commands
from roost.setup.running import RunningRole, find_running
from roost.setup.volume import unmount_volume
from tests.real.mortal import ALONE, DIES_AT, REPOSITORY, Mortal

T = TypeVar("T")

# On a machine that does other things beside. They end with the thing they wait for: long ones cost nothing.
STARTS_WITHIN_S = 300.0
ENDS_WITHIN_S = 180.0
SETTLES_WITHIN_S = 120.0
MADE_WITHIN_S = 900.0  # a template, beside whatever else the machine does, also when it takes a second try
VOLUME_GB = 8
DOMAIN = "roost.localhost"


@dataclass(slots=True)
class Server:
    """Several lives of a server on one home. `roost` talks to the one that lives now."""

    home: Path
    is_mortal: bool = False  # can be told to die at a step
    url: str = ""
    key: str = ""
    settings: dict[str, object] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | Mortal | None = None
    _clients: list[Roost] = field(default_factory=list)

    @property
    def instance(self) -> str:
        return instance_of(self.home)

    @property
    def volume(self) -> Path:
        return self.home / "volume"

    @property
    def run_dir(self) -> Path:
        return RUN / self.instance

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server runs"
        return self._process.pid

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def network(self) -> IPv4Network:
        """The address range that this Roost has taken."""
        taken = ranges_of(self.instance)
        assert len(taken) == 1, f"{self.instance} has the address ranges {taken}"
        return IPv4Network(taken[0].replace("_", "/"))

    @property
    def roost(self) -> Roost:
        if not self._clients:
            self._clients.append(Roost(self.url, self.key))
        return self._clients[0]

    def host(self, sandbox: Sandbox, port: int) -> str:
        """The name under which a port of a sandbox is reached."""
        return f"{port}-{sandbox.id}.{DOMAIN}"

    def start(self, **settings: object) -> None:
        """Returns when it serves. Settings are as in roost.toml, and stay for the lives after."""
        assert self._process is None, "one server per home"
        self.settings |= settings
        reader, writer = os.pipe()
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "server.log").open("ab") as log:
            self._process = self._spawn(log.fileno(), writer)
        os.close(writer)
        try:
            ready, _, _ = select.select([reader], [], [], STARTS_WITHIN_S)
            told = os.read(reader, 65536) if ready else b""
        finally:
            os.close(reader)
        if not told:
            self.kill()
            raise AssertionError(f"the server did not start:\n{self.log_tail()}")
        info = json.loads(told)
        self.url, self.key = info["url"], info["key"]

    def _spawn(self, log: int, ready: int) -> subprocess.Popen[bytes] | Mortal:
        environment = _environment(self.settings)
        if self.is_mortal:
            return Mortal(self.home, environment, log, ready)
        return subprocess.Popen(
            [sys.executable, "-m", "roost.cli.main", "up", "--home", self.home, "--port", "0", "--ready-fd", str(ready)],
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(ready,),
        )

    def kill(self) -> None:
        """-9: it has no time for last words."""
        assert self._process is not None
        self._process.kill()
        self._ended()

    def stop(self) -> None:
        """As `roost down`: it ends in order, and its sandboxes live on."""
        assert self._process is not None
        self._process.terminate()
        self.wait_until_ended()

    def wait_until_ended(self) -> None:
        """Somebody else stopped it."""
        code = self._ended()
        assert code == 0, f"the server ended with {code}:\n{self.log_tail()}"

    def die_at(self, step: str) -> None:
        """It kills itself with -9 when it next comes to that step."""
        assert self.is_mortal
        (self.home / DIES_AT).write_text(step)

    def node_dies_at(self, step: str) -> None:
        """The process of its node kills itself with -9 when it next comes to that step, and the server lives on."""
        assert self.is_mortal
        (self.home / DIES_AT).write_text(f"{step}\n{ALONE}")

    def role(self, name: str) -> RunningRole:
        """One of its processes."""
        running = find_running(self.home)
        assert running is not None, self.log_tail()
        return next(role for role in running.roles if role.name == name)

    def kill_role(self, name: str) -> None:
        """-9, and the server lives on."""
        os.kill(self.role(name).pid, signal.SIGKILL)

    def wait_for_next(self, before: RunningRole) -> RunningRole:
        """The process that took its place, once it serves."""

        def look() -> RunningRole:
            now = self.role(before.name)
            assert now.restarts > before.restarts, self.log_tail()
            return now

        return eventually(look, STARTS_WITHIN_S)

    def wait_until_dead(self) -> None:
        """It was told to die, and does."""
        code = self._ended()
        assert code == -signal.SIGKILL, f"the server did not come to the step it was to die at ({code}):\n{self.log_tail()}"

    def restart(self) -> None:
        self.kill()
        self.start()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log_tail(self, size: int = 6000) -> str:
        return (self.home / "server.log").read_text(errors="replace")[-size:]

    def clear(self) -> None:
        """Nothing of it is left: sandboxes, server, mount, home. Whatever state a test left it in."""
        if self._process is not None and not self.is_running:
            self._ended()
        (self.home / DIES_AT).unlink(missing_ok=True)
        if self._process is None:
            self.start()
        for record in list(self.roost.sandboxes()):
            if record.state != "dead":
                self.roost.get(record.id).kill()
        self.stop()
        unmount(self.home)
        shutil.rmtree(self.home)

    def _ended(self) -> int:
        assert self._process is not None
        try:
            return self._process.wait(ENDS_WITHIN_S)
        finally:
            if self._process.poll() is not None:
                self._process = None
            while self._clients:
                self._clients.pop().close()


def _environment(settings: dict[str, object]) -> dict[str, str]:
    """Ours, without what the machine's owner set for a Roost of theirs (but the cache, which is shared)."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ROOST_") or name == "ROOST_CACHE"}
    given = {f"ROOST_{name.upper()}": str(value) for name, value in settings.items()}
    ours = {"ROOST_VOLUME_SIZE_GB": str(VOLUME_GB), "ROOST_DOMAIN": DOMAIN, "ROOST_TEMPLATES": "base"}
    ours["ROOST_DOZE_MEMORY_SHARE"] = "0"  # who sleeps sleeps: else nothing would ever be restored here
    return {**kept, **ours, **given}


@contextmanager
def serving(home: Path | None = None, *, is_mortal: bool = False, **settings: object) -> Iterator[Server]:
    """A server on a fresh home, its own unless given. Afterwards nothing of it is left on the machine.

    Not in pytest's own temporary directory: that is swept by other runs of pytest, and a mounted volume is not for sweeping."""
    with tempfile.TemporaryDirectory(prefix="roost-") as folder:
        server = Server(home or Path(folder).resolve() / "home", is_mortal)
        try:
            server.start(**settings)
        except BaseException:
            unmount(server.home)
            raise
        try:
            yield server
        finally:
            server.clear()


@contextmanager
def sandbox_of(server: Server, **request: Any) -> Iterator[Sandbox]:
    """A sandbox that is killed afterwards, by whatever server lives then."""
    sandbox = server.roost.create(**request)
    try:
        yield sandbox
    finally:
        if server.is_running:
            server.roost.get(sandbox.id).kill()


def template_is_made(server: Server, name: str) -> None:
    """Returns once sandboxes can be created from it: the server makes all but its first template while it serves."""
    try:
        with bounded(MADE_WITHIN_S):
            for event in server.roost.follow_events(after=0, kind="template.built"):
                if event.facts["template"] == name:
                    return
    except AssertionError as error:
        raise AssertionError(f"{error}\n{server.log_tail()}") from None


def ranges_of(instance: str) -> list[str]:
    """The address ranges that a Roost has taken, by the names of its leases. Others come and go meanwhile."""
    found: list[str] = []
    for lease in (RUN / "networks").glob("*_*"):
        with suppress(FileNotFoundError):
            if lease.read_text().strip() == instance:
                found.append(lease.name)
    return found


def unmount(home: Path) -> None:
    """The volume of a home on which nothing runs any more. The kernel takes a moment to let go of what has just ended."""

    def look() -> None:
        try:
            unmount_volume(home, Commands())
        except Conflict as error:
            raise AssertionError(error.message) from error

    eventually(look)


def settled(server: Server, ref: str) -> SandboxRecord:
    """The record once no move is under way. Not every move writes an event, so the record itself is watched."""

    def look() -> SandboxRecord:
        record = server.roost.get(ref).record
        assert record.state not in MOVING, f"{record!r}\n{server.log_tail()}"
        return record

    return eventually(look, SETTLES_WITHIN_S)


def settles(server: Server, ref: str, state: str) -> SandboxRecord:
    """Once no move is under way, it is in this state."""
    record = settled(server, ref)
    assert record.state == state, f"{record!r}\n{server.log_tail()}"
    return record


@contextmanager
def bounded(limit_s: float) -> Iterator[None]:
    """Raises AssertionError in the middle of whatever waits there, once the time is over. Only on the main thread.

    Not TimeoutError: a client would take that for a connection that broke, and make another one."""

    def give_up(_number: int, _frame: object) -> None:
        raise AssertionError(f"still waiting after {limit_s:g} s")

    began_at = time.monotonic()
    before = signal.signal(signal.SIGALRM, give_up)
    # There is one such timer, and whoever set it before us (pytest's own limit of a test) still wants it to ring.
    left_s, every_s = signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left_s:
            signal.setitimer(signal.ITIMER_REAL, max(0.01, left_s - (time.monotonic() - began_at)), every_s)


def eventually(check: Callable[[], T], within_s: float = 60.0) -> T:
    """For what nobody tells of: things that go away behind an answer. Raises what `check` raised last."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def said(sandbox: Sandbox, command: str, **options: Any) -> str:
    """What a command prints. It must succeed."""
    result = sandbox.run(command, **options)
    assert result.code == 0, f"`{command}` ended with {result.code}: {result.stdout!r} {result.stderr!r}"
    return result.stdout.strip()
