"""What happened to a sandbox, on one clock, and the way back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from roost.client import Sandbox
from tests.real.server import Server, said, sandbox_of
from tests.web.agent import ask

ROLLED_BACK = re.compile("Rolled back")  # as a title, not as a reason


def rows(page: Page, text: str | re.Pattern[str]) -> Locator:
    return page.get_by_role("region", name="Timeline").get_by_role("listitem").filter(has_text=text)


def choose(page: Page, row: Locator, item: str) -> None:
    row.get_by_role("button", name=re.compile("^Go back to")).click()
    page.get_by_role("menuitem", name=item).click()


@pytest.fixture
def sandbox(server: Server) -> Iterator[Sandbox]:
    """Its snapshots go with it."""
    with sandbox_of(server) as sandbox:
        yield sandbox
    for snapshot in list(server.roost.snapshots(sandbox=sandbox.id)):
        server.roost.delete_snapshot(snapshot.id)


def test_snapshot_now_fork_and_roll_back(server: Server, page: Page, sandbox: Sandbox) -> None:
    sandbox.update(name="storied", metadata={"team": "red"})
    sandbox.start("exec sleep 4711")
    said(sandbox, "until pgrep -fx 'sleep 4711' >/dev/null; do sleep 0.05; done; echo first > story")
    page.goto(f"/app/sandboxes/{sandbox.id}/timeline")
    expect(rows(page, "Created")).to_contain_text("from base")
    page.get_by_role("button", name="Snapshot now").click()
    dialog = page.get_by_role("dialog", name="Snapshot storied")
    dialog.get_by_label("Name").fill("chapter-one")
    dialog.get_by_role("button", name="Make snapshot").click()
    expect(rows(page, "chapter-one")).to_contain_text("stood still for")

    said(sandbox, "echo second > story")
    expect(rows(page, "echo second > story")).to_contain_text("done after")  # What it runs appears by itself.
    choose(page, rows(page, "chapter-one"), "Fork from here…")
    dialog = page.get_by_role("dialog", name="Fork from here?")
    expect(dialog).to_contain_text("storied is not changed")
    dialog.get_by_role("button", name="Fork").click()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page).not_to_have_url(re.compile(sandbox.id))
    expect(page.get_by_role("heading", name="storied")).to_have_count(0)
    fork = server.roost.get(re.findall(r"sandboxes/(\w+)", page.url)[0])
    try:
        assert fork.id != sandbox.id and fork.record.metadata == {"team": "red"}
        assert said(fork, "cat story; pgrep -fx 'sleep 4711' | wc -l").split() == ["first", "1"]
    finally:
        fork.kill()

    page.goto(f"/app/sandboxes/{sandbox.id}/timeline")
    choose(page, rows(page, re.compile("^.*Snapshot.*chapter-one")), "Roll back here…")
    dialog = page.get_by_role("dialog", name="Roll back here?")
    expect(dialog).to_contain_text("Open connections are cut")
    expect(dialog).to_contain_text("the moment you leave is kept as a snapshot")
    dialog.get_by_role("button", name="Roll back").click()
    expect(rows(page, ROLLED_BACK)).to_contain_text("chapter-one")
    assert said(sandbox, "cat story; pgrep -fx 'sleep 4711' | wc -l").split() == ["first", "1"]
    # And forward again: nothing was lost.
    choose(page, rows(page, re.compile("Fell asleep.*kept as before-rollback")), "Roll back here…")
    page.get_by_role("dialog", name="Roll back here?").get_by_role("button", name="Roll back").click()
    expect(rows(page, ROLLED_BACK)).to_have_count(2)
    assert said(sandbox, "cat story") == "second"


def test_why_it_slept_and_woke_and_what_it_asked(server: Server, page: Page, sandbox: Sandbox) -> None:
    page.goto(f"/app/sandboxes/{sandbox.id}/timeline")
    asked = ask(server, sandbox, kind="approval", text="May I go on?")
    expect(rows(page, "Asked for approval")).to_contain_text("May I go on?")
    page.get_by_role("button", name="Pause").click()
    expect(rows(page, "Fell asleep").first).to_contain_text("by hand or by API")
    expect(page.get_by_text("the commands it ran are shown when it is awake")).to_be_visible()
    answer = page.request.post(
        f"/v1/questions/{asked['id']}/answer", data={"choice": "approve", "text": "go"}, headers={"Roost-Request": "1"}
    )
    assert answer.ok, answer.text()
    who = page.request.get("/v1/session").json()["key"]["name"]
    expect(rows(page, f"{who} answered")).to_contain_text("approve · go")
    expect(rows(page, "Woke").first).to_contain_text("an answer to its question")

    sandbox.pause()
    expect(rows(page, "Fell asleep")).to_have_count(2)
    said(sandbox, "true")
    expect(rows(page, "Woke").first).to_contain_text("a request to its agent, POST /process.Process/Start")
    sandbox.pause()
    page.get_by_role("button", name="Wake", exact=True).click()
    expect(rows(page, "Woke").first).to_contain_text("by hand or by API")

    page.get_by_role("button", name=re.compile("^Life")).click()
    expect(rows(page, "Woke")).to_have_count(0)
    expect(rows(page, "Asked for approval")).to_be_visible()
