"""What a person sets for a sandbox holds."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from roost.client import Sandbox
from tests.e2b.internet import SITE, internet
from tests.real.server import Server, said


def card(page: Page, label: str) -> Locator:
    return page.locator("form").filter(has=page.get_by_label(label))


def save(page: Page, form: Locator) -> None:
    with page.expect_response(lambda answer: answer.request.method == "PATCH") as answered:
        form.get_by_role("button", name="Save").click()
    assert answered.value.ok, answered.value.text()
    expect(form.get_by_role("button", name="Save")).to_be_disabled()  # There is nothing left to save.


def reached(sandbox: Sandbox) -> bool:
    """Whether a program inside gets an answer from a site outside. A refusal comes at once."""
    asked = f"curl --silent --output /dev/null --write-out '%{{http_code}}' --max-time 30 http://{SITE}/ || true"
    return said(sandbox, asked) == "200"


def test_name_metadata_and_sleep(page: Page, sandbox: Sandbox) -> None:
    page.goto(f"/app/sandboxes/{sandbox.id}/settings")
    who = card(page, "Metadata")
    expect(who.get_by_role("button", name="Save")).to_be_disabled()
    who.get_by_label("Name").fill("renamed")
    who.get_by_label("Metadata").fill("team=red\nrun")
    expect(who).to_contain_text('"run" is no pair')
    expect(who.get_by_role("button", name="Save")).to_be_disabled()
    who.get_by_label("Metadata").fill("team=red\nrun=7")
    save(page, who)
    expect(page.get_by_role("heading", name="renamed")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Saved.").first).to_be_visible()

    sleep = card(page, "Sleeps when idle for")
    sleep.get_by_label("Sleeps when idle for").fill("soon")
    expect(sleep).to_contain_text("A time like 90s")
    sleep.get_by_label("Sleeps when idle for").fill("90m")
    sleep.get_by_label("Timeout", exact=True).fill("150m")
    sleep.get_by_role("button", name="Kill").click()
    sleep.get_by_role("checkbox", name="A request to it wakes it").uncheck()
    save(page, sleep)
    expect(sleep).to_contain_text("The present one comes in 2 h")

    record = sandbox.refresh()
    assert (record.name, record.metadata) == ("renamed", {"team": "red", "run": "7"})
    policy = record.raw["policy"]
    assert (policy["idle_s"], policy["timeout_s"], policy["on_timeout"], policy["wake_on_traffic"]) == (5400, 9000, "kill", False)

    sleep.get_by_label("Timeout", exact=True).fill("")
    sleep.get_by_label("Sleeps when idle for").fill("1s")
    save(page, sleep)
    expect(page.get_by_role("button", name="Wake", exact=True)).to_be_visible()  # It falls asleep before the person's eyes.
    assert sandbox.refresh().raw["expires_at"] is None


def test_a_network_policy_holds_for_programs_inside(server: Server, page: Page, sandbox: Sandbox, tmp_path: Path) -> None:
    with internet(server, tmp_path):
        assert reached(sandbox)
        page.goto(f"/app/sandboxes/{sandbox.id}/settings")
        network = card(page, "Denied")
        network.get_by_label("Denied", exact=True).fill("198.51.100.0/24\nwww.example.com")
        network.get_by_role("button", name="Save").click()
        expect(network.get_by_role("alert")).to_contain_text("www.example.com")  # Names cannot be denied, and it says so.
        assert reached(sandbox), "what is refused changes nothing"

        network.get_by_label("Denied", exact=True).fill("198.51.100.0/24")
        save(page, network)
        assert not reached(sandbox)
        network.get_by_label("Allowed", exact=True).fill(SITE)
        save(page, network)
        assert reached(sandbox), "what is allowed wins over what is denied"

        network.get_by_label("Denied", exact=True).fill("")
        network.get_by_label("Allowed", exact=True).fill("")
        network.get_by_role("checkbox", name="It reaches the internet").uncheck()
        save(page, network)
        assert not reached(sandbox)
        network.get_by_label("Allowed", exact=True).fill("10.0.0.0/8, 198.51.100.0/24")
        save(page, network)
        assert reached(sandbox)
        page.reload()
        expect(network.get_by_label("Allowed", exact=True)).to_have_value("10.0.0.0/8\n198.51.100.0/24")
    assert sandbox.refresh().raw["network"]["internet"] is False
