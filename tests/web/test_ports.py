"""A person opens and shares the ports of a sandbox, whether they are public or not."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from roost.client import Sandbox
from tests.real.server import Server, eventually, sandbox_of
from tests.real.test_edge import serve
from tests.web.browser import visit
from tests.web.test_accessibility import check

PORT = 8000

# A page that shows which cookies its server was sent, and speaks to it in the background.
_SERVE = """
import http.server, json
class Shop(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        page = f'''<!doctype html><title>Shop</title><h1>The shop</h1><p id=sent>{self.headers.get("Cookie")}</p><p id=heard></p>
          <script>fetch("/stock").then(async (got) => {{ heard.innerText = `${{got.status}} ${{await got.text()}}` }})</script>'''
        body = b"4 apples" if self.path == "/stock" else page.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Shop)
print("ready", flush=True)
server.serve_forever()
"""


def keep_shop(sandbox: Sandbox) -> None:
    sandbox.files.write("/tmp/shop.py", _SERVE)
    with sandbox.start("exec python3 /tmp/shop.py") as process:
        assert next(iter(process)).data == b"ready\n"


@pytest.fixture
def closed(server: Server) -> Iterator[Sandbox]:
    with sandbox_of(server, network={"public": False}) as sandbox:
        keep_shop(sandbox)
        yield sandbox


def is_the_shop(shop: Page, address: str) -> None:
    expect(shop.get_by_role("heading", name="The shop")).to_be_visible()
    expect(shop.locator("#heard")).to_have_text("200 4 apples")
    expect(shop.locator("#sent")).to_have_text("None")
    assert shop.url == address, "the token is gone from the address"
    assert shop.evaluate("document.cookie") == ""


def test_a_port_that_is_not_public_is_opened_shared_and_closed_again(
    server: Server, browser: Browser, page: Page, closed: Sandbox
) -> None:
    address = f"http://{server.host(closed, PORT)}:{server.port}/"
    page.goto(f"/app/sandboxes/{closed.id}/ports")
    with page.context.expect_page() as opening:
        page.get_by_role("button", name=f"Open port {PORT} in a new tab").click()
    own = opening.value
    is_the_shop(own, address)
    assert own.evaluate("window.opener") is None
    (cookie,) = page.context.cookies(address)
    assert (cookie.get("name"), cookie.get("path"), cookie.get("domain")) == ("roost_link", "/", server.host(closed, PORT))
    assert (cookie.get("httpOnly"), cookie.get("sameSite"), cookie.get("secure")) == (True, "Lax", False)

    page.get_by_role("button", name=f"Share port {PORT}").click()
    dialog = page.get_by_role("dialog", name=re.compile(f"^Share port {PORT} of "))
    dialog.get_by_label("For", exact=True).select_option("1 day")
    dialog.get_by_label("Who").fill("ben")
    dialog.get_by_role("button", name="Make link").click()
    link = dialog.get_by_label("link", exact=True).inner_text()
    assert link.startswith(address + "?roost_link=")
    expect(dialog.get_by_role("listitem").filter(has_text="ben")).to_contain_text(re.compile("ends in (1 d|23 h)"))
    assert {kept.label: kept.port for kept in closed.links()}["ben"] == PORT
    check(page)

    closed.pause()
    with visit(browser, server.url) as guest:
        assert guest.goto(address).status == 403  # type: ignore[union-attr]
        guest.goto(link)
        is_the_shop(guest, address)
        assert closed.refresh().state == "running", "opening it woke the sandbox"
        dialog.get_by_role("button", name="Revoke the link of ben").click()
        expect(dialog.get_by_role("listitem").filter(has_text="ben")).to_have_count(0)
        guest.reload()
        expect(guest.get_by_role("heading", name="This link opens nothing")).to_be_visible()
    own.reload()
    is_the_shop(own, address)


def test_of_a_public_port_the_address_is_all_there_is_to_share(server: Server, page: Page, sandbox: Sandbox) -> None:
    keep_shop(sandbox)
    address = f"http://{server.host(sandbox, PORT)}:{server.port}"
    page.goto(f"/app/sandboxes/{sandbox.id}/ports")
    expect(page.get_by_role("link", name=f"Open port {PORT} in a new tab")).to_have_attribute("href", address)
    page.get_by_label("Share any port").fill("9000")
    page.get_by_role("button", name="Share", exact=True).click()
    dialog = page.get_by_role("dialog", name=re.compile("^Share port 9000 of "))
    expect(dialog).to_contain_text("anybody who knows the address can open it")
    expect(dialog.get_by_label("address", exact=True)).to_have_text(address.replace(str(PORT), "9000", 1))
    assert sandbox.links() == []


_OPENS = """(target) => new Promise((resolve) => {
  const socket = new WebSocket(target.replace('http', 'ws'));
  socket.onopen = () => resolve(true);
  socket.onerror = () => resolve(false);
})"""


def test_another_sandboxs_page_cannot_use_what_a_link_opened(
    server: Server, browser: Browser, closed: Sandbox, sandbox: Sandbox
) -> None:
    """The browser takes all sandboxes for one site and sends the cookie along; the edge does not let it count."""
    keep_shop(sandbox)
    serve(closed, "127.0.0.1", PORT + 1)
    host = f"{server.host(closed, PORT + 1)}:{server.port}"
    target = f"http://{host}/"
    with visit(browser, server.url) as page:
        page.goto(closed.link(port=PORT + 1).url or "")
        assert page.evaluate(_OPENS, target) is True, "its own page may"
        page.goto(f"http://{server.host(sandbox, PORT)}:{server.port}/")
        sent: list[dict[str, str]] = []
        wire = page.context.new_cdp_session(page)
        wire.send("Network.enable")
        wire.on("Network.requestWillBeSentExtraInfo", lambda event: sent.append(event["headers"]))
        for method in ("GET", "POST"):
            with page.expect_response(target) as answered:
                how = {"method": method, "mode": "no-cors", "credentials": "include"}
                page.evaluate("([target, how]) => fetch(target, how).then(() => undefined)", [target, how])
            assert answered.value.status == 403
        eventually(lambda: _came_with_cookies(page, sent, host))
        assert page.evaluate(_OPENS, target) is False
        assert page.goto(target).status == 200, "a person may go there"  # type: ignore[union-attr]


def _came_with_cookies(page: Page, sent: list[dict[str, str]], host: str) -> None:
    page.title()  # What the browser tells of its wire is heard while it is asked something.
    cookies = [each.get("Cookie", "") for each in sent if each.get("Host") == host]
    assert len(cookies) == 2 and all("roost_link=" in each for each in cookies), "else this would show nothing"
