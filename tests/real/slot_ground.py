"""What tests of slots stand on: guests that are sockets of this process in a guest's namespace, and an internet that is a
namespace of the test's own, to which everything that leaves the test's slots is routed. Nothing leaves the machine.
"""

from __future__ import annotations

import secrets
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
import pytest

from roost.node.network import wires
from roost.node.network.slots import Slot, Slots, SlotSettings

T = TypeVar("T")
OpenSlots = Callable[..., Awaitable[Slots]]
Ending = Literal["remove", "keep", "crash"]

INTERNET = "203.0.113.2"
PRIVATE = "10.213.7.1"
METADATA = "169.254.169.254"
PATIENCE_S = 30.0


def command(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def within(netns: str, work: Callable[[], T]) -> T:
    def run() -> T:
        wires.enter(netns)
        return work()

    return wires.apart(run)


def guest_of(slot: Slot) -> str:
    return Path(slot.guest_netns).name


def router_of(slot: Slot) -> str:
    return guest_of(slot).replace("-g", "-r")


def listen(netns: str, address: str = "0.0.0.0", port: int = 0) -> socket.socket:
    server = within(netns, lambda: socket.create_server((address, port)))
    server.settimeout(PATIENCE_S)
    return server


def dial(netns: str, address: str, port: int) -> socket.socket:
    """A connection from inside a namespace. Raises ConnectionRefusedError when it is refused."""
    return within(netns, lambda: socket.create_connection((address, port), timeout=PATIENCE_S))


def wake_kernel(slot: Slot) -> None:
    """The guest's kernel answers, as gVisor would in its place."""
    command("ip", "-n", guest_of(slot), "rule", "add", "pref", "0", "lookup", "local")


def silence_kernel(slot: Slot) -> None:
    """As a slot is while its sandbox sleeps: nobody there, and no address."""
    command("ip", "-n", guest_of(slot), "rule", "del", "pref", "0")
    command("ip", "-n", guest_of(slot), "address", "flush", "dev", "eth0")


def disarm_router(slot: Slot) -> None:
    """The router lets everything out."""
    nft = ("ip", "netns", "exec", router_of(slot), "nft")
    command(*nft, "flush", "chain", "ip", "roost", "egress")
    command(*nft, "add", "rule", "ip", "roost", "egress", "accept")


def disarm_host(instance: str) -> None:
    """The host forwards and takes in everything."""
    for chain in ("from_slot", "crossings"):
        command("nft", "flush", "chain", "ip", f"roost_{instance}", chain)


def converse(near: socket.socket, far: socket.socket) -> None:
    """Both ends hear each other."""
    for sender, receiver in ((near, far), (far, near)):
        word = secrets.token_bytes(16)
        sender.sendall(word)
        heard = b""
        while len(heard) < len(word):
            received = receiver.recv(len(word) - len(heard))
            assert received, "the connection was closed"
            heard += received
        assert heard == word


@contextmanager
def connection(client_netns: str | None, server_netns: str, at: str) -> Iterator[tuple[socket.socket, socket.socket]]:
    with listen(server_netns) as server:
        port = server.getsockname()[1]
        near = (
            dial(client_netns, at, port) if client_netns is not None else socket.create_connection((at, port), timeout=PATIENCE_S)
        )
        with near:
            far, _ = server.accept()
            far.settimeout(PATIENCE_S)
            with far:
                yield near, far


def assert_refused(netns: str, address: str, port: int) -> None:
    with pytest.raises(ConnectionRefusedError):
        dial(netns, address, port).close()


def traces_of(instance: str) -> list[str]:
    """Whatever on the machine bears the name of an instance."""
    machine = [*wires.netns_names(), *wires.link_names(), *command("nft", "list", "tables").splitlines()]
    machine += command("ip", "-o", "address").splitlines()
    machine += command("ip", "route", "show", "table", "all").splitlines()
    return [line for line in machine if instance in line]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def names() -> Iterator[Callable[[], str]]:
    """Gives instances their names. In the end nothing may bear one of them, and no file may be open that was not before."""
    given: list[str] = []
    before = open_files()

    def name() -> str:
        given.append("t" + secrets.token_hex(2))
        return given[-1]

    yield name
    assert not [trace for instance in given for trace in traces_of(instance)]
    assert open_files() == before


@pytest.fixture
def instance(names: Callable[[], str]) -> str:
    return names()


@pytest.fixture
async def open_slots(instance: str) -> AsyncIterator[OpenSlots]:
    """Opens slots of an instance; whatever is left of it is removed in the end."""
    async with AsyncExitStack() as stack:

        async def open_(instance: str, *, adopt: tuple[int, ...] = (), **settings: Any) -> Slots:
            return await stack.enter_async_context(opened(instance, adopt, **settings))

        yield open_


@asynccontextmanager
async def opened(instance: str, adopt: tuple[int, ...] = (), ending: Ending = "remove", **settings: Any) -> AsyncIterator[Slots]:
    """Its range is taken under the lock that every Roost on this machine takes: servers of other tests start meanwhile."""
    on_query = settings.pop("on_query", None)
    settings = {"spare": 0, **settings}
    async with anyio.create_task_group() as tasks:
        slots = Slots(instance=instance, tasks=tasks, settings=SlotSettings(**settings), on_query=on_query)
        try:
            await slots.open(adopt)
            yield slots
        finally:
            if ending == "crash":
                tasks.cancel_scope.cancel()
            else:
                await slots.close(remove=ending == "remove")


@pytest.fixture
async def slots(open_slots: OpenSlots, instance: str) -> Slots:
    return await open_slots(instance)


async def guest(slots: Slots) -> Slot:
    slot = await slots.claim()
    await slots.prepare(slot)  # as before every start
    wake_kernel(slot)
    return slot


async def claim_again(slots: Slots, left: Slot) -> Slot:
    """The slot that was released, cleaned, for somebody else."""
    with anyio.fail_after(PATIENCE_S):
        while not slots.counts().spare:  # noqa: ASYNC110  nothing tells
            await anyio.sleep(0.01)
    again = await slots.claim()
    assert again == left
    return again


@pytest.fixture
def internet(slots: Slots, instance: str) -> Iterator[str]:
    """A namespace that has public, private and metadata addresses; all that the slots send out goes there, and nowhere
    else.
    """
    name, link, table = f"inet-{instance}", f"i{instance}", str(10000 + secrets.randbelow(10000))
    rule = ("from", str(slots.network), "lookup", table, "pref", table)
    command("ip", "netns", "add", name)
    try:
        command("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        Path(f"/proc/sys/net/ipv4/conf/{link}/rp_filter").write_text("2")
        command("ip", "address", "add", "203.0.113.1/24", "dev", link)
        command("ip", "link", "set", link, "up")
        command("ip", "-n", name, "link", "set", "lo", "up")
        command("ip", "-n", name, "link", "set", "eth0", "up")
        command("ip", "-n", name, "address", "add", f"{INTERNET}/24", "dev", "eth0")
        for address in (PRIVATE, METADATA):
            command("ip", "-n", name, "address", "add", f"{address}/32", "dev", "eth0")
        command("ip", "route", "add", "default", "via", INTERNET, "dev", link, "table", table)
        # The slots' own addresses stay where they are: only what leaves goes to the stand-in.
        command("ip", "route", "add", "throw", "198.18.0.0/15", "table", table)
        command("ip", "rule", "add", *rule)  # its number is its priority too: before the machine's own routes
        for address in (INTERNET, PRIVATE, METADATA):
            assert link in command("ip", "route", "get", address, "from", str(slots.network[2]), "iif", "lo")
        yield name
    finally:
        for undo in (("rule", "del", *rule), ("route", "flush", "table", table), ("link", "del", link), ("netns", "del", name)):
            subprocess.run(("ip", *undo), check=False, capture_output=True)
        assert str(slots.network) not in command("ip", "rule")
