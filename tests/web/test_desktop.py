"""A person and an agent at one desktop: watching, taking over, handing back, through a sleep and into a fork."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from roost.client import Sandbox
from tests.real.server import Server, eventually
from tests.web.agent import agent_of
from tests.web.browser import visit
from tests.web.screen import canvas, change, picture, take_over, wait_for_change, wait_for_picture

MOVES_WITHIN_MS = 120_000  # a desktop with Chromium open is a gigabyte of memory to write


def test_a_person_creates_a_desktop_and_sees_it_move(server: Server, page: Page, desktop_template: str) -> None:
    page.goto("/")
    page.get_by_role("button", name="New sandbox").first.click()
    dialog = page.get_by_role("dialog", name="New sandbox")
    dialog.get_by_role("radio", name=desktop_template).check()
    dialog.get_by_label("Name").fill("watched")
    dialog.get_by_role("button", name="Create").click()
    expect(page).to_have_url(re.compile(r"/app/sandboxes/\w+/screen"))
    sandbox = server.roost.get("watched")
    try:
        expect(page.get_by_role("heading", name="watched")).to_be_visible()
        before = wait_for_picture(page)
        with agent_of(server, sandbox) as agent:
            agent.opens_a_terminal()
            with_terminal = wait_for_change(page, before, share=0.05)
            agent.act("/desktop/type", text="while :; do date +%N%N%N%N; done\n").raise_for_status()
            wait_for_change(page, with_terminal, share=0.005)
    finally:
        sandbox.kill()


def test_take_over_type_hand_back_sleep_wake_fork(server: Server, page: Page, desktop: Sandbox) -> None:
    with agent_of(server, desktop) as agent:
        agent.opens_a_page_with_a_text_field()
        page.goto(f"/app/sandboxes/{desktop.id}/screen")
        wait_for_picture(page)
        expect(page.get_by_role("status").filter(has_text="The agent drives")).to_be_visible()

        take_over(page, server.key)
        wait_for_picture(page)
        canvas(page).click(position={"x": 300, "y": 300})
        page.keyboard.type("half typed")
        agent.sees("[half typed]")

        refused = agent.act("/desktop/click", x=10, y=10)
        assert refused.status_code == 409
        error = refused.json()["error"]
        assert (error["code"], bool(error["since"])) == ("person_drives", True)
        assert error["who"] == page.request.get("/v1/session").json()["key"]["name"]
        assert agent.act("/desktop/type", text="not now").status_code == 409

        page.get_by_role("button", name="Hand back").click()
        expect(page.get_by_role("status").filter(has_text="The agent drives")).to_be_visible()
        agent.act("/desktop/type", text=" and more").raise_for_status()
        agent.sees("[half typed and more]")
        page.keyboard.type("nobody hears this")
        looked = wait_for_picture(page)

        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("button", name="Wake and watch")).to_be_visible(timeout=MOVES_WITHIN_MS)
        assert desktop.refresh().state == "paused"
        page.goto("/")
        page.get_by_role("link", name=desktop.id).first.click()
        page.get_by_role("button", name="Wake and watch").click()
        wait_for_picture(page)
        assert desktop.refresh().state == "running"
        agent.sees("[half typed and more]")
        eventually(lambda: _looks_like(page, looked))  # The picture comes in pieces.

        page.get_by_role("button", name="Fork", exact=True).click()
        dialog = page.get_by_role("dialog", name=re.compile("^Fork"))
        dialog.get_by_label("Name").fill("twin")
        dialog.get_by_role("button", name="Fork").click()
        page.get_by_role("button", name="Open", exact=True).click(timeout=MOVES_WITHIN_MS)
        expect(page.get_by_role("heading", name="twin")).to_be_visible()
        twin = server.roost.get("twin")
        try:
            assert twin.record.parent == desktop.id
            wait_for_picture(page)
            with agent_of(server, twin) as other:
                other.act("/desktop/type", text=" twice").raise_for_status()
                other.sees("[half typed and more twice]")
                agent.sees("[half typed and more]")
        finally:
            twin.kill()


def _looks_like(page: Page, before: list[float]) -> None:
    assert change(before, picture(page)) < 0.2, "the same windows are on the screen"


def test_a_person_with_a_link_and_no_key_watches_and_steps_in(
    server: Server, browser: Browser, page: Page, desktop: Sandbox
) -> None:
    page.goto(f"/app/sandboxes/{desktop.id}/screen")
    wait_for_picture(page)
    page.get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog", name=re.compile("Share"))
    dialog.get_by_label("Who").fill("anna")
    dialog.get_by_role("button", name="Watch and drive").click()
    expect(dialog.get_by_role("button", name="Make link")).to_be_disabled()
    dialog.get_by_label("Your API key, again").fill("e2b_wrong")
    dialog.get_by_role("button", name="Make link").click()
    expect(dialog.get_by_text("The server does not know this API key")).to_be_visible()  # And the person stays signed in.
    dialog.get_by_label("Your API key, again").fill(server.key)
    dialog.get_by_role("button", name="Make link").click()
    link = dialog.get_by_label("link", exact=True).inner_text()
    with visit(browser, server.url) as guest, agent_of(server, desktop) as agent:
        guest.goto(link)
        wait_for_picture(guest)
        assert guest.request.get(f"/v1/sandboxes/{desktop.id}").status == 401
        guest.get_by_role("button", name="Take over").click()
        expect(page.get_by_text("anna drives").first).to_be_visible()  # Whoever watches is told.
        assert agent.act("/desktop/click", x=10, y=10).json()["error"]["who"] == "anna"
        dialog.get_by_role("button", name="Revoke the link of anna").click()
        expect(guest.get_by_role("heading", name=re.compile("This link (has ended|opens nothing)"))).to_be_visible()
        expect(page.get_by_text("The agent drives")).to_be_visible()
        assert agent.act("/desktop/click", x=10, y=10).status_code == 200
