"""axe finds nothing serious on any page, in light and in dark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from roost.client import Sandbox
from tests.real.server import Server, eventually, sandbox_of
from tests.web.agent import ask
from tests.web.browser import PHONE, visit

PAGES = {
    "Fleet": "/",
    "Inbox": "/app/inbox",
    "Templates": "/app/templates",
    "Snapshots": "/app/snapshots",
    "Events": "/app/events",
    "Node": "/app/node",
    "Keys": "/app/keys",
}
TABS = ("terminal", "files", "timeline", "activity", "ports", "settings")
# Colours that fade from one scheme to the other are neither. What ends may begin further down: three frames without any.
_FADED = """async () => {
  for (let still = 0; still < 3; ) {
    await new Promise(requestAnimationFrame);
    still = document.getAnimations().some((each) => each instanceof CSSTransition) ? 0 : still + 1;
  }
}"""
GRAVE = ("serious", "critical")


@pytest.fixture(scope="module")
def furnished(server: Server) -> Iterator[Sandbox]:
    """Something on every page: a sandbox that runs, one that sleeps, a snapshot, a question, a port."""
    with sandbox_of(server, name="furnished", metadata={"team": "red"}) as awake, sandbox_of(server, name="sleeper") as asleep:
        awake.start("exec python3 -m http.server 8000")
        awake.run("echo done")
        snapshot = awake.snapshot(name="good")
        ask(server, awake, kind="approval", text="May I?")
        asleep.pause()
        yield awake
        server.roost.delete_snapshot(snapshot.id)


def grave_findings(page: Page) -> list[str]:
    found: list[dict[str, Any]] = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{each['impact']}: {each['id']} at {node['target']}: {node['html'][:160]}\n  {node['failureSummary']}"
        for each in found
        if each["impact"] in GRAVE
        for node in each["nodes"]
    ]


def check(page: Page) -> None:
    findings: list[str] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.evaluate(_FADED)
        findings += [f"{scheme}, {finding}" for finding in grave_findings(page)]
    assert not findings, "\n".join(findings)


def settled(page: Page) -> None:
    """Nothing is still on its way."""
    expect(page.get_by_role("main")).to_be_visible()
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)


@pytest.mark.parametrize("name", PAGES)
def test_pages(page: Page, furnished: Sandbox, name: str) -> None:
    page.goto(PAGES[name])
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    settled(page)
    check(page)


@pytest.mark.parametrize("tab", TABS)
def test_tabs_of_a_sandbox(page: Page, furnished: Sandbox, tab: str) -> None:
    page.goto(f"/app/sandboxes/{furnished.id}/{tab}")
    expect(page.get_by_role("heading", name="furnished")).to_be_visible()
    settled(page)
    check(page)


def test_the_screen_of_a_desktop(page: Page, desktop: Sandbox) -> None:
    page.goto(f"/app/sandboxes/{desktop.id}/screen")
    expect(page.get_by_role("button", name="Take over")).to_be_enabled()
    check(page)


def test_one_that_sleeps(server: Server, page: Page, furnished: Sandbox) -> None:
    page.goto(f"/app/sandboxes/{server.roost.get('sleeper').id}/terminal")
    expect(page.get_by_role("button", name="Wake it")).to_be_visible()
    check(page)


def test_sign_in(server: Server, browser: Browser) -> None:
    with visit(browser, server.url) as page:
        page.goto("/")
        expect(page.get_by_label("API key")).to_be_visible()
        check(page)


def test_the_create_dialog(page: Page, furnished: Sandbox) -> None:
    page.goto("/?create=true")
    expect(page.get_by_role("dialog", name="New sandbox").get_by_role("radio").first).to_be_visible()
    check(page)


def test_on_a_phone(server: Server, browser: Browser, furnished: Sandbox) -> None:
    with visit(browser, server.url, server.key, viewport=PHONE, has_touch=True, is_mobile=True) as page:
        for path in ("/", f"/app/sandboxes/{furnished.id}/activity"):
            page.goto(path)
            settled(page)
            check(page)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} scrolls sideways"


def test_the_fleet_by_keyboard_alone(page: Page, furnished: Sandbox) -> None:
    page.goto("/")
    expect(page.get_by_role("link", name="furnished").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("furnis")
    expect(page.get_by_role("link", name="sleeper")).to_have_count(0)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="furnished").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="furnished")).to_be_visible()
    eventually(lambda: goes_to_the_node(page))


def test_a_dialog_gives_the_focus_back(page: Page, furnished: Sandbox) -> None:
    page.goto(f"/app/sandboxes/{furnished.id}/timeline")
    for name in ("Snapshot", "Fork", "Kill"):
        opener = page.get_by_role("button", name=name, exact=True)
        opener.press("Enter")
        expect(page.get_by_role("dialog").locator(":focus")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(opener).to_be_focused()


def goes_to_the_node(page: Page) -> None:
    """Two keys, the second soon after the first: who was held up between them tries again."""
    page.locator("body").press("g")
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="Node", exact=True)).to_be_visible(timeout=10_000)
