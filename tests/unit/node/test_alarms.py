"""The bells of a node, on files that stand for the kernel's (cgroup v2). What v1 does is seen in tests/real/test_memory.py."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from roost.domain.errors import NodeFull
from roost.domain.sandbox import Size
from roost.node.engine.alarms import Alarms, MemoryAlarm, MemoryHeld

pytestmark = pytest.mark.anyio

MB = 1 << 20
SIZE = Size(memory_mb=512, pids=100)


def cgroup(root: Path, name: str, **files: str) -> Path:
    (root / "cgroup.controllers").write_text("memory pids")
    folder = root / name
    folder.mkdir()
    stat = f"anon {100 * MB}\nshmem {300 * MB}\ninactive_file {30 * MB}\nactive_file {20 * MB}\nslab_reclaimable {MB}\n"
    usual = {"memory.events": "high 0\n", "memory.stat": stat, "memory.current": str(460 * MB), "pids.current": "7\n"}
    for file, text in (usual | files).items():
        (folder / file).write_text(text)
    return folder


def read(folder: Path, file: str) -> int:
    return int((folder / file).read_text())


async def ringing(alarm: MemoryAlarm) -> bool:
    with anyio.move_on_after(5):
        await alarm.rung.wait()
    return alarm.rung.is_set()


async def test_the_wall_stands_far_above_the_size(tmp_path: Path) -> None:
    folder = cgroup(tmp_path, "one")
    alarm = Alarms(tmp_path, headroom=2048 * MB).arm("/one", SIZE)
    assert alarm is not None
    assert read(folder, "memory.high") == 512 * MB
    assert read(folder, "memory.max") == 2560 * MB
    assert read(folder, "pids.max") > 4 * SIZE.pids
    assert alarm.look() == MemoryHeld(460 * MB, 409 * MB, 300 * MB)


async def test_one_inotify_instance_hears_more_sandboxes_than_a_user_may_have_instances(tmp_path: Path) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    folders = [cgroup(tmp_path, f"s{number}") for number in range(min(most, 512) + 10)]
    alarms = Alarms(tmp_path, headroom=0)
    armed = [alarms.arm(f"/{folder.name}", SIZE) for folder in folders]
    last = armed[-1]
    assert last is not None
    (folders[-1] / "memory.events").write_text("high 1\n")
    assert await ringing(last)
    assert not any(alarm.rung.is_set() for alarm in armed[:-1] if alarm)
    for alarm in filter(None, armed):
        alarms.disarm(alarm)


async def test_what_cannot_be_guarded_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("memory")
    with pytest.raises(NodeFull):
        Alarms(tmp_path).arm("/nowhere", SIZE)


async def test_without_limits_there_is_nothing_to_guard(tmp_path: Path) -> None:
    assert Alarms(tmp_path).arm("/nowhere", Size(memory_mb=0, pids=0)) is None


async def test_too_many_tasks_ring(tmp_path: Path) -> None:
    few, many = cgroup(tmp_path, "few"), cgroup(tmp_path, "many")
    alarms = Alarms(tmp_path)
    calm, loud = alarms.arm("/few", SIZE), alarms.arm("/many", SIZE)
    assert calm is not None and loud is not None
    (many / "pids.current").write_text("101\n")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(alarms.run)
        assert await ringing(loud)
        tasks.cancel_scope.cancel()
    assert not calm.rung.is_set()
    assert read(few, "memory.high") == 512 * MB


async def test_an_engine_that_is_helped_is_not_slowed(tmp_path: Path) -> None:
    folder = cgroup(tmp_path, "one")
    alarm = Alarms(tmp_path).arm("/one", SIZE)
    assert alarm is not None
    alarm.ease()
    assert (folder / "memory.high").read_text() == "max"
    assert alarm.settle(512 * MB) is None
    assert read(folder, "memory.high") == 512 * MB


async def test_a_cgroup_that_went_is_disarmed_all_the_same(tmp_path: Path) -> None:
    folder = cgroup(tmp_path, "one")
    alarms = Alarms(tmp_path)
    alarm = alarms.arm("/one", SIZE)
    assert alarm is not None
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    alarms.disarm(alarm)
    alarms.disarm(alarm)
    assert alarm.tasks() == 0
