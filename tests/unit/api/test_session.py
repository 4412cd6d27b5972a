from __future__ import annotations

from http.cookies import SimpleCookie

import httpx
import pytest
from starlette.responses import Response

from roost.api.session import COOKIE, LASTS_S, Sessions
from roost.domain.errors import Unauthenticated
from roost.domain.ids import KeyId

from .house import House

pytestmark = pytest.mark.anyio

KEY = KeyId("k" + "0" * 20)
OURS = {"Roost-Request": "1"}


@pytest.fixture
async def browser(house: House) -> httpx.AsyncClient:
    """Without a key, and not signed in yet."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(house.app), base_url="http://roost")


async def signed_in(browser: httpx.AsyncClient, house: House) -> httpx.AsyncClient:
    answer = await browser.post("/v1/session", json={"key": house.key})
    assert answer.status_code == 204
    return browser


async def test_a_key_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(browser: httpx.AsyncClient, house: House) -> None:
    answer = await browser.post("/v1/session", json={"key": house.key})
    cookie = SimpleCookie(answer.headers["set-cookie"])[COOKIE]
    assert cookie["httponly"] and cookie["samesite"] == "strict" and cookie["path"] == "/"
    assert cookie["max-age"] == str(LASTS_S) and not cookie["secure"] and not cookie["domain"]
    assert house.key not in cookie.value
    told = (await browser.get("/v1/session")).json()
    assert (told["team"], told["domain"], told["scheme"], told["port"]) == ("default", "roost.localhost", "http", 4700)
    assert told["key"]["hint"] == house.key[-4:]
    assert (await browser.get("/v1/sandboxes")).status_code == 200
    assert (await browser.get("/sandboxes")).status_code == 200, "E2B's door too"


async def test_behind_https_it_is_secure() -> None:
    response = Response()
    Sessions(secret=b"s", scheme="https", now=lambda: 0.0).put(response, KEY)
    assert "Secure" in response.headers["set-cookie"]
    assert response.headers["set-cookie"].startswith("__Host-"), "no other host name of the domain can plant one"


async def test_a_wrong_key_gets_none(browser: httpx.AsyncClient) -> None:
    answer = await browser.post("/v1/session", json={"key": "e2b_" + "0" * 40})
    assert answer.status_code == 401 and "set-cookie" not in answer.headers
    assert (await browser.get("/v1/session")).status_code == 401


async def test_signing_out_clears_it(browser: httpx.AsyncClient, house: House) -> None:
    await signed_in(browser, house)
    assert (await browser.delete("/v1/session")).status_code == 204
    assert (await browser.get("/v1/session")).status_code == 401
    assert (await browser.delete("/v1/session")).status_code == 204, "as often as one likes"


async def test_a_change_needs_the_header_that_no_other_site_can_set(browser: httpx.AsyncClient, house: House) -> None:
    await signed_in(browser, house)
    refused = await browser.post("/v1/sandboxes", json={})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "cross_site")
    assert (await browser.post("/v1/sandboxes", json={}, headers=OURS)).status_code == 201
    assert (await browser.post("/v2/sandboxes", json={"templateID": "base"})).status_code == 403, "E2B's door too"


@pytest.mark.parametrize("origin", ["http://evil.example", "https://roost", "http://roost:81", "null", "http://[", ""])
async def test_pages_of_other_origins_change_nothing(browser: httpx.AsyncClient, house: House, origin: str) -> None:
    await signed_in(browser, house)
    answer = await browser.post("/v1/sandboxes", json={}, headers={**OURS, "Origin": origin})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "cross_site")
    assert (await browser.post("/v1/session", json={"key": house.key}, headers={"Origin": origin})).status_code == 403
    own = {**OURS, "Origin": "http://roost"}
    assert (await browser.post("/v1/sandboxes", json={}, headers=own)).status_code == 201


async def test_a_key_needs_no_such_header_and_comes_first(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v1/sandboxes", json={}, headers={"Cookie": f"{COOKIE}=nonsense", "Origin": "http://evil.example"})
    assert answer.status_code == 201


async def test_a_revoked_key_ends_its_sessions(browser: httpx.AsyncClient, http: httpx.AsyncClient) -> None:
    made = (await http.post("/v1/keys", json={"name": "anna"})).json()
    await browser.post("/v1/session", json={"key": made["secret"]})
    assert (await browser.get("/v1/session")).json()["key"]["name"] == "anna"
    await http.delete(f"/v1/keys/{made['id']}")
    assert (await browser.get("/v1/session")).status_code == 401


async def test_it_ends_after_a_week(browser: httpx.AsyncClient, house: House) -> None:
    await signed_in(browser, house)
    house.clock.advance(LASTS_S - 2)
    assert (await browser.get("/v1/session")).status_code == 200
    house.clock.advance(2)
    answer = await browser.get("/v1/session")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "session_over")


def test_only_what_we_sealed_opens() -> None:
    ours, theirs = (Sessions(secret=secret, scheme="http", now=lambda: 1000.0) for secret in (b"ours", b"theirs"))
    sealed = ours.seal(KEY)
    assert ours.open(sealed) == KEY
    key, ends_at, signature = sealed.split(".")
    forged = (
        theirs.seal(KEY),
        f"{key}.{int(ends_at) + 1}.{signature}",
        f"k{'1' * 20}.{ends_at}.{signature}",
        f"{key}.{ends_at}.",
        f"{key}.{ends_at}",
        f"{key}..{signature}",
        "",
        "...",
        "\ud800",
        sealed + "=",
        "é" * 50,
    )
    for cookie in forged:
        with pytest.raises(Unauthenticated):
            ours.open(cookie)
