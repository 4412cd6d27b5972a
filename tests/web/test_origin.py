"""What a sandbox writes is never a page, a script or a worker of Mission Control's own origin: the attacks, in a real browser."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from roost.client import Sandbox, calls
from roost.edge.admission.access import sign
from tests.real.server import DOMAIN, Server, eventually
from tests.web.browser import sign_in_by_name, visit
from tests.web.impostor import impostor

REPORT = "/home/user/report.html"
WORKER = "/home/user/worker.js"
# What an attacker's report does in the browser of whoever opens it: it makes itself a key, and stays.
ATTACK = """<!doctype html><title>Weekly report</title><h1>Weekly report</h1><script>
(async () => {
  const told = {};
  try {
    const headers = { 'Content-Type': 'application/json', 'Roost-Request': '1' };
    const answer = await fetch('/v1/keys', { method: 'POST', headers, body: JSON.stringify({ name: 'stolen' }) });
    told.key = answer.status;
  } catch (error) { told.key = String(error); }
  try {
    await navigator.serviceWorker.register(WORKER_URL, { scope: '/' });
    told.worker = 'registered';
  } catch (error) { told.worker = String(error); }
  document.title = JSON.stringify(told);
})();
</script>
"""
TAKES_OVER = """
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  const headers = { 'Content-Type': 'text/html' };
  if (event.request.mode === 'navigate') event.respondWith(new Response('<h1>Give me your key</h1>', { headers }));
});
"""
REGISTER = """async (url) => {
  try { await navigator.serviceWorker.register(url, { scope: '/' }); return 'registered'; } catch (error) { return error.name; }
}"""
REGISTRATIONS = "async () => (await navigator.serviceWorker.getRegistrations()).map((each) => each.scope)"


def signed(sandbox: Sandbox, path: str) -> str:
    """As E2B's `download_url` with one address for everything, the server's own. Whoever is in the sandbox can make one."""
    signature = sign(path, "user", sandbox.tokens().access_token, write=False, expiration=None)
    return "/files?" + urlencode({"path": path, "username": "user", "signature": signature})


@pytest.fixture
def hostile(sandbox: Sandbox) -> Sandbox:
    sandbox.files.write(WORKER, TAKES_OVER)
    sandbox.files.write(REPORT, ATTACK.replace("WORKER_URL", json.dumps(signed(sandbox, WORKER))))
    return sandbox


def names_of_keys(server: Server) -> set[str]:
    return {key["name"] for key in server.roost.run(calls.list_keys())["keys"]}


def let_it_act(page: Page) -> None:
    """Gives the report the time it needs, if it is a page at all."""
    if page.title() != "This opens at the sandbox's own address":
        page.wait_for_function("document.title.startsWith('{')")


@pytest.mark.parametrize("host", ["127.0.0.1", DOMAIN, f"api.{DOMAIN}"])
def test_a_report_that_a_signed_in_person_opens_mints_no_key(
    server: Server, browser: Browser, hostile: Sandbox, host: str
) -> None:
    with visit(browser, f"http://{host}:{server.port}") as page:
        sign_in_by_name(page, server.key)
        page.goto(signed(hostile, REPORT))
        let_it_act(page)
        assert "stolen" not in names_of_keys(server)
        assert page.evaluate(REGISTRATIONS) == []
        page.goto("/")
        expect(page.get_by_role("navigation", name="Main").first).to_be_visible()


def test_nor_one_that_a_page_of_the_sandbox_leads_to(server: Server, browser: Browser, hostile: Sandbox) -> None:
    control = f"http://{DOMAIN}:{server.port}"
    there = f"{control}{signed(hostile, REPORT)}"
    hostile.files.write("/home/user/www/index.html", f"<script>location.replace({json.dumps(there)})</script>")
    hostile.files.write("/home/user/www/frame.html", f"<title>frame</title><iframe src={json.dumps(there)}></iframe>")
    hostile.start("cd www && exec python3 -m http.server 8000")
    inside = f"http://{server.host(hostile, 8000)}:{server.port}"
    with visit(browser, control) as page:
        sign_in_by_name(page, server.key)
        eventually(lambda: _is_called(page, f"{inside}/frame.html", "frame"))
        assert "Weekly report" not in page.frames[1].content()
        page.goto(f"{inside}/")
        page.wait_for_url(there)
        let_it_act(page)
        assert "stolen" not in names_of_keys(server)
        assert page.evaluate(REGISTRATIONS) == []


def test_a_service_worker_of_a_sandbox_is_not_registered_even_by_our_own_page(
    server: Server, browser: Browser, hostile: Sandbox
) -> None:
    with visit(browser, server.url) as page:
        page.goto("/v1/version")  # of our origin, and without the policy that would keep it out as well
        assert page.evaluate(REGISTER, signed(hostile, WORKER)) in ("SecurityError", "TypeError")
        assert page.evaluate(REGISTRATIONS) == []
        page.goto("/")
        expect(page.get_by_role("heading", name="Sign in to Mission Control")).to_be_visible()


def test_a_person_is_led_to_the_sandboxs_own_address(server: Server, browser: Browser, hostile: Sandbox) -> None:
    hostile.files.write("/home/user/plain.html", "<h1>Weekly report</h1>")
    with visit(browser, server.url, server.key) as page:
        page.goto(signed(hostile, "/home/user/plain.html"))
        page.get_by_role("link", name="Open it at the sandbox's address").click()
        expect(page.get_by_role("heading", name="Weekly report")).to_be_visible()
        assert page.url.startswith(f"http://{server.host(hostile, 49983)}:{server.port}/files?")


SPIES = """
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => event.respondWith(fetch(event.request)));
"""
POISON = {"/": ("text/html", "<title>poison</title>"), "/worker.js": ("text/javascript", SPIES)}


def test_a_poisoned_browser_is_cleaned_by_the_start_page(server: Server, browser: Browser) -> None:
    with impostor(server.port, POISON) as stand_in, visit(browser, stand_in.url) as page:
        page.goto("/")
        assert page.evaluate(REGISTER, "/worker.js") == "registered"
        page.wait_for_function("navigator.serviceWorker.controller !== null")
        stand_in.step_aside()
        page.goto("/")
        expect(page.get_by_role("heading", name="Sign in to Mission Control")).to_be_visible()
        page.wait_for_function("navigator.serviceWorker.controller === null")
        assert page.evaluate(REGISTRATIONS) == []


def test_and_by_signing_in(server: Server, browser: Browser) -> None:
    """Whatever the page does: the browser itself is told to forget. What the person chose stays."""
    with impostor(server.port, POISON) as stand_in, visit(browser, stand_in.url) as page:
        page.goto("/")
        page.evaluate("localStorage.setItem('planted', '1'); localStorage.setItem('roost.theme', 'dark')")
        page.evaluate("caches.open('planted')")
        stand_in.step_aside()
        page.goto("/")
        page.get_by_label("API key").fill(server.key)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("navigation", name="Main").first).to_be_visible()
        assert page.evaluate("[localStorage.getItem('planted'), localStorage.getItem('roost.theme')]") == [None, "dark"]
        assert page.evaluate("caches.keys()") == []


CLEARS = """
import http.server
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Clear-Site-Data", '"cookies", "storage", "cache"')
        self.end_headers()
        self.wfile.write(b"<title>cleared</title>")
print("ready", flush=True)
http.server.ThreadingHTTPServer(("", 8000), Answer).serve_forever()
"""


def test_a_sandbox_does_not_clear_the_cookies_of_its_whole_domain(server: Server, browser: Browser, sandbox: Sandbox) -> None:
    """Browsers clear cookies by the site, and all of the domain is one."""
    sandbox.files.write("/tmp/clears.py", CLEARS)
    with sandbox.start("exec python3 /tmp/clears.py") as process:
        assert next(iter(process)).data == b"ready\n"
    with visit(browser, f"http://{DOMAIN}:{server.port}") as page:
        sign_in_by_name(page, server.key)
        eventually(lambda: _is_called(page, f"http://{server.host(sandbox, 8000)}:{server.port}/", "cleared"))
        page.goto("/")
        expect(page.get_by_role("navigation", name="Main").first).to_be_visible()


def _is_called(page: Page, url: str, title: str) -> None:
    page.goto(url)
    assert page.title() == title
