from __future__ import annotations

import pytest

from roost.contracts.store import Query
from roost.control.sandboxes.pages import read_page
from roost.domain.errors import Invalid
from roost.domain.ids import KeyId, TeamId
from roost.domain.team import ApiKey
from roost.testing.store import MemoryStore

pytestmark = pytest.mark.anyio


async def filled(count: int) -> MemoryStore:
    store = MemoryStore()
    async with store.transaction() as transaction:
        for number in range(count):
            key = ApiKey(KeyId(f"k{number:03}"), TeamId("t"), str(number), "", "", created_at=float(number // 3))
            await transaction.put(key, expect_revision=None)
    return store


@pytest.mark.parametrize("limit", [1, 7, 50, 100])
@pytest.mark.parametrize("count", [0, 1, 100, 250])
async def test_pages_joined_are_the_list(limit: int, count: int) -> None:
    store = await filled(count)
    seen: list[str] = []
    cursor = None
    while True:
        async with store.transaction() as transaction:
            page = await read_page(transaction, ApiKey, Query(), limit=limit, cursor=cursor)
        seen += [key.id for key in page.items]
        if (cursor := page.next_cursor) is None:
            break
        assert len(page.items) == limit
    assert seen == sorted((f"k{number:03}" for number in range(count)), reverse=True)


async def test_rare_matches_are_found_far_behind() -> None:
    store = await filled(250)
    async with store.transaction() as transaction:
        page = await read_page(transaction, ApiKey, Query(), limit=2, cursor=None, matches=lambda key: key.id in ("k003", "k240"))
    assert [key.id for key in page.items] == ["k240", "k003"]
    assert page.next_cursor is None


async def test_rows_that_come_meanwhile_do_not_shift_the_pages() -> None:
    store = await filled(10)
    async with store.transaction() as transaction:
        first = await read_page(transaction, ApiKey, Query(), limit=5, cursor=None)
        newer = ApiKey(KeyId("k999"), TeamId("t"), "new", "", "", created_at=1e9)
        await transaction.put(newer, expect_revision=None)
        await transaction.delete(ApiKey, first.items[-1].id)
        rest = await read_page(transaction, ApiKey, Query(), limit=5, cursor=first.next_cursor)
    assert [key.id for key in rest.items] == [f"k{number:03}" for number in range(4, -1, -1)]


@pytest.mark.parametrize("limit", [0, -1, 101])
async def test_a_page_has_a_size(limit: int) -> None:
    store = await filled(1)
    async with store.transaction() as transaction:
        with pytest.raises(Invalid):
            await read_page(transaction, ApiKey, Query(), limit=limit, cursor=None)
