"""Dozing sandboxes: how soon one answers, and what those cost that nobody asks for."""

from __future__ import annotations

import time

import httpx

from bench.cases import SETTLE_S, guest_python, idle_cost, timed
from bench.report import Figure
from bench.server import Bench, serving

MOST_P50_S, MOST_P99_S = 0.015, 0.040
DOZERS = 8


def measure(*, quick: bool) -> list[Figure]:
    with serving(doze_memory_share=0.5, warm_pool=0) as bench:
        return [*_wake(bench, 20 if quick else 100), _idle(bench, 10.0)]


def _wake(bench: Bench, rounds: int) -> list[Figure]:
    sandbox = bench.roost.create()
    sandbox.start([*guest_python(sandbox), "-m", "http.server", "--directory", "/tmp", "8000"]).close()
    headers = {"E2b-Sandbox-Id": sandbox.id, "E2b-Sandbox-Port": "8000"}
    times: list[float] = []
    with httpx.Client(timeout=30) as client:
        while client.get(bench.roost.endpoint.url, headers=headers).status_code != 200:
            time.sleep(0.05)
        for _ in range(rounds):
            sandbox.pause()
            time.sleep(0.3)  # what it takes to doze is over
            client.get(f"{bench.roost.endpoint.url}/v1/health").raise_for_status()  # the connection is there already
            times.append(timed(lambda: client.get(bench.roost.endpoint.url, headers=headers).raise_for_status()))
    containers = [path.name for path in (bench.settings.run_dir / "runsc").glob(f"{sandbox.id}-*.state")]
    assert containers and containers[0].startswith(f"{sandbox.id}-1_"), "every time it was the same process that woke"
    sandbox.kill()
    slowest = sorted(times)[max(0, round(0.99 * len(times)) - 1) :]
    return [
        Figure("dozing → HTTP answer", times, most_s=MOST_P50_S),
        Figure("dozing → HTTP answer, p99", slowest[:1], most_s=MOST_P99_S),
    ]


def _idle(bench: Bench, seconds: float) -> Figure:
    dozers = [bench.roost.create() for _ in range(DOZERS)]
    falls = [timed(sandbox.pause) for sandbox in dozers]
    time.sleep(SETTLE_S)
    share, pss = idle_cost(bench, seconds)
    for sandbox in dozers:
        sandbox.kill()
    note = f"{share * 100:.4f}% of a core, {pss / 1e6:.1f} MB PSS a dozer"
    return Figure(f"pause, {DOZERS} dozers", falls, note=note, facts={"idle_core_share": share, "pss_bytes": pss})
