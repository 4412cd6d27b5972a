"""A person works in a sandbox without leaving the browser."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from roost.client import Sandbox
from tests.real.server import Server, eventually


def terminal_text(page: Page) -> str:
    """What the terminal shows, by its rows: xterm draws them in the page."""
    return page.locator(".xterm-rows").first.inner_text()


def test_a_terminal_survives_a_reload(page: Page, sandbox: Sandbox) -> None:
    page.goto(f"/app/sandboxes/{sandbox.id}/terminal")
    page.get_by_role("button", name="Open a terminal").click()
    page.get_by_role("textbox", name="Terminal 1").focus()
    expect(page.locator(".xterm-rows").first).to_contain_text("$")
    page.keyboard.type("kept=here; echo shell $$ is $kept\n")
    expect(page.locator(".xterm-rows").first).to_contain_text(re.compile(r"shell \d+ is here"))
    (shell,) = re.findall(r"shell (\d+) is here", terminal_text(page))
    page.reload()
    expect(page.locator(".xterm-rows").first).to_contain_text(f"shell {shell} is here")  # What was said is told again.
    page.get_by_role("textbox", name="Terminal 1").focus()
    page.keyboard.type("echo still $kept in $$\n")
    expect(page.locator(".xterm-rows").first).to_contain_text(f"still here in {shell}")
    page.get_by_role("button", name="New terminal").first.click()
    expect(page.get_by_role("button", name=re.compile("^Close terminal"))).to_have_count(2)
    eventually(lambda: _has_terminals(sandbox, 2))  # The page shows it first.


def _has_terminals(sandbox: Sandbox, count: int) -> None:
    assert len([each for each in sandbox.processes() if each.raw.get("tag")]) == count


def test_a_killed_sandbox_is_brought_back(server: Server, page: Page, sandbox: Sandbox) -> None:
    sandbox.update(name="mortal")
    sandbox.files.write("kept.txt", "still here")
    page.goto(f"/app/sandboxes/{sandbox.id}/terminal")
    page.get_by_role("button", name="Kill", exact=True).click()
    dialog = page.get_by_role("dialog", name="Kill mortal?")
    expect(dialog).to_contain_text("what is in memory is lost")
    dialog.get_by_role("button", name="Kill").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status").filter(has_text="mortal is back")).to_be_visible()
    assert sandbox.refresh().state == "dead"
    back = server.roost.get("mortal")
    try:
        assert back.id != sandbox.id
        assert back.files.read("kept.txt") == b"still here"
        expect(page).to_have_url(re.compile(back.id))
    finally:
        back.kill()


def test_what_listens_appears_and_can_be_opened(page: Page, sandbox: Sandbox) -> None:
    page.goto(f"/app/sandboxes/{sandbox.id}/ports")
    expect(page.get_by_role("heading", name="Nothing listens")).to_be_visible()
    sandbox.start(
        "mkdir -p www && cd www && echo '<h1>It works</h1>' > index.html && exec python3 -m http.server 8000 --bind 127.0.0.1"
    )
    expect(page.get_by_role("listitem").filter(has_text="8000")).to_contain_text("http.server")
    with page.context.expect_page() as opening:
        page.get_by_role("link", name="Open port 8000 in a new tab").click()
    expect(opening.value.get_by_role("heading", name="It works")).to_be_visible()
    assert opening.value.evaluate("window.opener") is None
