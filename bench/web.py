"""Mission Control: how soon the page of a large fleet can be used, what its stream costs while nothing happens, and how much of
it a browser loads.

The fleet is real. Most of it sleeps, with its disk only: to the page that is a sandbox like any other, and 200 that are awake do
not fit the machines this runs on. The rest is awake and idle.
"""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median

import httpx
from playwright.sync_api import Browser

from bench.report import Figure
from bench.server import Bench, serving
from roost.setup.web import find_web
from tests.web.browser import chromium, visit

FLEET, AWAKE = 200, 12
AT_ONCE = 4
VIEW = {"width": 1440, "height": 900}
SETTLE_S = 15.0  # readings come in; not part of any figure
IDLE_S = 60.0

# The bars: until the page can be used, what it hears in an idle minute, and what it loads without the screen and the terminal.
INTERACTIVE_S = 1.5
STREAM_BYTES = 150_000
BUNDLE_BYTES = 400 * 1024
LAZY = re.compile("(novnc|xterm)-")

# Ready: every card is there, painted, and the page answers within a frame or three. Then a search is typed, and found.
_READY = """(wanted) => new Promise((ready) => {
  const look = () => {
    if (document.querySelectorAll('main li a[href^="/app/sandboxes/"]').length < wanted) return requestAnimationFrame(look);
    const asked = performance.now();
    requestAnimationFrame(() => setTimeout(() => {
      if (performance.now() - asked > 50) return look();
      ready(performance.now() / 1000);
    }));
  };
  look();
})"""
_SEARCH = """(text) => new Promise((found) => {
  const field = document.querySelector('input[type=search]');
  const began = performance.now();
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, text);
  field.dispatchEvent(new Event('input', { bubbles: true }));
  const look = () => document.querySelectorAll('main li a[href^="/app/sandboxes/"]').length === 1
    ? found((performance.now() - began) / 1000) : requestAnimationFrame(look);
  look();
})"""


def measure(*, quick: bool) -> list[Figure]:
    """On a server of its own, since the fleet stays for all three."""
    count, rounds, seconds = (40, 3, 20.0) if quick else (FLEET, 7, IDLE_S)
    with serving() as bench, _fleet(bench, count) as newest, chromium() as browser:
        return [_page(bench, browser, count, newest, rounds), _stream(bench, count, seconds), _bundle(bench)]


@contextmanager
def _fleet(bench: Bench, count: int) -> Iterator[str]:
    """The name of one of them."""

    def make(number: int) -> None:
        sandbox = bench.roost.create(name=f"agent-{number:03}", metadata={"batch": str(number // 10)})
        if number >= AWAKE:
            sandbox.pause(memory=False)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(make, range(count)))
        time.sleep(SETTLE_S)
        yield f"agent-{count - 1:03}"
        list(threads.map(lambda record: bench.roost.get(record.id).kill(keep=False), list(bench.roost.sandboxes())))


def _page(bench: Bench, browser: Browser, count: int, one: str, rounds: int) -> Figure:
    """Each round is a browser's first visit: nothing is cached."""
    times, busy, searches = [], [], []
    for _ in range(rounds):
        with visit(browser, bench.roost.endpoint.url, bench.roost.endpoint.key, viewport=VIEW) as page:
            meter = page.context.new_cdp_session(page)
            meter.send("Performance.enable", {"timeDomain": "threadTicks"})
            page.goto("/", wait_until="commit")
            times.append(page.evaluate(_READY, count))
            used = {each["name"]: each["value"] for each in meter.send("Performance.getMetrics")["metrics"]}
            busy.append(used["TaskDuration"])
            searches.append(page.evaluate(_SEARCH, one))
    work_s, search_s = median(busy), median(searches)
    note = f"{work_s * 1000:.0f} ms of it the page's own work; then a search shows its one hit after {search_s * 1000:.0f} ms"
    facts = {"sandboxes": count, "work_s": work_s, "search_s": search_s}
    return Figure(f"fleet page of {count}, can be used", times, most_s=INTERACTIVE_S, note=note, facts=facts)


def _stream(bench: Bench, count: int, seconds: float) -> Figure:
    endpoint = bench.roost.endpoint
    heard, messages = 0, 0
    with httpx.Client(base_url=endpoint.url, headers={"X-API-Key": endpoint.key}, timeout=None, trust_env=False) as client:
        cursor = client.get("/v1/fleet").raise_for_status().json()["cursor"]
        ends_at = time.monotonic() + seconds
        with client.stream("GET", "/v1/live", params={"after": cursor}) as answer:
            answer.raise_for_status()
            for piece in answer.iter_raw():  # it beats at least every few seconds, so this ends
                if time.monotonic() > ends_at:
                    break
                heard += len(piece)
                messages += piece.count(b"\n\n")
    a_minute = heard * 60 / seconds
    note = f"{a_minute / 1000:.1f} KB in {messages * 60 / seconds:.0f} messages, {STREAM_BYTES / 1000:.0f} KB allowed"
    # The report's unit is the second; a kilobyte is shown as a millisecond, and the name says so.
    name = f"stream of {count}, an idle minute (KB, not ms)"
    return Figure(name, [a_minute / 1e6], "at most", [STREAM_BYTES / 1e6], bar=1.0, note=note, facts={"bytes": a_minute})


def _bundle(bench: Bench) -> Figure:
    web = find_web(bench.settings.cache)
    assert web is not None, "the pages are built: the server has just served them"
    page = (web.path / "index.html").read_text()
    sizes = {path.name: len(gzip.compress(path.read_bytes(), 9)) for path in (web.path / "assets").glob("*.js")}
    # One that the page itself names is lazy in name only.
    counted = sum(size for name, size in sizes.items() if name in page or not LAZY.match(name))
    later = sum(sizes.values()) - counted
    note = f"{counted / 1024:.1f} KiB gzipped of {BUNDLE_BYTES / 1024:.0f}; screen and terminal {later / 1024:.1f} more"
    name = "JavaScript of Mission Control (KB, not ms)"
    return Figure(name, [counted / 1e6], "at most", [BUNDLE_BYTES / 1e6], bar=1.0, note=note, facts={"bytes": counted})
