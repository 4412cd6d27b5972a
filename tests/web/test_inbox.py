"""An agent asks, a person answers, the agent goes on."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from playwright.sync_api import Page, expect

from roost.client import Sandbox
from tests.real.server import Server, eventually
from tests.web.agent import ask


def wait_for_answer(server: Server, question: str) -> dict[str, Any]:
    """As an agent does: one call that returns with the answer."""
    return httpx.get(
        f"{server.url}/v1/questions/{question}",
        params={"wait_s": 120},
        headers={"X-API-Key": server.key},
        timeout=150,
        trust_env=False,
    ).json()


def test_an_approval_is_given_while_the_agent_sleeps(server: Server, page: Page, sandbox: Sandbox) -> None:
    page.goto("/app/inbox")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    picture = base64.b64encode(page.screenshot(type="jpeg", quality=40)).decode()
    asked = ask(server, sandbox, kind="approval", text="Deploy to production?", screenshot=picture)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(wait_for_answer, server, asked["id"])
        card = page.get_by_role("article", name=f"Question of {sandbox.id}")  # It comes by itself, without a reload.
        expect(card).to_contain_text("Deploy to production?")
        expect(card.get_by_role("img", name="The agent's screen when it asked")).to_be_visible()
        sandbox.pause()
        card.get_by_role("textbox").fill("but not on a Friday")
        card.get_by_role("button", name="approve").click()
        answered = waiting.result(timeout=60)
    assert (answered["state"], answered["answer"]["choice"]) == ("answered", "approve")
    assert answered["answer"]["text"] == "but not on a Friday"
    assert answered["answer"]["by"] == page.request.get("/v1/session").json()["key"]["name"]
    eventually(lambda: _is_running(sandbox))  # The answer is told first, and wakes it then.
    expect(card).to_be_hidden()
    page.get_by_role("button", name="History").click()
    expect(page.get_by_role("listitem").filter(has_text="Deploy to production?")).to_contain_text("approve")


def test_a_question_is_answered_in_words(server: Server, page: Page, sandbox: Sandbox) -> None:
    asked = ask(server, sandbox, text="What should I call it?")
    page.goto("/app/inbox")
    card = page.get_by_role("article", name=f"Question of {sandbox.id}")
    expect(card.get_by_role("button", name="Send answer")).to_be_disabled()
    card.get_by_label("Your answer").fill("Nest <b>egg</b>")
    card.get_by_role("button", name="Send answer").click()
    expect(card).to_be_hidden()
    assert wait_for_answer(server, asked["id"])["answer"]["text"] == "Nest <b>egg</b>"


def _is_running(sandbox: Sandbox) -> None:
    record = sandbox.refresh()
    assert record.state == "running", record
