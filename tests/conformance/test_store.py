from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roost.contracts.store import Store
from roost.drivers.store.sealing import Seals
from roost.drivers.store.sql import SqlStore, sqlite_url
from roost.testing.conformance.store import StoreConformance
from roost.testing.store import MemoryStore

pytestmark = pytest.mark.anyio


class TestSqlite(StoreConformance):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        store = SqlStore(sqlite_url(tmp_path / "roost.db"), seals=Seals(bytes(32)))
        await store.migrate()
        yield store
        await store.close()


class TestMemory(StoreConformance):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        store = MemoryStore()
        await store.migrate()
        yield store
        await store.close()
