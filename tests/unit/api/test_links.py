from __future__ import annotations

import json
import re
from dataclasses import replace

import httpx
import pytest

from roost.api.app import create_app
from roost.api.v1 import driver
from roost.domain.access import link_holder

from .house import House

pytestmark = pytest.mark.anyio


async def link(http: httpx.AsyncClient, ref: str = "ada", **body: object) -> dict:
    answer = await http.post(f"/v1/sandboxes/{ref}/links", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.fixture
async def sandbox(http: httpx.AsyncClient) -> str:
    return (await http.post("/v1/sandboxes", json={"name": "ada"})).json()["id"]


async def test_a_link_says_where_to_look_and_is_listed_without_its_token(http: httpx.AsyncClient, sandbox: str) -> None:
    made = await link(http, mode="control", seconds=90, label="anna")
    token = made["token"]
    assert re.fullmatch(r"l[0-9a-z]{20}", made["id"]) and re.fullmatch(r"[0-9a-f]{64}", token)
    assert made["url"] == f"http://roost/app/screen#{sandbox}.{token}"
    assert made["websocket"] == f"ws://49983-{sandbox}.roost.localhost:4700/desktop/rfb?link={token}"
    shown = {key: value for key, value in made.items() if key not in ("token", "url", "websocket")}
    assert shown == {
        "id": made["id"],
        "mode": "control",
        "port": None,
        "label": "anna",
        "created_at": "2023-11-14T22:13:20.000Z",
        "expires_at": "2023-11-14T22:14:50.000Z",
    }
    assert (await http.get("/v1/sandboxes/ada/links")).json() == {"links": [shown]}
    assert (await http.delete(f"/v1/sandboxes/ada/links/{made['id']}")).status_code == 204
    assert (await http.delete(f"/v1/sandboxes/ada/links/{made['id']}")).json()["error"]["code"] == "link_not_found"
    assert (await http.get("/v1/sandboxes/ada/links")).json() == {"links": []}


async def test_a_link_to_a_port_is_its_address_and_seats_nobody(http: httpx.AsyncClient, sandbox: str) -> None:
    screen = await link(http)
    made = await link(http, port=8000, seconds=90, label="ben")
    assert (made["mode"], made["port"], made["label"], made["websocket"]) == (None, 8000, "ben", None)
    assert made["url"] == f"http://8000-{sandbox}.roost.localhost:4700/?roost_link={made['token']}"
    listed = (await http.get("/v1/sandboxes/ada/links")).json()["links"]
    assert {each["id"]: each["port"] for each in listed} == {screen["id"]: None, made["id"]: 8000}
    assert made["token"] not in str(listed)
    for answer in (
        await http.get("/v1/driver", params={"token": made["token"]}),
        await http.post("/v1/driver/take", json={"token": made["token"], "force": True}),
        await http.post("/v1/driver/give", json={"token": made["token"]}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "link_unknown")


async def test_driving_needs_a_token_and_nothing_else(house: House, http: httpx.AsyncClient, sandbox: str) -> None:
    token = (await link(http, mode="control", label="anna"))["token"]
    other = (await link(http, mode="control", label="ben"))["token"]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(house.app), base_url="http://roost") as person:
        seat = (await person.get("/v1/driver", params={"token": token})).json()
        assert (seat["sandbox"], seat["sandbox_name"], seat["mode"], seat["label"]) == (sandbox, "ada", "control", "anna")
        assert (seat["driver"], seat["drives"], seat["state"]) == (None, False, "running")
        took = await person.post("/v1/driver/take", json={"token": token})
        assert (took.status_code, took.json()["who"], took.json()["since"]) == (200, "anna", "2023-11-14T22:13:20.000Z")
        refused = await person.post("/v1/driver/take", json={"token": other})
        assert refused.status_code == 409
        assert refused.json()["error"] | {"message": ""} == {
            "code": "somebody_drives",
            "message": "",
            "sandbox": sandbox,
            "who": "anna",
            "since": "2023-11-14T22:13:20+00:00",
        }
        assert (await http.get("/v1/sandboxes/ada")).json()["driver"] == took.json()
        assert (await person.get("/v1/driver", params={"token": token})).json()["drives"] is True
        forced = await person.post("/v1/driver/take", json={"token": other, "force": True})
        assert forced.json()["who"] == "ben"
        assert (await person.post("/v1/driver/give", json={"token": token})).status_code == 204
        assert (await http.get("/v1/sandboxes/ada")).json()["driver"]["who"] == "ben"
        assert (await person.post("/v1/driver/give", json={"token": other})).status_code == 204
        assert (await http.get("/v1/sandboxes/ada")).json()["driver"] is None


async def test_tokens_that_open_nothing(house: House, http: httpx.AsyncClient, sandbox: str) -> None:
    watch = (await link(http, seconds=10))["token"]
    for path, expected in (("take", (403, "view_only")), ("give", (204, None))):
        answer = await http.post(f"/v1/driver/{path}", json={"token": watch})
        assert (answer.status_code, answer.json()["error"]["code"] if answer.content else None) == expected
    house.clock.advance(10)
    for token, expected in ((watch, (410, "link_expired")), ("0" * 64, (401, "link_unknown")), ("", (401, "link_unknown"))):
        for answer in (
            await http.get("/v1/driver", params={"token": token}),
            await http.post("/v1/driver/take", json={"token": token}),
            await http.post("/v1/driver/give", json={"token": token}),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == expected


@pytest.mark.parametrize(
    "body",
    [
        {"mode": "own"},
        {"seconds": 0},
        {"seconds": 1e9},
        {"label": "x" * 101},
        {"lable": "x"},
        {"port": 0},
        {"port": 65536},
        {"port": "80"},
        {"port": 49983},
        {"port": 80, "mode": "view"},
    ],
)
async def test_nonsense_is_refused(http: httpx.AsyncClient, sandbox: str, body: dict) -> None:
    assert (await http.post("/v1/sandboxes/ada/links", json=body)).status_code == 400


async def test_a_dead_one_has_no_driver_and_no_links(http: httpx.AsyncClient, sandbox: str) -> None:
    token = (await link(http, mode="control"))["token"]
    assert (await http.post("/v1/driver/take", json={"token": token})).json()["who"] == "somebody"
    await http.delete(f"/v1/sandboxes/{sandbox}")
    assert (await http.get(f"/v1/sandboxes/{sandbox}")).json()["driver"] is None
    assert (await http.get(f"/v1/sandboxes/{sandbox}/links")).json() == {"links": []}
    assert (await http.get("/v1/driver", params={"token": token})).status_code == 410
    assert (await http.post(f"/v1/sandboxes/{sandbox}/links", json={})).status_code == 410


async def test_who_drives_is_told_as_it_changes_until_the_link_ends(house: House, http: httpx.AsyncClient, sandbox: str) -> None:
    made = await link(http, mode="control", label="anna")
    use, token = house.services, made["token"]
    seat = await use.hands.look(token)
    told = driver.seats(use.overview.follow(link_holder(seat.link.team, seat.link.sandbox, "anna"), None), seat, token, use)

    async def next_driver() -> object:
        number, kind, data = await anext(told)
        assert (number, kind) == (None, "seat")
        return json.loads(data)["driver"]

    assert await next_driver() is None
    await http.post("/v1/driver/take", json={"token": token})
    assert (await next_driver())["who"] == "anna"  # type: ignore[index]
    await http.post("/v1/driver/give", json={"token": token})
    assert await next_driver() is None
    await http.delete(f"/v1/sandboxes/ada/links/{made['id']}")
    await http.patch("/v1/sandboxes/ada", json={"metadata": {"a": "b"}})
    with pytest.raises(StopAsyncIteration):
        await anext(told)
    assert (await http.get("/v1/driver/live", params={"token": token})).status_code == 401


@pytest.mark.parametrize(
    ("scheme", "domain", "status"),
    [
        ("http", "roost.localhost", 201),
        ("https", "sandboxes.example.com", 201),
        ("http", "sandboxes.example.com", 409),
        ("http", "notlocalhost", 409),
    ],
)
async def test_ports_are_linked_only_where_browsers_say_which_page_asks(
    house: House, sandbox: str, scheme: str, domain: str, status: int
) -> None:
    about = replace(house.services.about, scheme=scheme, domain=domain)
    transport = httpx.ASGITransport(create_app(replace(house.services, about=about)))
    async with httpx.AsyncClient(transport=transport, base_url="http://roost", headers=house.headers) as there:
        answer = await there.post("/v1/sandboxes/ada/links", json={"port": 8000})
        assert answer.status_code == status
        if status == 409:
            error = answer.json()["error"]
            assert error["code"] == "link_needs_https" and "roost up --tls" in error["message"]
        assert (await there.post("/v1/sandboxes/ada/links", json={})).status_code == 201, "screens open by their token alone"
