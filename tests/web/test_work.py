"""A person works in a sandbox without leaving the browser."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import FilePayload, Locator, Page, expect

from roost.client import Sandbox
from tests.real.server import Server, said


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
    assert len([each for each in sandbox.processes() if each.raw.get("tag")]) == 2


def test_files_are_edited_uploaded_and_downloaded(page: Page, sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.files.write("notes.txt", "one\ntwo\n")
    page.goto(f"/app/sandboxes/{sandbox.id}/files")
    page.get_by_role("button", name="notes.txt", exact=True).click()
    editor = page.get_by_role("textbox", name="Text of /home/user/notes.txt")
    expect(editor).to_have_value("one\ntwo\n")
    editor.fill("one\ntwo\nthree, żółć\n")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="notes.txt is saved")).to_be_visible()
    assert sandbox.files.read("notes.txt").decode() == "one\ntwo\nthree, żółć\n"

    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download").first.click()
    assert downloading.value.suggested_filename == "notes.txt"
    assert Path(downloading.value.path()).read_text() == "one\ntwo\nthree, żółć\n"

    content = bytes(range(256)) * 4096
    upload = FilePayload(name="data.bin", mimeType="application/octet-stream", buffer=content)
    with page.expect_file_chooser() as choosing:
        page.get_by_role("button", name="Upload").click()
    choosing.value.set_files([upload])
    expect(page.get_by_role("button", name="data.bin", exact=True)).to_be_visible()
    assert sandbox.files.read("data.bin") == content

    said(sandbox, "echo from inside > fresh.txt")  # What the agent makes appears by itself.
    expect(page.get_by_role("button", name="fresh.txt", exact=True)).to_be_visible()


def save(page: Page, form: Locator) -> None:
    with page.expect_response(lambda answer: answer.request.method == "PATCH") as answered:
        form.get_by_role("button", name="Save").click()
    assert answered.value.ok


def test_settings_are_changed(page: Page, sandbox: Sandbox) -> None:
    page.goto(f"/app/sandboxes/{sandbox.id}/settings")
    who = page.locator("form").filter(has=page.get_by_label("Metadata"))
    expect(who.get_by_role("button", name="Save")).to_be_disabled()
    who.get_by_label("Name").fill("renamed")
    who.get_by_label("Metadata").fill("team=red\nrun=7")
    save(page, who)
    expect(page.get_by_role("heading", name="renamed")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Saved.").first).to_be_visible()

    sleep = page.locator("form").filter(has=page.get_by_label("Sleeps when idle for"))
    sleep.get_by_label("Sleeps when idle for").fill("90m")
    sleep.get_by_role("checkbox", name="A request to it wakes it").uncheck()
    save(page, sleep)

    network = page.locator("form").filter(has=page.get_by_label("Denied"))
    network.get_by_role("checkbox", name="It reaches the internet").uncheck()
    save(page, network)

    record = sandbox.refresh()
    assert (record.name, record.metadata) == ("renamed", {"team": "red", "run": "7"})
    assert (record.raw["policy"]["idle_s"], record.raw["policy"]["wake_on_traffic"]) == (5400, False)
    assert record.raw["network"]["internet"] is False


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


def test_what_listens_can_be_opened(page: Page, sandbox: Sandbox) -> None:
    sandbox.start(
        "mkdir -p www && cd www && echo '<h1>It works</h1>' > index.html && exec python3 -m http.server 8000 --bind 127.0.0.1"
    )
    page.goto(f"/app/sandboxes/{sandbox.id}/ports")
    expect(page.get_by_role("listitem").filter(has_text="8000")).to_contain_text("http.server")
    with page.context.expect_page() as opening:
        page.get_by_role("link", name="Open port 8000 in a new tab").click()
    expect(opening.value.get_by_role("heading", name="It works")).to_be_visible()
    assert opening.value.evaluate("window.opener") is None
