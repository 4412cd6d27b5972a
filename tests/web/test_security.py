"""What keeps strangers, other sites and the sandboxes themselves out of Mission Control."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Browser, Page, expect

from roost.client import Sandbox, calls
from tests.real.server import DOMAIN, Server, eventually
from tests.web.browser import DESK, sign_in_by_name, visit

PAGES = (
    "/",
    "/app/inbox",
    "/app/templates",
    "/app/snapshots",
    "/app/events",
    "/app/node",
    "/app/keys",
    "/app/sandboxes/i00000000000000000000/screen",
)
DAY_S = 24 * 3600


def policy_of(page: Page, path: str = "/") -> dict[str, list[str]]:
    answer = page.goto(path)
    assert answer is not None
    parts = (part.split() for part in answer.headers["content-security-policy"].split(";") if part.strip())
    return {name: sources for name, *sources in parts}


@pytest.mark.parametrize("path", PAGES)
def test_without_a_session_every_page_asks_to_sign_in(server: Server, browser: Browser, path: str) -> None:
    with visit(browser, server.url) as page:
        page.goto(path)
        expect(page.get_by_role("heading", name="Sign in to Mission Control")).to_be_visible()
        assert page.request.get("/v1/fleet").status == 401


def test_a_person_signs_in_and_out(server: Server, browser: Browser) -> None:
    with visit(browser, server.url) as page:
        page.goto("/")
        page.get_by_label("API key").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("key")
        expect(page.get_by_role("heading", name="Sign in to Mission Control")).to_be_visible()
        page.get_by_label("API key").fill(server.key)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("navigation", name="Main").first).to_be_visible()
        assert page.request.get("/v1/session").json()["domain"] == DOMAIN
        page.reload()  # The session is the browser's, not the page's.
        expect(page.get_by_role("navigation", name="Main").first).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in to Mission Control")).to_be_visible()
        assert page.request.get("/v1/session").status == 401
        assert page.context.cookies() == []


def test_no_script_and_no_other_site_gets_the_cookie(server: Server, page: Page) -> None:
    page.goto("/")
    (cookie,) = page.context.cookies()
    assert cookie.get("name", "").startswith(f"roost_session_{server.instance}_"), "two Roosts on one host do not meet"
    assert (cookie.get("path"), cookie.get("domain")) == ("/", "127.0.0.1")
    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
    assert 6 * DAY_S < cookie.get("expires", 0) - time.time() <= 7 * DAY_S
    assert page.evaluate("document.cookie") == ""
    assert server.key not in cookie.get("value", "")


def test_a_revoked_key_ends_its_sessions(server: Server, browser: Browser) -> None:
    made = server.roost.run(calls.create_key("short-lived"))
    with visit(browser, server.url, made["secret"]) as page:
        assert page.request.get("/v1/session").json()["key"]["name"] == "short-lived"
        server.roost.run(calls.revoke_key(made["id"]))
        assert page.request.get("/v1/session").status == 401
        page.goto("/app/node")
        expect(page.get_by_role("heading", name="Sign in to Mission Control")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/app/keys", "/app/screen"])
def test_the_policy_lets_in_only_what_the_page_needs(server: Server, browser: Browser, path: str) -> None:
    with visit(browser, server.url) as page:
        policy = policy_of(page, path)
        assert policy["default-src"] == ["'none'"]
        here = page.url.partition("//")[2].partition("/")[0]
        for rule, ending in (("script-src", ".js"), ("style-src", ".css")):
            sources = [source for source in policy[rule] if not source.startswith("'nonce-")]
            assert sources and all(source.startswith(f"{here}/app/") and source.endswith(ending) for source in sources), rule
            assert f"{here}/app/theme.js" in sources or all("/app/assets/" in source for source in sources)
        assert not any(source.startswith("'") for source in policy["script-src"])
        assert policy["frame-ancestors"] == ["'none'"]
        assert policy["base-uri"] == ["'none'"]
        assert policy["form-action"] == ["'self'"]
        assert "'unsafe-inline'" not in policy["style-src"]
        for source in (*policy["connect-src"], *policy["img-src"]):
            ours = (f"{here}/v1/", f"{here}/app/favicon.svg", "data:", "blob:")
            assert source in ours or source.endswith(f"*.{DOMAIN}:{server.port}"), source
        headers = page.request.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_an_injected_script_does_not_run(server: Server, browser: Browser) -> None:
    """As the browser understands the policy, not as we read it."""
    context = browser.new_context(base_url=server.url, viewport=DESK)  # type: ignore[arg-type]
    try:
        page = context.new_page()
        page.goto("/")
        page.evaluate(
            """() => {
              const script = document.createElement('script');
              script.textContent = 'window.injected = 1';
              document.body.append(script);
              document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="window.injected = 2">');
              setTimeout('window.injected = 3');
              setTimeout(() => { window.later = true; });
            }"""
        )
        page.wait_for_function("window.later && document.querySelector('img[onerror]')?.complete")
        assert page.evaluate("window.injected") is None
    finally:
        context.close()


def test_a_page_inside_a_sandbox_cannot_act_for_who_looks_at_it(server: Server, browser: Browser, sandbox: Sandbox) -> None:
    """The worst case: Mission Control is opened under the sandboxes' own domain, so the browser takes both for one site and
    sends the cookie along."""
    sandbox.files.write("/home/user/www/index.html", "<h1>Free money</h1>")
    sandbox.start("cd www && exec python3 -m http.server 8000")
    inside = f"http://{server.host(sandbox, 8000)}:{server.port}/"
    control = f"http://{DOMAIN}:{server.port}"
    with visit(browser, control) as page:
        sign_in_by_name(page, server.key)
        eventually(lambda: _shows(page, inside, "Free money"))
        before = len(list(server.roost.sandboxes()))
        told = page.evaluate(
            """async (target) => {
              const asked = [];
              const attempts = [
                { method: 'POST', mode: 'no-cors', body: '{}' },
                { method: 'POST', mode: 'no-cors', body: new URLSearchParams({ template: 'base' }) },
                { method: 'POST', headers: { 'Content-Type': 'application/json', 'Roost-Request': '1' }, body: '{}' },
                { method: 'DELETE', headers: { 'Roost-Request': '1' } },
                { method: 'GET' },
              ];
              for (const attempt of attempts) {
                try {
                  const answer = await fetch(target, { credentials: 'include', ...attempt });
                  asked.push(answer.type === 'opaque' ? 'opaque' : await answer.text());
                } catch (error) { asked.push('refused'); }
              }
              return asked;
            }""",
            f"{control}/v1/sandboxes",
        )
        assert told == ["opaque", "opaque", "refused", "refused", "refused"], "nothing may be read, nothing be set"
        with page.expect_response(lambda answer: answer.url.startswith(control)) as answered:
            page.evaluate(
                """(target) => {
                  const form = Object.assign(document.createElement('form'), { method: 'post', action: target });
                  document.body.append(form);
                  form.submit();
                }""",
                f"{control}/v1/sandboxes",
            )
        assert answered.value.status == 403
        assert len(list(server.roost.sandboxes())) == before


def test_mission_control_is_not_served_on_a_sandboxs_name(server: Server, browser: Browser, sandbox: Sandbox) -> None:
    with visit(browser, f"http://{server.host(sandbox, 8000)}:{server.port}") as page:
        for path in ("/", "/app/inbox", "/app/assets/index.js", "/v1/session"):
            answer = page.goto(path)
            assert answer is not None and answer.status == 502
            assert "Mission Control" not in answer.text() and "/v1/" not in answer.headers["content-security-policy"]


def _shows(page: Page, url: str, text: str) -> None:
    page.goto(url)
    assert text in page.content()
