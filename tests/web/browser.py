"""Debian's Chromium, driven by Playwright: what a person at Mission Control sees and does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PATIENCE_MS = 60_000
DESK = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}

# Whatever the policy of the page refuses is told on its console, where `Watch` hears it.
_TELL_VIOLATIONS = """
document.addEventListener('securitypolicyviolation', (event) => {
  console.error(`policy violated: ${event.violatedDirective} by ${event.blockedURI} in ${event.sourceFile}:${event.lineNumber}`);
});
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright, launched(playwright) as browser:
        yield browser


@contextmanager
def launched(playwright: Playwright, *flags: str) -> Iterator[Browser]:
    """Another browser of the one Playwright that a process can have."""
    expect.set_options(timeout=PATIENCE_MS)
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *flags], timeout=2 * PATIENCE_MS)
    try:
        yield browser
    finally:
        browser.close()


@dataclass  # without slots: Playwright leaves its mark on whatever it calls back
class Watch:
    """What went wrong in a page without anybody seeing it."""

    violations: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    hitches: list[str] = field(default_factory=list)  # what may have its reasons, and explains much when a test has failed

    def follow(self, page: Page) -> None:
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("crash", lambda _: self.hitches.append("the page crashed"))
        page.on("requestfailed", lambda request: self.hitches.append(f"{request.method} {request.url}: {request.failure}"))

    def _heard(self, kind: str, text: str) -> None:
        if "policy violated" in text or "Content Security Policy" in text:
            self.violations.append(f"{kind}: {text}")
        elif kind == "error":
            self.hitches.append(text)

    def check(self) -> None:
        assert not self.violations, "\n".join(self.violations)
        assert not self.errors, "\n".join(self.errors)


@contextmanager
def visit(browser: Browser, url: str, key: str | None = None, **options: Any) -> Iterator[Page]:
    """A page of its own session, signed in if a key is given. Nothing may have gone wrong in it when it is left."""
    context = browser.new_context(base_url=url, **{"viewport": DESK, "accept_downloads": True, **options})
    try:
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(_TELL_VIOLATIONS)
        watch = Watch()
        context.on("page", watch.follow)
        if key is not None:
            sign_in(context, key)
        try:
            yield context.new_page()
        except BaseException as error:
            for said in (*watch.violations, *watch.errors, *watch.hitches[-20:]):
                error.add_note(said)
            raise
        watch.check()
    finally:
        context.close()


def sign_in(context: BrowserContext, key: str) -> None:
    answer = context.request.post("/v1/session", data={"key": key})
    assert answer.status == 204, answer.text()


def sign_in_by_name(page: Page, key: str) -> None:
    """From the page itself: under names that only the browser resolves."""
    page.goto("/")
    status = page.evaluate(
        """async (key) => {
          const headers = { 'Content-Type': 'application/json' };
          return (await fetch('/v1/session', { method: 'POST', headers, body: JSON.stringify({ key }) })).status;
        }""",
        key,
    )
    assert status == 204
