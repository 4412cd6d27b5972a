"""A slot with the real engine in it: gVisor's network stack on the guest's link, and nobody there while it sleeps."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import socket
import struct
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from anyio.abc import UDPSocket

from roost.domain.address import GATEWAY_ADDRESS
from roost.node.network.slots import Slot, Slots, SlotSettings
from roost.setup.engine import Engine
from tests.real.server import eventually

pytestmark = pytest.mark.anyio

ECHO_PORT = 7
PATIENCE_S = 60.0
SERVE_ECHO = f"/bin/busybox nc -ll -p {ECHO_PORT} -e /bin/cat"


@dataclass(frozen=True, slots=True)
class Container:
    """The engine, run by hand, on a root filesystem that holds nothing but busybox."""

    runsc: Path
    state: Path
    bundle: Path

    def call(self, *words: str) -> str:
        done = subprocess.run(self._command(words), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"runsc {words[0]} failed: {done.stderr}{done.stdout}"
        return done.stdout

    def launch(self, *words: str) -> None:
        """A call that leaves a sandbox behind: its streams must not be pipes of ours, or we would wait for its end."""
        nowhere = subprocess.DEVNULL
        done = subprocess.run(self._command(words), stdin=nowhere, stdout=nowhere, stderr=nowhere, check=False)
        assert done.returncode == 0, f"runsc {words[0]} failed: {self._log.read_text()}"

    def clean_up(self) -> None:
        for name in ("first", "second"):
            subprocess.run(self._command(("delete", "-force", name)), capture_output=True, check=False)
        for mount in self.state.glob("null-netns"):  # the engine mounts it, and leaves it
            subprocess.run(("umount", mount), capture_output=True, check=False)

    @property
    def _log(self) -> Path:
        return self.bundle / "log"

    def _command(self, words: tuple[str, ...]) -> tuple[str | Path, ...]:
        return (
            self.runsc,
            f"--root={self.state}",
            f"--log={self._log}",
            "--platform=systrap",
            "--network=sandbox",
            "--overlay2=none",
            "--allow-connected-on-save=true",
            "--ignore-cgroups",
            *words,
        )

    def specify(self, slot: Slot) -> None:
        mounts = [{"destination": "/proc", "type": "proc", "source": "proc"}]
        namespaces = [{"type": "network", "path": slot.guest_netns}]
        namespaces += [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")]
        spec = {
            "ociVersion": "1.0.0",
            "process": {"user": {"uid": 0, "gid": 0}, "args": SERVE_ECHO.split(), "cwd": "/", "env": ["PATH=/bin"]},
            "root": {"path": "root"},
            "mounts": mounts,
            "linux": {"namespaces": namespaces},
        }
        (self.bundle / "config.json").write_text(json.dumps(spec))


@pytest.fixture(scope="session")
def busybox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static busybox, from Debian's package."""
    directory = tmp_path_factory.mktemp("busybox")
    directory.chmod(0o755)
    subprocess.run(("apt-get", "download", "busybox-static"), cwd=directory, check=True, capture_output=True)
    (package,) = directory.glob("busybox-static_*.deb")
    subprocess.run(("dpkg-deb", "-x", package, directory), check=True, capture_output=True)
    (found,) = (path for path in directory.rglob("busybox") if path.is_file() and os.access(path, os.X_OK))
    return found


@pytest.fixture
def container(engine: Engine, busybox: Path) -> Iterator[Container]:
    # Not below pytest's own directory: the path of the engine's sockets has a length limit.
    with tempfile.TemporaryDirectory(prefix="roost-") as directory:
        container = Container(runsc=engine.path, state=Path(directory, "state"), bundle=Path(directory, "bundle"))
        programs = container.bundle / "root" / "bin"
        programs.mkdir(parents=True)
        (container.bundle / "root" / "proc").mkdir()
        shutil.copy(busybox, programs / "busybox")
        (programs / "cat").symlink_to("busybox")
        yield container
        container.clean_up()


@asynccontextmanager
async def opened(resolv_conf: Path) -> AsyncIterator[Slots]:
    settings = SlotSettings(spare=0, resolv_conf=resolv_conf)
    async with anyio.create_task_group() as tasks:
        slots = Slots(instance="t" + secrets.token_hex(2), tasks=tasks, settings=settings)
        try:
            await slots.open(())
            yield slots
        finally:
            await slots.close(remove=True)


@pytest.fixture
async def slots(tmp_path: Path) -> AsyncIterator[Slots]:
    address = f"127.{1 + secrets.randbelow(250)}.{secrets.randbelow(250)}.{1 + secrets.randbelow(250)}"
    resolv_conf = tmp_path / "resolv.conf"
    resolv_conf.write_text(f"nameserver {address}\n")
    async with (
        await anyio.create_udp_socket(local_host=address, local_port=53) as datagrams,
        anyio.create_task_group() as tasks,
        opened(resolv_conf) as slots,
    ):
        tasks.start_soon(resolve, datagrams)
        yield slots
        tasks.cancel_scope.cancel()


async def resolve(datagrams: UDPSocket) -> None:
    """Every name has the address 203.0.113.9, and no other record."""
    async for query, source in datagrams:
        wants_address = query[-3] == 1
        answer = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + socket.inet_aton("203.0.113.9")
        header = query[:2] + struct.pack(">HHHHH", 0x8180, 1, int(wants_address), 0, 0)
        await datagrams.sendto(header + query[12:] + (answer if wants_address else b""), *source)


@pytest.fixture
async def running(container: Container, slots: Slots) -> Slot:
    slot = await slots.claim()
    container.specify(slot)
    await slots.prepare(slot)
    await anyio.to_thread.run_sync(container.launch, "run", "-detach", "-bundle", str(container.bundle), "first")
    return slot


def dial(slot: Slot) -> socket.socket:
    """A connection to the echo server, which may not listen yet when the container has just begun."""

    def connect() -> socket.socket:
        try:
            return socket.create_connection((slot.address, ECHO_PORT), timeout=PATIENCE_S)
        except ConnectionRefusedError as error:
            raise AssertionError("nobody listens yet") from error

    return eventually(connect)


def echoed(connection: socket.socket, payload: bytes) -> bytes:
    """What comes back when `payload` is sent, both ways at once."""
    heard = bytearray()
    rest = memoryview(payload)
    connection.settimeout(PATIENCE_S)
    while len(heard) < len(payload):
        if rest and len(payload) - len(rest) - len(heard) < 1 << 18:
            rest = rest[connection.send(rest[: 1 << 16]) :]
        else:
            received = connection.recv(1 << 16)
            assert received, "the connection was closed"
            heard += received
    return bytes(heard)


def assert_nobody_answers(slot: Slot) -> None:
    with socket.socket() as newcomer:
        newcomer.settimeout(0.3)
        with pytest.raises(TimeoutError):  # nobody is there to accept, and nobody refuses
            newcomer.connect((slot.address, ECHO_PORT))


async def test_many_bytes_go_through_unharmed(slots: Slots, running: Slot) -> None:
    payload = secrets.token_bytes(1 << 24)
    before = await slots.counters(running)
    with await anyio.to_thread.run_sync(dial, running) as connection:
        heard = await anyio.to_thread.run_sync(echoed, connection, payload)
    after = await slots.counters(running)
    assert hashlib.sha256(heard).digest() == hashlib.sha256(payload).digest()
    assert after.received_bytes - before.received_bytes > len(payload)
    assert after.sent_bytes - before.sent_bytes > len(payload)


async def test_names_resolve_inside(container: Container, running: Slot) -> None:
    words = ("exec", "first", "/bin/busybox", "nslookup", "name.example", str(GATEWAY_ADDRESS))
    said = await anyio.to_thread.run_sync(container.call, *words)
    assert "203.0.113.9" in said


async def test_a_connection_outlives_the_sandboxs_sleep(container: Container, slots: Slots, running: Slot) -> None:
    image = container.bundle / "image"
    with await anyio.to_thread.run_sync(dial, running) as connection:
        assert echoed(connection, b"before") == b"before"
        await anyio.to_thread.run_sync(container.call, "checkpoint", "-leave-running", f"-image-path={image}", "first")
        await anyio.to_thread.run_sync(container.call, "delete", "-force", "first")

        connection.sendall(b"while asleep")
        assert_nobody_answers(running)
        await slots.prepare(running)
        assert_nobody_answers(running)
        words = ("restore", "-detach", "-bundle", str(container.bundle), f"-image-path={image}", "second")
        await anyio.to_thread.run_sync(container.launch, *words)
        connection.settimeout(PATIENCE_S)
        assert await anyio.to_thread.run_sync(connection.recv, 100) == b"while asleep"
        assert echoed(connection, b"after") == b"after"
    with await anyio.to_thread.run_sync(dial, running) as connection:
        assert echoed(connection, b"anew") == b"anew"
