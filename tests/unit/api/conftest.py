from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from .house import House, open_house


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with open_house() as house:
        yield house


@pytest.fixture
async def http(house: House) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(house.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://roost", headers=house.headers) as client:
        yield client
