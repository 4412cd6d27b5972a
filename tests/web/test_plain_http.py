"""Plain http under a domain that is not localhost: browsers say less there, and the guards hold all the same."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from roost.client import Sandbox
from roost.domain.errors import Conflict
from tests.real.server import Server, eventually, sandbox_of, serving
from tests.web.browser import launched, sign_in_by_name, visit
from tests.web.test_origin import ATTACK, REPORT, names_of_keys, signed

DOMAIN = "roost.test"
PORT = 8000


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(domain=DOMAIN, host="0.0.0.0") as server:
        yield server


@pytest.fixture(scope="module")
def browser(server: Server, playwright: Playwright) -> Iterator[Browser]:
    """For which the whole world is this machine."""
    with launched(playwright, "--host-resolver-rules=MAP * 127.0.0.1") as browser:
        yield browser


def control(server: Server) -> str:
    return f"http://{DOMAIN}:{server.port}"


def address(server: Server, sandbox: Sandbox, path: str = "/") -> str:
    return f"http://{PORT}-{sandbox.id}.{DOMAIN}:{server.port}{path}"


def serve(sandbox: Sandbox, **files: str) -> None:
    for name, text in files.items():
        sandbox.files.write(f"/home/user/www/{name.replace('_', '.')}", text)
    with sandbox.start("cd www && exec python3 -u -m http.server 8000") as process:
        assert b"Serving" in next(iter(process)).data


@pytest.fixture
def hostile(server: Server) -> Iterator[Sandbox]:
    with sandbox_of(server) as sandbox:
        serve(sandbox, index_html="<title>hostile</title>")
        yield sandbox


def test_another_sandboxs_page_does_not_read_a_private_port(server: Server, browser: Browser, hostile: Sandbox) -> None:
    with sandbox_of(server, network={"public": False}) as victim, visit(browser, control(server)) as page:
        serve(victim, secret_js="window.secret = 'of the victim'", index_html="<title>victim</title>")
        try:
            page.goto(victim.link(port=PORT).url or "")
        except Conflict as error:
            assert error.code == "link_needs_https" and "roost up --tls" in error.message
        page.goto(address(server, hostile))
        assert page.title() == "hostile"
        read = page.evaluate(
            """(url) => new Promise((resolve) => {
              const script = Object.assign(document.createElement('script'), { src: url });
              script.onload = script.onerror = () => resolve(window.secret ?? null);
              document.head.append(script);
            })""",
            address(server, victim, "/secret.js"),
        )
        assert read is None


def test_a_persons_browser_is_told_why(server: Server, browser: Browser, hostile: Sandbox) -> None:
    """In Mission Control, which makes the link."""
    with sandbox_of(server, network={"public": False}) as closed, visit(browser, control(server)) as page:
        sign_in_by_name(page, server.key)
        page.goto(f"/app/sandboxes/{closed.id}/ports")
        page.get_by_label("Share any port").fill("8000")
        page.get_by_role("button", name="Share").last.click()
        page.get_by_role("button", name="Make link").click()
        expect(page.get_by_role("dialog")).to_contain_text("Links to ports need https")


def test_a_report_of_a_sandbox_is_a_download(server: Server, browser: Browser, hostile: Sandbox) -> None:
    """Without a word of the browser what it wants it for."""
    hostile.files.write(REPORT, ATTACK.replace("WORKER_URL", json.dumps("/x")))
    with visit(browser, control(server)) as page:
        sign_in_by_name(page, server.key)
        with page.expect_download() as download:
            page.evaluate("(url) => { location.href = url }", signed(hostile, REPORT))
        assert download.value.suggested_filename == "report.html"
        assert "stolen" not in names_of_keys(server)


def test_a_page_of_a_sandbox_signs_nobody_out(server: Server, browser: Browser, hostile: Sandbox) -> None:
    """It plants cookies of the session's name for the whole domain; even if it knew the name."""
    with visit(browser, control(server)) as page:
        sign_in_by_name(page, server.key)
        (session,) = page.context.cookies()
        page.goto(address(server, hostile))
        page.evaluate(
            """([names, domain]) => {
              for (const name of names)
                for (const path of ['/', '/v1', '/v1/session', '/app'])
                  document.cookie = `${name}=planted; domain=${domain}; path=${path}`;
            }""",
            [[session.get("name"), "roost_session", "__Host-roost_session"], DOMAIN],
        )
        planted = [each for each in page.context.cookies(f"{control(server)}/v1/session") if each.get("value") == "planted"]
        assert len(planted) >= 6, "else this would show nothing"
        page.goto("/")
        eventually(lambda: _is_signed_in(page))
        expect(page.get_by_role("navigation", name="Main").first).to_be_visible()


def test_by_an_address_that_no_policy_can_name_the_pages_work_too(server: Server, browser: Browser, hostile: Sandbox) -> None:
    """`visit` tells of whatever the policy refuses."""
    with visit(browser, f"http://{_address_of_machine()}:{server.port}") as page:
        sign_in_by_name(page, server.key)
        page.goto(f"/app/sandboxes/{hostile.id}/terminal")  # in a part of its own, with styles that it makes itself
        page.get_by_role("button", name="Open a terminal").click()
        expect(page.locator(".xterm-rows").first).to_contain_text("$")
        page.goto("/app/events")
        expect(page.get_by_role("heading", name="Events")).to_be_visible()


def _address_of_machine() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing: it only asks for the address that would be used
        return probe.getsockname()[0]


def _is_signed_in(page: Page) -> None:
    assert page.evaluate("async () => (await fetch('/v1/session')).status") == 200
