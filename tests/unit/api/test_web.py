"""Mission Control's pages as a browser gets them."""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from roost.api.services import About
from roost.api.web import web_routes
from roost.api.web_policy import content_security_policy

from .house import House

pytestmark = pytest.mark.anyio

ABOUT = About("0", "roost.example", 4700, "/home/of/tests", 1, "engine 1", "agent 1", scheme="https")
PAGE = '<meta property="csp-nonce" nonce="ROOST_NONCE"><script src="/app/assets/index-1.js" nonce="ROOST_NONCE"></script>'


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    (site / "assets").mkdir(parents=True)
    (site / "index.html").write_text(PAGE)
    (site / "favicon.svg").write_text("<svg/>")
    (site / "theme.js").write_text("paint()")
    (site / "assets" / "index-1.css").write_text("body {}")
    (site / "assets" / "index-1.js").write_text("main()")
    (site / "assets" / "index-1.js.gz").write_bytes(gzip.compress(b"main()"))
    (tmp_path / "secret").write_text("not for browsers")
    return site


@pytest.fixture
async def browser(pages: Path) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(Starlette(routes=web_routes(ABOUT, pages)))
    async with httpx.AsyncClient(transport=transport, base_url="https://roost.example:4700") as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/app", "/app/inbox", "/app/sandboxes/i123/files", "/app/screen", "/app/no/such/place"])
async def test_every_place_is_the_page(browser: httpx.AsyncClient, path: str) -> None:
    answer = await browser.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"


async def test_the_policy_names_what_the_page_is_made_of_and_sandboxes_alone(browser: httpx.AsyncClient) -> None:
    answer = await browser.get("/")
    nonces = set(re.findall(r'nonce="([\w-]+)"', answer.text))
    assert len(nonces) == 1
    nonce = nonces.pop()
    assert rules_of(answer.headers["content-security-policy"]) == {
        "default-src": "'none'",
        "script-src": "roost.example:4700/app/assets/index-1.js roost.example:4700/app/theme.js",
        "style-src": f"roost.example:4700/app/assets/index-1.css 'nonce-{nonce}'",
        "img-src": "roost.example:4700/app/favicon.svg data: blob: https://*.roost.example:4700",
        "connect-src": "roost.example:4700/v1/ https://*.roost.example:4700 wss://*.roost.example:4700",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
        "form-action": "'self'",
    }
    assert nonce not in (await browser.get("/")).text, "each page has its own"


def test_over_plain_http_the_policy_names_plain_addresses() -> None:
    about = About("0", "roost.localhost", 81, "", 1, "", "")
    policy = content_security_policy(about, "127.0.0.1:81", ["/app/assets/a.js"], "n")
    assert "script-src 127.0.0.1:81/app/assets/a.js;" in policy
    assert "connect-src 127.0.0.1:81/v1/ http://*.roost.localhost:81 ws://*.roost.localhost:81;" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("host", ["192.0.2.7:4700", "[::1]:4700", "[2001:db8::7]", "a b", "x;script-src *", ""])
def test_what_a_policy_cannot_name_is_let_in_by_the_pages_nonce(host: str) -> None:
    rules = rules_of(content_security_policy(ABOUT, host, ["/app/assets/a.js", "/app/assets/a.css"], "n"))
    assert (rules["script-src"], rules["style-src"]) == ("'nonce-n'", "'nonce-n'")
    assert rules["connect-src"].startswith("'self' ") and rules["img-src"].startswith("'self' ")


def rules_of(policy: str) -> dict[str, str]:
    return dict(rule.split(" ", 1) for rule in policy.split("; "))


async def test_assets_are_kept_by_browsers_for_good(browser: httpx.AsyncClient) -> None:
    plain = await browser.get("/app/assets/index-1.js", headers={"Accept-Encoding": "identity"})
    packed = await browser.get("/app/assets/index-1.js", headers={"Accept-Encoding": "gzip, br"})
    assert plain.text == packed.text == "main()"
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    for answer in (plain, packed):
        assert answer.headers["content-type"].startswith("text/javascript")
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["vary"] == "Accept-Encoding"
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert (await browser.get("/app/favicon.svg")).headers["content-type"] == "image/svg+xml"


@pytest.mark.parametrize(
    "name", ["gone-2.js", "..", "../secret", "%2e%2e/%2e%2e/secret", "..%2f..%2fsecret", ".hidden", "a/b.js", ""]
)
async def test_no_asset_but_those_that_were_built(browser: httpx.AsyncClient, name: str) -> None:
    answer = await browser.get(f"/app/assets/{name}")
    assert "not for browsers" not in answer.text
    # An asset that is gone is no page: a script that gets one instead would only puzzle people.
    assert answer.status_code == 404 or answer.url.path != f"/app/assets/{name}"


@pytest.mark.parametrize("path", ["/app/..%2fsecret", "/app/%2e%2e%2fsecret", "/app/index.html"])
async def test_nothing_beside_the_pages(browser: httpx.AsyncClient, path: str) -> None:
    answer = await browser.get(path)
    assert "not for browsers" not in answer.text
    assert "ROOST_NONCE" not in answer.text


async def test_without_a_build_the_page_says_how_to_make_one(house: House, http: httpx.AsyncClient) -> None:
    for path in ("/", "/app/inbox"):
        answer = await http.get(path)
        assert answer.status_code == 503
        assert "roost setup" in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert (await http.get("/app/assets/index-1.js")).json()["error"]["code"] == "no_such_path"


async def test_the_paths_of_both_apis_stay_theirs(http: httpx.AsyncClient) -> None:
    for path in ("/v1/nothing", "/sandboxes/none", "/templates/none", "/appendix"):
        answer = await http.get(path)
        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "application/json"
    assert "/app/{path}" not in (await http.get("/openapi.json")).json()["paths"]
