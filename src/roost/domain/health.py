"""Whether a node is well, told by its report: a few checks that a person can read. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from roost.domain.node import NodeReport
from roost.domain.placement import DISK_FLOOR_BYTES, MEMORY_FLOOR_BYTES

TIGHT_PART = 0.10
"""Of a volume: with less than this free, what dead sandboxes left is dropped."""
MOST_LOAD = 4.0  # for each processor, over five minutes
_GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool
    detail: str  # how it stands and, if it is not well, what to do


def is_tight(report: NodeReport) -> bool:
    """Whether the node's volume is about to be full."""
    return report.disk_free_bytes < report.disk_total_bytes * TIGHT_PART


def examine(report: NodeReport) -> tuple[Check, ...]:
    return (_disk(report), _memory(report), _load(report), _slots(report), _processes(report))


def _disk(report: NodeReport) -> Check:
    free = f"{_gib(report.disk_free_bytes)} of {_gib(report.disk_total_bytes)} are free"
    if report.disk_free_bytes < DISK_FLOOR_BYTES:
        return Check("disk", False, f"{free}: nothing new can be created. Delete snapshots, or kill sandboxes with --now.")
    if is_tight(report):
        return Check("disk", False, f"{free}: what dead sandboxes left is being dropped. Delete snapshots that nobody needs.")
    return Check("disk", True, free)


def _memory(report: NodeReport) -> Check:
    of = f" of {_gib(report.memory_total_bytes)}" if report.memory_total_bytes else ""
    kept = f", {_gib(report.memory_reserve_bytes)} of it kept back" if report.memory_reserve_bytes else ""
    dozing = f", {_gib(sum(report.dozing.values()))} more when nobody dozes" if report.dozing else ""
    free = f"{_gib(report.memory_free_bytes)}{of} are free{kept}{dozing}"
    if report.memory_room_bytes < MEMORY_FLOOR_BYTES:
        return Check("memory", False, f"{free}: nothing new can be created. Let sandboxes sleep, or give them an idle policy.")
    return Check("memory", True, free)


def _load(report: NodeReport) -> Check:
    stands = f"{report.load[1]:.1f} over five minutes, {report.cpus} processors"
    if report.load[1] > MOST_LOAD * report.cpus:
        return Check("load", False, f"{stands}: everything is slow. `roost top` shows who works.")
    return Check("load", True, stands)


def _slots(report: NodeReport) -> Check:
    stands = f"{report.slots.held} of {report.slots.most} network slots are held, {report.slots.spare} are ready"
    if report.slots.most and report.slots.held >= report.slots.most:
        return Check("network", False, f"{stands}: nothing new can be created. Kill sandboxes that nobody needs.")
    return Check("network", True, stands)


def _processes(report: NodeReport) -> Check:
    gone = [presence.sandbox for presence in report.present if not presence.alive]
    if gone:
        return Check("processes", False, f"{', '.join(gone[:3])} lost their process and are being brought back.")
    return Check("processes", True, f"{len(report.present)} sandboxes have a process, all of them live")


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / _GIB:.1f} GiB"
