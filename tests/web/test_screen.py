"""The tools around a screen: clipboards both ways, its size, its picture, all of the monitor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from roost.client import Sandbox
from tests.real.server import Server, eventually, said
from tests.web.agent import Agent, agent_of
from tests.web.browser import visit
from tests.web.screen import canvas, take_over, wait_for_picture

MAY_USE_THE_CLIPBOARD = ["clipboard-read", "clipboard-write"]


@pytest.fixture
def agent(server: Server, desktop: Sandbox) -> Iterator[Agent]:
    with agent_of(server, desktop) as agent:
        yield agent


def drive(page: Page, desktop: Sandbox, key: str) -> None:
    page.goto(f"/app/sandboxes/{desktop.id}/screen")
    wait_for_picture(page)
    take_over(page, key)
    wait_for_picture(page)


def own_clipboard(page: Page) -> str:
    return page.evaluate("navigator.clipboard.readText()")


def test_the_clipboards_are_one_while_a_person_drives(server: Server, browser: Browser, desktop: Sandbox, agent: Agent) -> None:
    with visit(browser, server.url, server.key, permissions=MAY_USE_THE_CLIPBOARD) as page:
        page.goto(f"/app/sandboxes/{desktop.id}/screen")
        page.evaluate("navigator.clipboard.writeText('from my machine, żółć 日本')")
        drive(page, desktop, server.key)
        eventually(lambda: _holds(agent, "from my machine, żółć 日本"))

        # A program that copies, as one does that the person clicks in.
        said(desktop, "printf 'from the desktop, ünï 漢字' | xclip -selection clipboard >/dev/null 2>&1")
        eventually(lambda: _is(own_clipboard(page), "from the desktop, ünï 漢字"))

        # What is copied elsewhere meanwhile comes along when the person is back.
        page.evaluate("navigator.clipboard.writeText('second thought')")
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        eventually(lambda: _holds(agent, "second thought"))


def test_the_clipboard_is_carried_by_hand(server: Server, page: Page, desktop: Sandbox, agent: Agent) -> None:
    """In a browser that lets the page neither read nor write its own."""
    agent.http.put("/desktop/clipboard", json={"text": "copied by the agent"}).raise_for_status()
    page.goto(f"/app/sandboxes/{desktop.id}/screen")
    wait_for_picture(page)
    page.get_by_role("button", name="Clipboard").click()
    dialog = page.get_by_role("dialog", name="Clipboard of the sandbox")
    expect(dialog.get_by_label("Text")).to_have_value("copied by the agent")  # Also for who only watches.
    expect(dialog.get_by_role("button", name="Send to the sandbox")).to_be_disabled()
    dialog.get_by_role("button", name="Close").click()
    take_over(page, server.key)
    page.get_by_role("button", name="Clipboard").click()
    dialog.get_by_label("Text").fill("typed by a person\nin two lines")
    dialog.get_by_role("button", name="Send to the sandbox").click()
    expect(dialog).to_have_count(0)
    eventually(lambda: _holds(agent, "typed by a person\nin two lines"))


def test_the_desktop_takes_the_size_of_the_window(server: Server, page: Page, desktop: Sandbox, agent: Agent) -> None:
    drive(page, desktop, server.key)
    before = agent.ask("/desktop")
    page.get_by_role("button", name="Match").click()
    fitted = eventually(lambda: _fits(page, agent))
    assert fitted != (before["width"], before["height"])
    page.set_viewport_size({"width": 1000, "height": 700})
    eventually(lambda: _is_not(_fits(page, agent), fitted))
    page.get_by_role("button", name="Hand back").click()
    expect(page.get_by_role("button", name="Match")).to_have_count(0)
    page.set_viewport_size({"width": 1280, "height": 860})
    wait_for_picture(page)
    assert (agent.ask("/desktop")["width"], agent.ask("/desktop")["height"]) != fitted, "who only watches changes nothing"


def test_a_screen_that_starts_anew_is_waited_for(page: Page, desktop: Sandbox) -> None:
    """Its server is not there for a moment, as when a desktop boots: that is no end of the link."""
    page.goto(f"/app/sandboxes/{desktop.id}/screen")
    wait_for_picture(page)
    canvas(page).evaluate("(canvas) => canvas.dataset.before = ''")
    said(desktop, "pkill -9 -f '[r]fbport'")
    expect(page.locator("canvas:not([data-before])")).to_be_visible()
    wait_for_picture(page)
    expect(page.get_by_role("button", name="Take over")).to_be_enabled()


def test_its_picture_and_all_of_the_monitor(server: Server, browser: Browser, desktop: Sandbox) -> None:
    with visit(browser, server.url, server.key, permissions=MAY_USE_THE_CLIPBOARD) as page:
        page.goto(f"/app/sandboxes/{desktop.id}/screen")
        wait_for_picture(page)
        page.get_by_role("button", name="Copy the picture").click()
        expect(page.get_by_role("status").filter(has_text="The picture is on the clipboard")).to_be_visible()
        size = page.evaluate(
            """async () => {
              const [item] = await navigator.clipboard.read();
              const picture = await createImageBitmap(await item.getType('image/png'));
              return [picture.width, picture.height];
            }"""
        )
        assert size == canvas(page).evaluate("(canvas) => [canvas.width, canvas.height]")

        page.get_by_role("button", name="Full screen").click()
        expect(page.get_by_role("button", name="Leave full screen")).to_be_visible()
        assert page.evaluate("document.fullscreenElement.querySelector('canvas') !== null")
        page.get_by_role("button", name="Clipboard").click()  # Dialogs are seen there too.
        page.get_by_role("dialog", name="Clipboard of the sandbox").get_by_role("button", name="Close").click()
        page.get_by_role("button", name="Leave full screen").click()
        expect(page.get_by_role("button", name="Full screen", exact=True)).to_be_visible()
        assert page.evaluate("document.fullscreenElement") is None


def _holds(agent: Agent, text: str) -> None:
    _is(agent.ask("/desktop/clipboard")["text"], text)


def _is(found: str, text: str) -> None:
    assert found == text


def _is_not(found: tuple[int, int], size: tuple[int, int]) -> None:
    assert found != size


def _fits(page: Page, agent: Agent) -> tuple[int, int]:
    """The size of the desktop, once it is that of the place where it is shown."""
    place = page.get_by_role("application").evaluate("(place) => [place.clientWidth, place.clientHeight]")
    shown = agent.ask("/desktop")
    assert [shown["width"], shown["height"]] == place
    return shown["width"], shown["height"]
