"""Timeouts, pause, connect, waking by traffic."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from e2b import SandboxState
from e2b.exceptions import SandboxException

from tests.e2b.conftest import Sdk, end, wait_for
from tests.real.server import Server

pytestmark = pytest.mark.anyio

BOOT_ID = "/proc/sys/kernel/random/boot_id"
COUNTER = "python3 -u -c 'import itertools, time\nfor n in itertools.count():\n print(n, flush=True); time.sleep(0.02)'"


async def request(server: Server, sandbox: Any, port: int) -> httpx.Response:
    """To a port of a sandbox, by headers: the one http port serves them all."""
    headers = {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": str(port)}
    async with httpx.AsyncClient(headers=headers, timeout=60) as client:
        return await client.get(server.url)


async def test_at_the_deadline_it_is_killed(sdk: Sdk, server: Server) -> None:
    began = datetime.now(UTC)
    made = await sdk.got(sdk.Sandbox.create(timeout=1))
    died = wait_for(server, made.sandbox_id, "sandbox.died")
    assert datetime.fromisoformat(str(died.at)) >= began + timedelta(seconds=1)
    assert await sdk.got(made.is_running()) is False


async def test_or_paused_and_connect_brings_it_back(sdk: Sdk, server: Server) -> None:
    made = await sdk.got(sdk.Sandbox.create(timeout=600, lifecycle={"on_timeout": "pause"}))
    try:
        await sdk.got(made.files.write("note.txt", "before"))
        await sdk.got(made.set_timeout(0))
        wait_for(server, made.sandbox_id, "sandbox.paused")
        info = await sdk.got(made.get_info())
        assert (info.state, info.lifecycle["on_timeout"]) == (SandboxState.PAUSED, "pause")
        assert await sdk.got(made.is_running()) is False
        again = await sdk.got(sdk.Sandbox.connect(made.sandbox_id, timeout=60))
        assert again.sandbox_id == made.sandbox_id
        assert await sdk.got(again.files.read("note.txt")) == "before"
        assert await sdk.got(made.files.read("note.txt")) == "before", "the old handle's token is still the right one"
    finally:
        end(server, made.sandbox_id)


async def test_a_pause_keeps_what_runs(sdk: Sdk, sandbox: Any) -> None:
    boot_id = await sdk.got(sandbox.files.read(BOOT_ID))
    counting = await sdk.got(sandbox.commands.run(f"{COUNTER} > count.txt", background=True, timeout=0))
    await sdk.got(sandbox.commands.run("until [ -s count.txt ]; do sleep 0.02; done"))
    assert await sdk.got(sandbox.pause()) is True
    assert await sdk.got(sandbox.pause()) is False
    await sdk.got(sandbox.connect())
    assert counting.pid in [each.pid for each in await sdk.got(sandbox.commands.list())]
    assert await sdk.got(sandbox.files.read(BOOT_ID)) == boot_id
    first = len((await sdk.got(sandbox.files.read("count.txt"))).split())
    await sdk.got(sandbox.commands.run(f"until [ $(wc -l < count.txt) -gt {first} ]; do sleep 0.02; done"))
    assert await sdk.got(sandbox.commands.kill(counting.pid)) is True


async def test_a_pause_of_the_filesystem_boots(sdk: Sdk, sandbox: Any) -> None:
    boot_id = await sdk.got(sandbox.files.read(BOOT_ID))
    counting = await sdk.got(sandbox.commands.run(COUNTER, background=True, timeout=0))
    await sdk.got(sandbox.files.write("note.txt", "kept"))
    assert await sdk.got(sandbox.pause(mode="filesystem")) is True
    await sdk.got(sandbox.connect())
    assert counting.pid not in [each.pid for each in await sdk.got(sandbox.commands.list())]
    assert await sdk.got(sandbox.files.read("note.txt")) == "kept"
    assert await sdk.got(sandbox.files.read(BOOT_ID)) != boot_id


async def test_a_full_pause_may_be_left_by_a_reboot(sdk: Sdk, sandbox: Any) -> None:
    boot_id = await sdk.got(sandbox.files.read(BOOT_ID))
    await sdk.got(sandbox.files.write("note.txt", "kept"))
    await sdk.got(sandbox.pause())
    await sdk.got(sdk.Sandbox.connect(sandbox.sandbox_id, on_resume="reboot"))
    assert await sdk.got(sandbox.files.read("note.txt")) == "kept"
    assert await sdk.got(sandbox.files.read(BOOT_ID)) != boot_id


async def test_connect_extends_and_never_shortens(sdk: Sdk, sandbox: Any) -> None:
    async def left() -> timedelta:
        return (await sdk.got(sandbox.get_info())).end_at - datetime.now(UTC)

    await sdk.got(sdk.Sandbox.connect(sandbox.sandbox_id, timeout=5))
    assert await left() > timedelta(seconds=300)
    await sdk.got(sdk.Sandbox.connect(sandbox.sandbox_id, timeout=5000))
    assert await left() > timedelta(seconds=4000)
    await sdk.got(sandbox.set_timeout(100))
    assert await left() < timedelta(seconds=101)
    await sdk.got(sandbox.set_timeout(40 * 24 * 3600))
    assert await left() > timedelta(days=39), "there is no maximum"


async def test_traffic_wakes_one_that_may_be_woken(sdk: Sdk, server: Server) -> None:
    lifecycle = {"on_timeout": "pause", "auto_resume": True}
    made = await sdk.got(sdk.Sandbox.create(timeout=600, lifecycle=lifecycle))
    try:
        serve = "cd /tmp && echo awake > index.html && python3 -m http.server 8000 --bind 127.0.0.1"
        await sdk.got(made.commands.run(serve, background=True, timeout=0))
        await sdk.got(made.commands.run("until curl -sf localhost:8000 >/dev/null; do sleep 0.05; done"))
        await sdk.got(made.pause())
        assert (await request(server, made, 8000)).text == "awake\n"
        await sdk.got(made.pause())
        assert (await sdk.got(made.commands.run("echo hello"))).stdout == "hello\n"
        assert (await sdk.got(made.get_info())).state is SandboxState.RUNNING
    finally:
        end(server, made.sandbox_id)


async def test_traffic_does_not_wake_one_that_may_not(sdk: Sdk, sandbox: Any, server: Server) -> None:
    await sdk.got(sandbox.pause())
    answer = await request(server, sandbox, 8000)
    assert answer.status_code == 502
    assert answer.json() == {"sandboxId": sandbox.sandbox_id, "message": "The sandbox was not found", "code": 502}
    assert (await sdk.got(sandbox.get_info())).state is SandboxState.PAUSED


async def test_a_kill_cuts_what_streams(sdk: Sdk, sandbox: Any) -> None:
    running = await sdk.got(sandbox.commands.run("sleep 1000", background=True, timeout=0))
    assert await sdk.got(sandbox.kill())
    with pytest.raises(SandboxException, match="killed or reached its"):
        await sdk.got(running.wait())


async def test_a_short_timeout_is_long_enough_once_traffic_woke_it(sdk: Sdk, server: Server) -> None:
    made = await sdk.got(sdk.Sandbox.create(timeout=1, lifecycle={"on_timeout": "pause", "auto_resume": True}))
    try:
        wait_for(server, made.sandbox_id, "sandbox.paused")
        await sdk.got(made.commands.run("true"))
        info = await sdk.got(made.get_info())
        assert info.end_at - datetime.now(UTC) > timedelta(seconds=200)
    finally:
        end(server, made.sandbox_id)
