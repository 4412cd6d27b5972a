"""The measurements. Ours and the engine's take turns, so that what the machine does meanwhile meets both."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from bench.guest import guest_python
from bench.raw import Raw
from bench.report import Figure
from bench.server import Bench
from roost.client.blocking.sandbox import Sandbox

TRUE = ["/bin/true"]
HOG = "import os, sys, time\nheld = os.urandom(1 << 20) * 512\nprint('held', flush=True)\nwhile True: time.sleep(0.05)\n"
SETTLE_S = 1.5  # the pool refills; not part of any figure


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def create_to_first_output(bench: Bench, raw: Raw, rounds: int) -> Figure:
    ours, theirs = [], []
    for _ in range(rounds):
        made: list[Sandbox] = []

        def ours_once(made: list[Sandbox] = made) -> None:
            made.append(bench.roost.create())
            assert made[0].run(["/bin/echo", "out"]).stdout == "out\n"

        ours.append(timed(ours_once))
        made[0].kill()
        name, bundle = raw.prepare()
        theirs.append(raw.run(name, bundle) + raw.execute(name, "/bin/echo", "out"))
        raw.remove(name)
        time.sleep(SETTLE_S / 3)
    return Figure("create → first output", ours, "runsc run + exec", theirs, bar=0.7)


def burst(bench: Bench, count: int) -> Figure:
    time.sleep(SETTLE_S)
    made: list[Sandbox] = []

    def one(_: int) -> float:
        def create() -> None:
            sandbox = bench.roost.create()
            made.append(sandbox)
            assert sandbox.run(["/bin/echo", "out"]).stdout == "out\n"

        return timed(create)

    with ThreadPoolExecutor(count) as threads:
        times = list(threads.map(one, range(count)))
    for sandbox in made:
        sandbox.kill()
    assert len(made) == count
    return Figure(
        f"burst of {count}: create → first output", times, note=f"all {count} succeeded; slowest {max(times) * 1000:.0f} ms"
    )


def execute(bench: Bench, raw: Raw, rounds: int) -> Figure:
    sandbox = bench.roost.create()
    name, bundle = raw.prepare()
    raw.run(name, bundle)
    ours, theirs = [], []
    sandbox.run(TRUE)
    as_user = []
    for _ in range(rounds):
        ours.append(timed(lambda: sandbox.run(TRUE, user="root")))  # as the engine's own exec does
        theirs.append(raw.execute(name, *TRUE))
        as_user.append(timed(lambda: sandbox.run(TRUE)))
    raw.remove(name)
    sandbox.kill()
    note = f"as the default user {_median(as_user) * 1000:.1f} ms"
    return Figure("exec /bin/true", ours, "runsc exec", theirs, bar=0.6, note=note)


def pause_and_resume(bench: Bench, raw: Raw, rounds: int, *, hog: bool) -> tuple[Figure, Figure]:
    label = "512 MB process" if hog else "idle sandbox"
    sandbox = bench.roost.create()
    process = sandbox.start([*guest_python(sandbox), "-c", HOG]) if hog else None
    if process is not None:
        next(iter(process))
    pauses, resumes, checkpoints, restores = [], [], [], []
    for index in range(rounds):
        pauses.append(timed(sandbox.pause))
        image = bench.settings.volume / "snapshots" / str(sandbox.record.snapshot) / "memory"
        name, bundle = raw.prepare()
        restores.append(raw.restore(name, bundle, image))
        into = raw.work / f"image{index}"
        checkpoints.append(raw.checkpoint(name, into))
        raw.remove(name)
        shutil.rmtree(into)
        time.sleep(0.3)  # the frozen source is gone by now: a resume right after a pause would only thaw it
        resumes.append(timed(sandbox.resume))
        assert sandbox.run(TRUE).code == 0
    if process is not None:
        process.close()
    sandbox.kill()
    return (
        Figure(f"pause, {label}", pauses, "runsc checkpoint + fsync", checkpoints, bar=1.6),
        Figure(f"resume, {label}", resumes, "runsc restore", restores, bar=1.5),
    )


def fork(bench: Bench, raw: Raw, rounds: int, count: int) -> Figure:
    sandbox = bench.roost.create()
    ours, theirs = [], []
    for _ in range(rounds):
        children: list[Sandbox] = []
        ours.append(timed(lambda children=children: children.extend(sandbox.fork(count)[0])))
        assert len(children) == count
        for child in children:
            child.kill()
        prepared = [raw.prepare() for _ in range(count)]
        theirs.append(timed(lambda prepared=prepared: [raw.restore(n, b, raw.image.memory) for n, b in prepared]))
        for name, _ in prepared:
            raw.remove(name)
    sandbox.kill()
    return Figure(f"fork × {count}", ours, f"{count} × runsc restore, one by one", theirs)


def wake_by_http(bench: Bench, rounds: int) -> Figure:
    sandbox = bench.roost.create()
    sandbox.start([*guest_python(sandbox), "-m", "http.server", "--directory", "/tmp", "8000"]).close()
    headers = {"E2b-Sandbox-Id": sandbox.id, "E2b-Sandbox-Port": "8000"}
    times = []
    with httpx.Client(timeout=30) as client:
        while client.get(bench.roost.endpoint.url, headers=headers).status_code != 200:
            time.sleep(0.05)
        for _ in range(rounds):
            sandbox.pause()
            time.sleep(0.3)
            times.append(timed(lambda: client.get(bench.roost.endpoint.url, headers=headers).raise_for_status()))
    sandbox.kill()
    return Figure("asleep → HTTP answer", times)


def growth(bench: Bench, counts: list[int], seconds: float) -> list[Figure]:
    """Idle cost and memory per sandbox, and create and exec, as the number grows."""
    figures: list[Figure] = []
    alive: list[Sandbox] = []
    for count in counts:
        creates = []
        while len(alive) < count:
            creates.append(timed(lambda: alive.append(bench.roost.create())))
        time.sleep(SETTLE_S * 2)
        execs = [timed(lambda: alive[0].run(TRUE)) for _ in range(10)]
        share, pss = idle_cost(bench, seconds)
        server = _cpu_s(bench.pid)
        started = time.perf_counter()
        time.sleep(seconds)
        server_share = (_cpu_s(bench.pid) - server) / (time.perf_counter() - started)
        note = (
            f"idle {share * 100:.3f}% of a core, {pss / 1e6:.1f} MB PSS a sandbox;"
            f" server {server_share * 100:.1f}% of a core in all; exec {_median(execs) * 1000:.1f} ms"
        )
        facts = {"idle_core_share": share, "pss_bytes": pss, "server_core_share": server_share, "exec_s": _median(execs)}
        figures.append(Figure(f"create, {count} sandboxes", creates, note=note, facts=facts))
    for sandbox in alive:
        sandbox.kill()
    return figures


def idle_cost(bench: Bench, seconds: float) -> tuple[float, float]:
    """Share of a core and PSS of one container, over all of them: those in the warm pool cost the same."""
    pids, containers = _engine_pids(bench)
    before = {pid: _cpu_s(pid) for pid in pids}
    started = time.perf_counter()
    time.sleep(seconds)
    passed = time.perf_counter() - started
    used = sum(_cpu_s(pid) - before[pid] for pid in pids)
    return used / passed / containers, sum(_pss(pid) for pid in pids) / containers


def _engine_pids(bench: Bench) -> tuple[list[int], int]:
    """Sentries, gofers and stubs of this server, and of how many containers they are: by their cgroups."""
    parent = f"/roost-{bench.settings.instance}/"
    pids: list[int] = []
    containers: set[str] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                _, found, rest = (entry / "cgroup").read_text().partition(parent)
            except OSError:
                continue
            if found:
                pids.append(int(entry.name))
                containers.add(rest.split("\n")[0])
    return pids, len(containers)


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _pss(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    except OSError:
        return 0
    return 0


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
