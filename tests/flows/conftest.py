from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roost.drivers.store.sealing import Seals
from roost.drivers.store.sql import SqlStore, sqlite_url
from roost.testing.store import MemoryStore
from tests.flows.world import Ground, Roost, serving


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MemoryStore | SqlStore]:
    store = MemoryStore() if request.param == "memory" else SqlStore(sqlite_url(tmp_path / "roost.db"), seals=Seals(bytes(32)))
    await store.migrate()
    yield store
    await store.close()


@pytest.fixture
async def ground(store: MemoryStore | SqlStore) -> AsyncIterator[Ground]:
    """A machine with the template `base` on it, and no server."""
    ground = Ground(store)
    await ground.introduce()
    async with serving(ground) as roost:
        await roost.build_base()
    yield ground
    ground.node.close()


@pytest.fixture
async def roost(ground: Ground) -> AsyncIterator[Roost]:
    async with serving(ground) as roost:
        yield roost
