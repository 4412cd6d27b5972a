"""The pages around the sandboxes: templates, snapshots, events, keys, the node."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Locator, Page, expect

from roost.client import Sandbox
from tests.real.server import Server, said, sandbox_of
from tests.web.browser import visit


def created(server: Server, page: Page, name: str) -> Sandbox:
    """What the dialog that is open makes, under this name."""
    dialog = page.get_by_role("dialog", name="New sandbox")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    return server.roost.get(name)


def test_a_sandbox_is_created_from_a_template(server: Server, page: Page) -> None:
    page.goto("/app/templates")
    card = page.get_by_role("article", name="base")
    expect(card).to_contain_text("user in /home/user")
    before = card.get_by_role("link", name=re.compile(r"\d+ sandbox")).inner_text()
    card.get_by_role("link", name="Create").click()
    expect(page.get_by_role("dialog", name="New sandbox").get_by_role("radio", name="base")).to_be_checked()
    page.get_by_text("Size", exact=True).click()
    page.get_by_label("Memory (GB)").fill("plenty")
    expect(page.get_by_role("button", name="Create")).to_be_disabled()
    page.get_by_label("Memory (GB)").fill("1.5")
    sandbox = created(server, page, "from-template")
    try:
        assert sandbox.record.template == "base"
        assert sandbox.record.raw["size"] == {"cpus": 2.0, "memory_mb": 1536, "disk_mb": 10240, "pids": 4096}
        page.get_by_role("link", name="Templates").first.click()
        users = card.get_by_role("link", name=re.compile(r"\d+ sandbox"))
        expect(users).not_to_have_text(before)  # One more than before.
        users.click()
        expect(page.get_by_role("link", name="from-template").first).to_be_visible()
    finally:
        sandbox.kill()


def row(page: Page, text: str) -> Locator:
    return page.get_by_role("list", name="Snapshots by lineage").get_by_role("listitem").filter(has_text=text)


def test_snapshots_are_a_tree_to_create_from_and_to_cut(server: Server, page: Page, sandbox: Sandbox) -> None:
    sandbox.update(name="rooted")
    sandbox.files.write("age", "old")
    old = sandbox.snapshot(name="old-oak")
    child = server.roost.create(template=old.id, name="sprout")
    try:
        child.snapshot(name="young-oak")
        page.goto("/app/snapshots")
        expect(row(page, "old-oak").first).to_contain_text("rooted")
        expect(row(page, "young-oak")).to_contain_text("level")  # It hangs below the one that its sandbox came from.
        page.get_by_label("Search snapshots").fill("young-oak")
        expect(row(page, "young-oak")).to_be_visible()
        expect(row(page, "old-oak").first).to_be_visible()  # What it hangs from stays in sight.
        page.get_by_label("Search snapshots").fill("")

        row(page, "old-oak").first.get_by_role("button", name="Create from").click()
        expect(page.get_by_role("dialog", name="New sandbox")).to_contain_text("old-oak")
        grown = created(server, page, "grown")
        try:
            assert said(grown, "cat age") == "old"
        finally:
            grown.kill()

        page.goto("/app/snapshots")
        page.get_by_role("button", name="Actions for young-oak").click()
        page.get_by_role("menuitem", name="Delete…").click()
        dialog = page.get_by_role("dialog", name="Delete young-oak?")
        expect(dialog).to_contain_text("This moment of sprout is gone for good")
        dialog.get_by_role("button", name="Cancel").click()
        expect(row(page, "young-oak")).to_be_visible()
        page.get_by_role("button", name="Actions for young-oak").click()
        page.get_by_role("menuitem", name="Delete…").click()
        page.get_by_role("dialog", name="Delete young-oak?").get_by_role("button", name="Delete").click()
        expect(row(page, "young-oak")).to_have_count(0)
        assert "young-oak" not in {snapshot.name for snapshot in server.roost.snapshots()}
        assert said(child, "cat age") == "old", "who was made from it, or made it, does not need it"
    finally:
        child.kill()
        server.roost.delete_snapshot(old.id)


def test_events_are_searched(server: Server, page: Page, sandbox: Sandbox) -> None:
    sandbox.update(name="eventful")
    with sandbox_of(server, name="bystander"):
        page.goto("/app/events")
        events = page.get_by_role("main").get_by_role("listitem")
        expect(events.filter(has_text="bystander was created from base")).to_have_count(1)
        sandbox.pause()  # It appears as it happens.
        expect(events.filter(has_text=re.compile("eventful fell asleep: by hand or by API"))).to_have_count(1)
        page.get_by_label("Search events").fill("EVENTFUL asleep")
        expect(events).to_have_count(1)
        events.get_by_role("button", name=re.compile("^Details of event")).click()
        expect(events).to_contain_text("sandbox.paused")
        page.get_by_label("Search events").fill("")
        page.get_by_label("Sandbox", exact=True).select_option("bystander")
        expect(events.filter(has_text="eventful")).to_have_count(0)
        page.get_by_label("Kind").select_option("sandbox.died")
        expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()


def test_a_key_is_made_and_revoked(server: Server, browser: Browser, page: Page) -> None:
    page.goto("/app/keys")
    page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog", name="New key")
    dialog.get_by_label("What is it for?").fill("anna's laptop")
    expect(dialog.get_by_role("button", name="Make the key")).to_be_disabled()
    dialog.get_by_label("Your API key, again").fill("e2b_wrong")
    dialog.get_by_role("button", name="Make the key").click()
    expect(dialog.get_by_role("alert")).to_contain_text("does not know this API key")
    dialog.get_by_label("Your API key, again").fill(server.key)
    dialog.get_by_role("button", name="Make the key").click()
    shown = page.get_by_role("dialog", name="The key anna's laptop")
    expect(shown).to_contain_text("it is shown this once and kept nowhere")
    secret = shown.get_by_label("the key", exact=True).inner_text()
    shown.get_by_role("button", name="I have stored it").click()
    line = page.get_by_role("row").filter(has_text="anna's laptop")
    expect(line).to_contain_text(f"…{secret[-4:]}")

    with visit(browser, server.url, secret) as anna:
        anna.goto("/")
        expect(anna.get_by_text("anna's laptop").first).to_be_visible()
        line.get_by_role("button", name="Revoke anna's laptop").click()
        confirm = page.get_by_role("dialog", name="Revoke anna's laptop?")
        expect(confirm).to_contain_text("This cannot be undone")
        confirm.get_by_role("button", name="Revoke").click()
        expect(line).to_have_count(0)
        expect(anna.get_by_role("heading", name="Sign in to Mission Control")).to_be_visible()  # At once, without a click.
        anna.get_by_label("API key").fill(secret)
        anna.get_by_role("button", name="Sign in").click()
        expect(anna.get_by_role("alert")).to_contain_text("key")
        assert anna.request.get("/v1/fleet", headers={"X-API-Key": secret}).status == 401


def test_the_node_tells_how_it_is(server: Server, page: Page, sandbox: Sandbox) -> None:
    page.goto("/app/node")
    report = page.request.get("/v1/node").json()
    for gauge in ("Load", "Memory", "Disk"):
        expect(page.get_by_role("region", name=gauge, exact=True).get_by_role("meter")).to_be_visible()
    for check in report["checks"]:
        detail = re.sub(r"\d+", r"\\d+", re.escape(check["detail"].replace("`", "")))  # The page looked at another moment.
        said = re.compile(f"{re.escape(check['name'])} is (not )?well.*{detail}")
        expect(page.get_by_role("listitem").filter(has_text=said)).to_be_visible()
    expect(page.get_by_text(server.home.as_posix(), exact=True)).to_be_visible()
    awake = page.get_by_role("region", name="Awake").locator(".gauge-value")
    before = len([each for each in server.roost.sandboxes() if each.state == "running"])
    expect(awake).to_have_text(str(before))
    sandbox.pause()
    expect(awake).to_have_text(str(before - 1))  # As it happens.
    page.get_by_role("button", name="Look again").click()
    expect(page.get_by_text(re.compile("looked at"))).to_be_visible()
