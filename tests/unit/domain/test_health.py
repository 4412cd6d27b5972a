from __future__ import annotations

from dataclasses import replace

import pytest

from roost.domain.health import examine, is_tight
from roost.domain.ids import NodeId, SandboxId
from roost.domain.node import NodeReport, Presence, SlotCounts

GIB = 1024**3
WELL = NodeReport(
    node=NodeId("n1"),
    present=(Presence(SandboxId("i1"), 1, "198.18.0.2", alive=True),),
    snapshots=frozenset(),
    surviving_disks=frozenset(),
    memory_free_bytes=4 * GIB,
    disk_free_bytes=40 * GIB,
    disk_total_bytes=50 * GIB,
    load=(1.0, 1.0, 1.0),
    cpus=2,
    memory_total_bytes=8 * GIB,
    slots=SlotCounts(held=1, spare=4, most=100),
)


def test_a_machine_that_is_well_says_so_check_by_check() -> None:
    checks = examine(WELL)
    assert [check.name for check in checks] == ["disk", "memory", "load", "network", "processes"]
    assert all(check.ok and check.detail for check in checks)
    assert checks[0].detail == "40.0 GiB of 50.0 GiB are free"


@pytest.mark.parametrize(
    ("name", "ill"),
    [
        ("disk", replace(WELL, disk_free_bytes=GIB // 2)),
        ("disk", replace(WELL, disk_free_bytes=4 * GIB)),
        ("memory", replace(WELL, memory_free_bytes=GIB // 8)),
        ("memory", replace(WELL, memory_free_bytes=GIB, memory_reserve_bytes=GIB)),
        ("load", replace(WELL, load=(1.0, 9.0, 1.0))),
        ("network", replace(WELL, slots=SlotCounts(held=100, spare=0, most=100))),
        ("processes", replace(WELL, present=(Presence(SandboxId("i1"), 1, "198.18.0.2", alive=False),))),
    ],
)
def test_what_is_not_well_is_named_with_what_to_do(name: str, ill: NodeReport) -> None:
    (wrong,) = [check for check in examine(ill) if not check.ok]
    assert wrong.name == name and wrong.detail.endswith(".")


def test_a_volume_is_tight_below_a_tenth() -> None:
    assert not is_tight(replace(WELL, disk_free_bytes=5 * GIB))
    assert is_tight(replace(WELL, disk_free_bytes=5 * GIB - 1))
