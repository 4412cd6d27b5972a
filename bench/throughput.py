"""Many at once: how much of the machine a burst uses, beside the bare engine in a burst of the same size.

Every create is a restore here: there is no warm pool. The wall time of a burst says how many are done in a second on these
cores, which the clients share; the processor time of Roost's own processes says what each costs, also on a busy machine.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from bench.raw import Raw, raw_engine
from bench.report import Figure
from bench.server import Bench, serving
from roost.client import Sandbox

T = TypeVar("T")
COUNTS = (1, 8, 16, 32)
SINGLE_ROUNDS = 8  # of one at a time: its wall time is a single sample otherwise
QUIET_S, QUIET_CPU_S = 0.4, 0.021  # two ticks of the kernel's clock in this time are nothing
REST_LIMIT_S = 30.0

# At least so many of the bare engine's per second.
CREATE, PAUSE, RESUME, KILL = 0.7, 0.6, 0.6, 1.0
CREATE_CPU_S, KILL_CPU_S, KILL_ANSWER_S = 0.012, 0.010, 0.050


def measure(*, quick: bool) -> list[Figure]:
    with serving(warm_pool=0) as bench:
        template = next(each for each in bench.roost.templates() if each.name == "base")
        version = next(bench.settings.engines.iterdir()).name
        with raw_engine(bench.settings.engines / version / "runsc", bench.settings.volume, template.snapshot) as raw:
            for _ in burst(4, lambda _: bench.roost.create())[1]:
                pass  # the first of everything is not what is measured
            for record in list(bench.roost.sandboxes()):
                bench.roost.get(record.id).kill()
            rest(bench)
            figures: list[Figure] = []
            for count in (1, 16) if quick else COUNTS:
                figures += _at_once(bench, raw, count)
            return figures


def burst(count: int, work: Callable[[int], T]) -> tuple[float, list[T]]:
    """Wall time of all of them at once, and what they gave."""
    with ThreadPoolExecutor(count) as threads:
        list(threads.map(lambda _: time.sleep(0.01), range(count)))  # threads are there when the clock starts
        started = time.perf_counter()
        results = list(threads.map(work, range(count)))
        return time.perf_counter() - started, results


def rest(bench: Bench) -> None:
    """Returns when the server has done what it does after it has answered: that counts too."""
    deadline = time.perf_counter() + REST_LIMIT_S
    while time.perf_counter() < deadline:
        before = roost_cpu_s(bench.pid)
        time.sleep(QUIET_S)
        if roost_cpu_s(bench.pid) - before <= QUIET_CPU_S:
            return


def roost_cpu_s(pid: int) -> float:
    """Processor time of the server and of the processes it runs its own work in. Engines and their command line are no part of
    it: the bare engine pays for those too."""
    fields = _stat(pid)
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0
    return own + sum(roost_cpu_s(child) for child in _children(pid) if _program(child) == _program(pid))


def command_cpu_s(pid: int) -> float:
    """Processor time of the commands that its processes started and that have ended: the engine's, and others."""
    fields = _stat(pid)
    ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK") if fields else 0.0
    return ended + sum(command_cpu_s(child) for child in _children(pid) if _program(child) == _program(pid))


class _Cost:
    """Bursts of one kind: wall time, and the server's processor time, for each operation."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.walls: list[float] = []
        self.cpus: list[float] = []
        self.commands: list[float] = []

    def burst(self, count: int, work: Callable[[int], T]) -> list[T]:
        cpu, commands = roost_cpu_s(self._bench.pid), command_cpu_s(self._bench.pid)
        wall, results = burst(count, work)
        rest(self._bench)
        self.walls.append(wall / count)
        self.cpus.append((roost_cpu_s(self._bench.pid) - cpu) / count)
        self.commands.append((command_cpu_s(self._bench.pid) - commands) / count)
        return results


def _at_once(bench: Bench, raw: Raw, count: int) -> list[Figure]:
    ours = {name: _Cost(bench) for name in ("create", "pause", "resume", "kill")}
    theirs: dict[str, list[float]] = {name: [] for name in ours}
    for _ in range(SINGLE_ROUNDS if count == 1 else 1):
        made = ours["create"].burst(count, lambda _: bench.roost.create())
        ours["pause"].burst(count, _each(made, Sandbox.pause))
        ours["resume"].burst(count, _each(made, Sandbox.resume))
        ours["kill"].burst(count, _each(made, Sandbox.kill))
        for name, wall in _raw_walls(raw, count).items():
            theirs[name].append(wall / count)
    peers = {"create": "restore", "pause": "checkpoint + fsync", "resume": "restore", "kill": "delete"}
    least = {"create": CREATE, "pause": PAUSE, "resume": RESUME, "kill": KILL}
    most_cpu_s = {"create": CREATE_CPU_S, "kill": KILL_CPU_S}
    figures: list[Figure] = []
    for name, cost in ours.items():
        note = f"{1 / _mean(cost.walls):.1f} against {1 / _mean(theirs[name]):.1f} per second"
        bar = 1 / least[name] if count > 1 else None
        figures.append(
            Figure(f"{name}, {count} at once: each", cost.walls, f"runsc {peers[name]}", theirs[name], bar=bar, note=note)
        )
        note = f"and {_mean(cost.commands) * 1000:.1f} ms in commands it starts"
        figures.append(Figure(f"{name}, {count} at once: processor", [_mean(cost.cpus)], most_s=most_cpu_s.get(name), note=note))
        if name == "kill" and count == 1:
            figures.append(Figure("kill → answer", cost.walls, most_s=KILL_ANSWER_S))
    return figures


def _raw_walls(raw: Raw, count: int) -> dict[str, float]:
    prepared = [raw.prepare() for _ in range(count)]
    images = [raw.work / f"image-{name}" for name, _ in prepared]
    restore, _ = burst(count, lambda index: raw.restore(*prepared[index], raw.image.memory))
    checkpoint, _ = burst(count, lambda index: raw.checkpoint(prepared[index][0], images[index]))
    delete, _ = burst(count, lambda index: raw.delete(prepared[index][0]))
    for (name, _), image in zip(prepared, images, strict=True):
        raw.clear(name)
        shutil.rmtree(image)
    return {"create": restore, "pause": checkpoint, "resume": restore, "kill": delete}


def _each(sandboxes: Sequence[Sandbox], work: Callable[[Sandbox], object]) -> Callable[[int], object]:
    return lambda index: work(sandboxes[index])


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _children(pid: int) -> list[int]:
    try:
        listed = [(task / "children").read_text().split() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
    return [int(child) for children in listed for child in children]


def _program(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
