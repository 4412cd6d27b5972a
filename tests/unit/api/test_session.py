from __future__ import annotations

from http.cookies import SimpleCookie

import httpx
import pytest
from starlette.responses import Response

from roost.api.session import LASTS_S, Sessions
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
    cookie = SimpleCookie(answer.headers["set-cookie"])[house.services.sessions.cookie]
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
    sessions(b"s", scheme="https").put(response, KEY)
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


async def test_a_key_needs_no_such_header_and_comes_first(house: House, http: httpx.AsyncClient) -> None:
    cookie = f"{house.services.sessions.cookie}=nonsense"
    answer = await http.post("/v1/sandboxes", json={}, headers={"Cookie": cookie, "Origin": "http://evil.example"})
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


def sessions(secret: bytes = b"ours", *, scheme: str = "http", instance: str = "tests") -> Sessions:
    return Sessions(secret=secret, scheme=scheme, instance=instance, now=lambda: 1000.0)


def test_only_what_we_sealed_opens() -> None:
    ours, theirs = sessions(b"ours"), sessions(b"theirs")
    sealed = ours.seal(KEY)
    assert ours.open(sealed) == KEY
    key, sealed_at, signature = sealed.split(".")
    forged = (
        theirs.seal(KEY),
        f"{key}.{sealed_at[:-1]}_.{signature}",
        f"k{'1' * 20}.{sealed_at}.{signature}",
        f"{key}.{sealed_at}.",
        f"{key}.{sealed_at}",
        f"{key}..{signature}",
        "",
        "...",
        "\ud800",
        "é" * 50,
    )
    for cookie in forged:
        assert ours.open(cookie) is None


def test_two_roosts_on_one_host_have_cookies_of_different_names() -> None:
    """Browsers give the cookies of a host to all its ports."""
    names = {
        sessions().cookie,
        sessions(instance="other").cookie,
        sessions(b"of a container with the same home").cookie,
        sessions(scheme="https").cookie,
    }
    assert len(names) == 4
    assert all("roost_session_tests" in name or "roost_session_other" in name for name in names)


async def test_a_cookie_that_a_sandboxs_page_planted_signs_nobody_out(browser: httpx.AsyncClient, house: House) -> None:
    """The browser sends both, the one with the longer path first; which was whose it does not say."""
    name = house.services.sessions.cookie
    key = (await house.services.keys.identify(house.key)).key
    assert key is not None
    good = f"{name}={house.services.sessions.seal(key)}"
    planted = (f"{name}=planted", f"{name}=", name, "roost_session=planted", f"{name}={sessions(b'theirs').seal(KEY)}")
    for bad in planted:
        for cookies in (f"{bad}; {good}", f"{good}; {bad}", f"a=1; {bad}; {good}; {bad}"):
            assert (await browser.get("/v1/session", headers={"Cookie": cookies})).status_code == 200, cookies
    alone = await browser.get("/v1/session", headers={"Cookie": planted[0]})
    assert (alone.status_code, alone.json()["error"]["code"]) == (401, "session_over")


async def test_signing_in_clears_what_the_origin_kept(browser: httpx.AsyncClient, house: House) -> None:
    """A page that should never have been there may have left a service worker, or itself in the cache."""
    answer = await browser.post("/v1/session", json={"key": house.key})
    assert answer.headers["clear-site-data"] == '"cache", "storage"'


async def test_a_session_alone_makes_nothing_that_outlives_it(browser: httpx.AsyncClient, house: House) -> None:
    await signed_in(browser, house)
    sandbox = (await browser.post("/v1/sandboxes", json={}, headers=OURS)).json()["id"]
    drives = f"/v1/sandboxes/{sandbox}/links"
    attempts = ((f"{drives}", {"mode": "control"}), ("/v1/keys", {"name": "stolen"}), ("/api-keys", {"name": "stolen"}))
    for path, body in attempts:
        refused = await browser.post(path, json=body, headers=OURS)
        assert refused.status_code == 403
        assert "key_needed" in refused.text and "Give the API key again" in refused.text
        wrong = await browser.post(path, json=body, headers={**OURS, "Authorization": "Bearer e2b_" + "0" * 40})
        assert wrong.status_code == 401
        for given in (house.headers, {"X-API-Key": house.key}):
            assert (await browser.post(path, json=body, headers={**OURS, **given})).status_code == 201
    for mode in ("view", None):
        assert (await browser.post(drives, json={"mode": mode}, headers=OURS)).status_code == 201, "to watch is not to drive"
    assert "stolen" in [key["name"] for key in (await browser.get("/v1/keys")).json()["keys"]]
