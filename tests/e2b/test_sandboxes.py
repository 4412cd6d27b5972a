"""Create, find, list, kill."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from e2b import SandboxNotFoundException, SandboxQuery, SandboxState
from e2b.exceptions import AuthenticationException, SandboxException

from tests.e2b.conftest import Sdk, end
from tests.real.server import Server

pytestmark = pytest.mark.anyio


async def listed(sdk: Sdk, **options: Any) -> list[Any]:
    """Every page."""
    pages, found = sdk.Sandbox.list(**options), []
    while pages.has_next:
        found += await sdk.got(pages.next_items())
    return found


async def test_a_sandbox_is_as_it_was_asked_for(sdk: Sdk, server: Server) -> None:
    made = await sdk.got(sdk.Sandbox.create("base", timeout=100, metadata={"who": "me"}, envs={"COLOUR": "green"}))
    try:
        info = await sdk.got(made.get_info())
        assert info.sandbox_id == made.sandbox_id
        assert (info.name, info.state, info.metadata) == ("base", SandboxState.RUNNING, {"who": "me"})
        assert info.end_at - info.started_at < timedelta(seconds=110)
        assert info.cpu_count >= 1 and info.memory_mb > 0
        assert info.lifecycle == {"on_timeout": "kill", "auto_resume": False}
        assert await sdk.got(made.is_running())
        printed = await sdk.got(made.commands.run("echo $COLOUR $E2B_SANDBOX $E2B_SANDBOX_ID"))
        assert printed.stdout.split() == ["green", "true", made.sandbox_id]
        assert made.get_host(3000) == f"3000-{made.sandbox_id}.roost.localhost:{server.port}"
    finally:
        end(server, made.sandbox_id)


async def test_kill_ends_it_once(sdk: Sdk, sandbox: Any) -> None:
    assert await sdk.got(sandbox.kill()) is True
    assert await sdk.got(sandbox.kill()) is False
    assert await sdk.got(sandbox.is_running()) is False
    with pytest.raises(SandboxNotFoundException):
        await sdk.got(sandbox.get_info())
    with pytest.raises(SandboxNotFoundException):
        await sdk.got(sandbox.set_timeout(10))
    with pytest.raises(SandboxNotFoundException):
        await sdk.got(sdk.Sandbox.connect(sandbox.sandbox_id))
    assert sandbox.sandbox_id not in [each.sandbox_id for each in await listed(sdk)]


async def test_the_list_is_filtered_and_paged(sdk: Sdk, server: Server) -> None:
    group = uuid.uuid4().hex
    odd = {"group": group, "a b": "c&d=é%2F+"}
    ids = [(await sdk.got(sdk.Sandbox.create(metadata=odd if index == 1 else {"group": group}))).sandbox_id for index in range(3)]
    try:
        await sdk.got(sdk.Sandbox.pause(ids[0]))

        async def found(**query: Any) -> list[str]:
            metadata = {"group": group, **query.pop("metadata", {})}
            return [each.sandbox_id for each in await listed(sdk, query=SandboxQuery(metadata=metadata, **query))]

        assert await found() == ids[::-1]
        assert await found(metadata={"a b": "c&d=é%2F+"}) == [ids[1]]
        assert await found(metadata={"a b": "c&d"}) == []
        assert await found(state=[SandboxState.PAUSED]) == [ids[0]]
        assert await found(state=[SandboxState.RUNNING]) == [ids[2], ids[1]]
        assert await found(state=[SandboxState.RUNNING, SandboxState.PAUSED]) == ids[::-1]
        assert await found(template="base") == ids[::-1]
        assert await found(template="none-such") == []
        begin = {each.sandbox_id: each.started_at for each in await listed(sdk)}
        assert await found(started_after=begin[ids[1]]) == ids[:0:-1]
        assert await found(started_after=datetime.now(UTC) + timedelta(hours=1)) == []

        query = SandboxQuery(metadata={"group": group})
        assert [each.sandbox_id for each in await listed(sdk, query=query, limit=1)] == ids[::-1]
        assert [each.sandbox_id for each in await listed(sdk, query=query, limit=2, order="asc")] == ids
    finally:
        end(server, *ids)


async def test_the_same_idempotency_key_gets_the_same_sandbox(sdk: Sdk, server: Server) -> None:
    key = str(uuid.uuid4())
    first = await sdk.got(sdk.Sandbox.create(idempotency_key=key))
    try:
        again = await sdk.got(sdk.Sandbox.create(idempotency_key=key))
        assert again.sandbox_id == first.sandbox_id
        with pytest.raises(SandboxException, match="409"):
            await sdk.got(sdk.Sandbox.create(idempotency_key=key, metadata={"another": "request"}))
    finally:
        end(server, first.sandbox_id)


async def test_refusals_are_what_the_clients_expect(sdk: Sdk) -> None:
    with pytest.raises(AuthenticationException):
        await sdk.got(sdk.Sandbox.create(api_key="e2b_" + "0" * 40))
    with pytest.raises(SandboxException, match=r"404.*none-such"):
        await sdk.got(sdk.Sandbox.create("none-such"))
    with pytest.raises(SandboxException, match="400"):
        await sdk.got(sdk.Sandbox.create(timeout=-5))
    assert await sdk.got(sdk.Sandbox.kill("i" + "0" * 20)) is False
    with pytest.raises(SandboxNotFoundException):
        await sdk.got(sdk.Sandbox.connect("i" + "0" * 20))
    with pytest.raises(SandboxNotFoundException):
        await sdk.got(sdk.Sandbox.pause("i" + "0" * 20))


async def test_metrics_come_within_seconds(sdk: Sdk, sandbox: Any, http: httpx.AsyncClient) -> None:
    begin, made_at = datetime.now(UTC), (await sdk.got(sandbox.get_info())).started_at
    assert await sdk.got(sandbox.get_metrics(start=begin - timedelta(hours=2), end=begin - timedelta(hours=1))) == []
    points = []
    while not points:
        assert datetime.now(UTC) - begin < timedelta(seconds=60), "the first point comes within a minute"
        points = await sdk.got(sandbox.get_metrics())
    assert points[0].mem_used > 0 and points[0].mem_total >= points[0].mem_used
    assert points[0].disk_total >= points[0].disk_used > 0
    assert points[0].cpu_count >= 1 and points[0].cpu_used_pct >= 0
    assert points[0].timestamp >= made_at - timedelta(seconds=1)
    batch = await http.get("/sandboxes/metrics", params={"sandbox_ids": f"{sandbox.sandbox_id},nobody"})
    assert list(batch.json()["sandboxes"]) == [sandbox.sandbox_id]
