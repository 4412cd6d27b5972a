"""Snapshots, forks, and the templates there are."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from e2b import AsyncTemplate, SandboxNotFoundException, Template
from e2b.exceptions import SandboxException

from tests.e2b.conftest import Sdk, end
from tests.real.server import Server

pytestmark = pytest.mark.anyio


async def all_of(sdk: Sdk, pages: Any) -> list[Any]:
    found: list[Any] = []
    while pages.has_next:
        found += await sdk.got(pages.next_items())
    return found


async def test_a_snapshot_is_a_template_until_deleted(sdk: Sdk, sandbox: Any, server: Server) -> None:
    await sdk.got(sandbox.files.write("note.txt", "kept"))
    running = await sdk.got(sandbox.commands.run("sleep 1000", background=True, timeout=0))
    snapshot = await sdk.got(sandbox.create_snapshot())
    assert await sdk.got(sandbox.is_running())
    made = await sdk.got(sdk.Sandbox.create(snapshot.snapshot_id))
    try:
        assert made.sandbox_id != sandbox.sandbox_id
        assert await sdk.got(made.files.read("note.txt")) == "kept"
        assert running.pid in [each.pid for each in await sdk.got(made.commands.list())]
        assert [each.snapshot_id for each in await all_of(sdk, sandbox.list_snapshots())] == [snapshot.snapshot_id]
        assert await sdk.got(sdk.Sandbox.delete_snapshot(snapshot.snapshot_id)) is True
        assert await sdk.got(sdk.Sandbox.delete_snapshot(snapshot.snapshot_id)) is False
        assert await all_of(sdk, sandbox.list_snapshots()) == []
        with pytest.raises(SandboxException, match="404"):
            await sdk.got(sdk.Sandbox.create(snapshot.snapshot_id))
        assert await sdk.got(made.files.read("note.txt")) == "kept"
    finally:
        end(server, made.sandbox_id)


async def test_a_name_means_the_newest(sdk: Sdk, sandbox: Any, server: Server) -> None:
    name = f"my_snap-{uuid.uuid4().hex[:8]}"
    await sdk.got(sandbox.files.write("note.txt", "one"))
    first = await sdk.got(sandbox.create_snapshot(name=name))
    assert any(name in each for each in first.names)
    await sdk.got(sandbox.files.write("note.txt", "two"))
    second = await sdk.got(sandbox.create_snapshot(name=name))
    tagged = await sdk.got(sandbox.create_snapshot(name=f"{name}:v1.0"))
    assert tagged.names == [f"default/{name}:v1.0"]
    assert [each.names for each in await all_of(sdk, sdk.Sandbox.list_snapshots(name=name))] == [second.names]
    assert await all_of(sdk, sdk.Sandbox.list_snapshots(name="none-such")) == []
    assert len(await all_of(sdk, sdk.Sandbox.list_snapshots(sandbox_id=sandbox.sandbox_id, limit=1))) == 3
    ids = []
    try:
        for wanted in (name, f"default/{name}", f"{name}:v1.0", second.snapshot_id):
            made = await sdk.got(sdk.Sandbox.create(wanted))
            ids.append(made.sandbox_id)
            assert await sdk.got(made.files.read("note.txt")) == "two"
    finally:
        end(server, *ids)
    for snapshot in await all_of(sdk, sandbox.list_snapshots()):
        assert await sdk.got(sdk.Sandbox.delete_snapshot(snapshot.snapshot_id)) is True


async def test_a_snapshot_of_the_filesystem_boots(sdk: Sdk, sandbox: Any, server: Server) -> None:
    await sdk.got(sandbox.files.write("note.txt", "kept"))
    running = await sdk.got(sandbox.commands.run("sleep 1000", background=True, timeout=0))
    snapshot = await sdk.got(sandbox.create_snapshot(mode="filesystem"))
    made = await sdk.got(sdk.Sandbox.create(snapshot.snapshot_id))
    try:
        assert await sdk.got(made.files.read("note.txt")) == "kept"
        assert running.pid not in [each.pid for each in await sdk.got(made.commands.list())]
    finally:
        end(server, made.sandbox_id)
        await sdk.got(sdk.Sandbox.delete_snapshot(snapshot.snapshot_id))


async def test_forks_go_on_from_the_same_moment(sdk: Sdk, sandbox: Any, server: Server) -> None:
    await sdk.got(sandbox.files.write("note.txt", "same"))
    running = await sdk.got(sandbox.commands.run("sleep 1000", background=True, timeout=0))
    children = await sdk.got(sandbox.fork(count=3, timeout=1000))
    try:
        assert len({child.sandbox_id for child in children} | {sandbox.sandbox_id}) == 4
        for number, child in enumerate(children):
            assert await sdk.got(child.files.read("note.txt")) == "same"
            assert running.pid in [each.pid for each in await sdk.got(child.commands.list())]
            assert (await sdk.got(child.commands.run("echo $E2B_SANDBOX_ID"))).stdout.strip() == child.sandbox_id
            await sdk.got(child.files.write("note.txt", str(number)))
            left = (await sdk.got(child.get_info())).end_at - datetime.now(UTC)
            assert timedelta(seconds=900) < left < timedelta(seconds=1001)
        assert [await sdk.got(child.files.read("note.txt")) for child in children] == ["0", "1", "2"]
        assert await sdk.got(sandbox.files.read("note.txt")) == "same"
        await sdk.got(sandbox.pause())
        with pytest.raises(SandboxNotFoundException):
            await sdk.got(sandbox.fork())
    finally:
        end(server, *(child.sandbox_id for child in children))


async def test_templates_are_found_by_name(sdk: Sdk, http: httpx.AsyncClient) -> None:
    templates = AsyncTemplate if sdk.is_async else Template
    assert await sdk.got(templates.exists("base")) is True
    assert await sdk.got(templates.exists("none-such")) is False
    assert await sdk.got(templates.exists("default/none-such")) is False
    [tag] = await sdk.got(templates.get_tags("base"))
    assert tag.tag == "default"
    [shown] = [each for each in (await http.get("/templates")).json() if "base" in each["names"]]
    by_id = (await http.get(f"/templates/{shown['templateID']}")).json()
    assert by_id["builds"][0]["buildID"] == shown["buildID"]
    assert (await http.delete("/templates/base")).status_code == 403
