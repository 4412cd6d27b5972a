"""Desktops: from the wish to the first picture of a screen, created and woken, beside the engine's own restore of the same image;
and what a picture costs."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any

import httpx

from bench.cases import SETTLE_S, timed
from bench.raw import Raw, raw_engine
from bench.report import Figure
from bench.server import Bench, serving
from roost.client.blocking.sandbox import Sandbox
from tests.web.browser import chromium, visit

TEMPLATE = "desktop"
REFILLED_WITHIN_S = 60.0
PICTURE = {"format": "jpeg", "quality": 80}
PICTURE_S = 0.120  # the highest p50 of a picture of the whole screen
WAKE = "Wake and watch"

# Clicks, and looks whether something of the desktop is painted, by one column and one row, with nothing over it: at every frame
# once the screen has a size, rarely before, since the browser has to share this machine's processors with what it waits for.
# Seconds.
_WAKE_AND_LOOK = """(name) => new Promise((seen) => {
  const isPainted = (canvas) => {
    const { x, y } = canvas.getBoundingClientRect();
    if (document.elementFromPoint(x + 9, y + 9) !== canvas) return false;
    const pen = canvas.getContext('2d'), { width, height } = canvas;
    const column = pen.getImageData(width / 2, 0, 1, height).data, row = pen.getImageData(0, height / 2, width, 1).data;
    const shades = [...column, ...row].filter((_, at) => at % 4 === 1);
    return Math.max(...shades) - Math.min(...shades) > 20;
  };
  const button = [...document.querySelectorAll('main button')].find((each) => each.textContent.includes(name));
  const began = performance.now();
  button.click();
  const look = () => {
    const canvas = document.querySelector('main canvas');
    if (!canvas || canvas.width < 640) setTimeout(look, 10);
    else if (isPainted(canvas)) seen((performance.now() - began) / 1000);
    else requestAnimationFrame(look);
  };
  look();
})"""


def measure(rounds: int) -> list[Figure]:
    """On a server of its own, so that desktops in the pool take no memory from the other figures."""
    with serving(templates=TEMPLATE) as bench, _raw(bench) as raw:
        return [
            _create(bench, raw, rounds),
            # With a size of its own it is restored now, not taken from the pool.
            _create(bench, raw, rounds, size={"cpus": 2, "memory_mb": 4000, "disk_mb": 20480, "pids": 4096}),
            _wake(bench, raw, rounds),
            _wake_in_browser(bench, raw, rounds),
            _pictures(bench, rounds * 5),
        ]


def _raw(bench: Bench) -> AbstractContextManager[Raw]:
    template = next(each for each in bench.roost.templates() if each.name == TEMPLATE)
    version = next(bench.settings.engines.iterdir()).name
    return raw_engine(bench.settings.engines / version / "runsc", bench.settings.volume, template.snapshot)


def _create(bench: Bench, raw: Raw, rounds: int, **request: Any) -> Figure:
    ours, theirs = [], []
    for _ in range(rounds):
        _wait_until_warm(bench)
        made: list[Sandbox] = []

        def ours_once(made: list[Sandbox] = made) -> None:
            made.append(bench.roost.create(template=TEMPLATE, **request))
            _look(made[0])

        ours.append(timed(ours_once))
        made[0].kill(keep=False)
        theirs.append(_restored(raw, None))
    label = "create desktop → first picture" + (", no pool" if request else "")
    return Figure(label, ours, "runsc restore", theirs, bar=None if request else 1.5)


def _wake(bench: Bench, raw: Raw, rounds: int) -> Figure:
    sandbox = bench.roost.create(template=TEMPLATE)
    _look(sandbox)
    ours, theirs = [], []
    for _ in range(rounds):
        sandbox.pause()
        theirs.append(_restored(raw, str(sandbox.record.snapshot)))
        ours.append(timed(lambda: _look(sandbox)))  # the request itself wakes it, through the edge
    sandbox.kill(keep=False)
    return Figure("asleep desktop → first picture", ours, "runsc restore", theirs, bar=1.8)


def _wake_in_browser(bench: Bench, raw: Raw, rounds: int) -> Figure:
    """From a person's click on a sleeping desktop's page until its picture is painted there. The browser shares the processors
    with what it waits for, which a person's would not."""
    sandbox = bench.roost.create(template=TEMPLATE)
    _look(sandbox)
    ours, theirs = [], []
    endpoint = bench.roost.endpoint
    with chromium() as browser:
        for _ in range(rounds):
            sandbox.pause()
            with visit(browser, endpoint.url, endpoint.key, reduced_motion="reduce") as page:
                page.goto(f"/app/sandboxes/{sandbox.id}/screen")
                page.get_by_role("button", name=WAKE).wait_for()
                time.sleep(SETTLE_S)  # the browser has done with the page; not part of any figure
                theirs.append(_restored(raw, str(sandbox.record.snapshot)))
                ours.append(page.evaluate(_WAKE_AND_LOOK, WAKE))
    sandbox.kill(keep=False)
    return Figure("asleep desktop → first frame in the browser", ours, "runsc restore", theirs, bar=1.8)


def _pictures(bench: Bench, rounds: int) -> Figure:
    sandbox = bench.roost.create(template=TEMPLATE)
    _look(sandbox)
    times = [timed(lambda: _look(sandbox)) for _ in range(rounds)]
    size = len(sandbox.desktop.screenshot(**PICTURE).data)
    png = [timed(lambda: sandbox.desktop.screenshot(format="png")) for _ in range(rounds)]
    sandbox.kill(keep=False)
    note = f"{size / 1024:.0f} KB; as png {sorted(png)[len(png) // 2] * 1000:.0f} ms"
    return Figure("picture of 1280×800 (jpeg)", times, most_s=PICTURE_S, note=note)


def _look(sandbox: Sandbox) -> None:
    picture = sandbox.desktop.screenshot(**PICTURE)
    assert picture.data[:2] == b"\xff\xd8", "a picture"


def _restored(raw: Raw, snapshot: str | None) -> float:
    """How long the engine alone takes for the same image."""
    image = raw.image.memory if snapshot is None else raw.image.memory.parent.parent / snapshot / "memory"
    name, bundle = raw.prepare()
    try:
        return raw.restore(name, bundle, image)
    finally:
        raw.remove(name)


def _wait_until_warm(bench: Bench) -> None:
    """The pool refills; not part of any figure."""
    deadline = time.monotonic() + REFILLED_WITHIN_S
    endpoint = bench.roost.endpoint
    while True:
        node = httpx.get(f"{endpoint.url}/v1/node", headers={"Authorization": f"Bearer {endpoint.key}"}).raise_for_status().json()
        if node["warm"].get(TEMPLATE, 0):
            return
        assert time.monotonic() < deadline, "the pool is not refilled"
        time.sleep(0.1)
