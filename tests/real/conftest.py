"""What tests on the real engine stand on. They need root and a set-up cache, and fail loudly without either."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest

from roost.node.engine.bundle import Agent
from roost.node.service import NodeService
from roost.settings import DEFAULT_CACHE
from roost.setup.agent import ensure_agent
from roost.setup.commands import Commands
from roost.setup.definitions import find_definition
from roost.setup.engine import Engine, find_engine
from roost.setup.interpreter import Interpreter, find_interpreter
from roost.setup.rootfs import find_rootfs, host_cas
from roost.setup.volume import ensure_volume
from tests.real.ground import Ground
from tests.real.server import Server, serving, template_is_made, unmount
from tests.real.slot_ground import instance, internet, names, open_slots, slots  # noqa: F401
from tests.registry import Registry, serving_registry


@pytest.fixture(scope="session", autouse=True)
def root() -> None:
    if os.geteuid():
        pytest.fail("tests/real need root (namespaces, mounts, gVisor). `make test-unit` is for everyone else.", pytrace=False)


@pytest.fixture(scope="session")
def cache() -> Path:
    return Path(os.environ.get("ROOST_CACHE", DEFAULT_CACHE))


@pytest.fixture(scope="session")
def engine(cache: Path) -> Engine:
    found = find_engine(None, cache)
    if found is None:
        pytest.fail(f"{cache} holds no engine. Run `make setup` or `make test`.", pytrace=False)
    return found


@pytest.fixture(scope="session")
def interpreter(cache: Path) -> Interpreter:
    found = find_interpreter(cache)
    if found is None:
        pytest.fail(f"{cache} holds no interpreter. Run `make setup` or `make test`.", pytrace=False)
    return found


@pytest.fixture(scope="session")
def home() -> Iterator[Path]:
    """A home with a volume of its own, unmounted afterwards. Not below pytest's directory: it empties old ones, and would walk
    into the volume of a run that was killed."""
    with tempfile.TemporaryDirectory(prefix="roost-test-", dir="/var/tmp") as folder:
        path = Path(folder)
        ensure_volume(path, 20, Commands(), is_default=True)
        yield path
        unmount(path)


@pytest.fixture(scope="session")
def ground(home: Path, cache: Path, engine: Engine, interpreter: Interpreter) -> Ground:
    """A home whose volume holds a template: the base root filesystem, booted, with the agent up."""
    rootfs = find_rootfs(find_definition("base"), host_cas(), cache)
    if rootfs is None:
        pytest.fail(f"{cache} holds no root filesystem of base. Run `make setup` or `make test`.", pytrace=False)
    agent = ensure_agent(home, interpreter, Commands())
    ground = Ground(home, engine, Agent(agent.version, agent.path, agent.argv, agent.env), rootfs.path)
    anyio.run(ground.build)
    return ground


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with serving_registry(tmp_path_factory.mktemp("registry")) as registry:
        yield registry


@pytest.fixture
async def node(ground: Ground) -> AsyncIterator[NodeService]:
    async with ground.opened() as service:
        yield service


@pytest.fixture(scope="package")
def server() -> Iterator[Server]:
    """A whole server on a home of its own. Tests may kill it, and leave it running."""
    with serving() as server:
        yield server


@pytest.fixture(scope="package")
def desktops() -> Iterator[Server]:
    """A server that has desktops too. Making the template takes half a minute, so all tests of desktops share it."""
    with serving(templates="base,desktop", volume_size_gb=20) as server:
        template_is_made(server, "desktop")
        yield server
