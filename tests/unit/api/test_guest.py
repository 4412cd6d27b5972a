"""The guests' own API, by the address that a request comes from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from roost.api.guest import create_guest_app
from roost.domain.ids import SandboxId

from .house import House

pytestmark = pytest.mark.anyio

OPEN = {"kind": "approval", "text": "Send it?"}


@asynccontextmanager
async def inside(house: House, address: str, who: Callable[[str], str | None]) -> AsyncIterator[httpx.AsyncClient]:
    async def known(source: str) -> SandboxId | None:
        found = who(source)
        return None if found is None else SandboxId(found)

    transport = httpx.ASGITransport(create_guest_app(house.services, known), client=(address, 40000))
    async with httpx.AsyncClient(transport=transport, base_url="http://169.254.7.1") as client:
        yield client


async def test_a_guest_asks_for_itself_and_nobody_else(house: House, http: httpx.AsyncClient) -> None:
    ada, bob = [(await http.post("/v1/sandboxes", json={"name": name})).json()["id"] for name in ("ada", "bob")]
    who = {"198.18.0.6": ada, "198.18.0.10": bob}.get
    async with inside(house, "198.18.0.6", who) as one, inside(house, "198.18.0.10", who) as other:
        assert (await one.get("/")).json() == {"id": ada, "name": "ada", "template": "base"}
        asked = (await one.post("/questions", json=OPEN)).json()
        assert (asked["sandbox"], asked["choices"], asked["state"]) == (ada, ["approve", "deny"], "open")
        assert (await one.get(f"/questions/{asked['id']}")).json() == asked
        assert (await other.get(f"/questions/{asked['id']}", params={"wait_s": 1})).status_code == 404
        await http.post(f"/v1/questions/{asked['id']}/answer", json={"choice": "approve"})
        answered = (await one.get(f"/questions/{asked['id']}", params={"wait_s": 30})).json()
        assert (answered["state"], answered["answer"]["choice"]) == ("answered", "approve")


async def test_what_stands_for_no_sandbox_is_told_to_wait(house: House) -> None:
    async with inside(house, "198.18.0.6", lambda _: None) as nobody:
        for answer in (await nobody.get("/"), await nobody.post("/questions", json=OPEN), await nobody.get("/questions/q1")):
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "nobody_yet")


async def test_errors_have_the_shape_of_the_api(house: House, http: httpx.AsyncClient) -> None:
    ada = (await http.post("/v1/sandboxes")).json()["id"]
    async with inside(house, "198.18.0.6", lambda _: ada) as guest:
        for answer, status in (
            (await guest.post("/questions", json={"txt": "x"}), 400),
            (await guest.post("/questions", content=b"x" * 3_000_000), 413),
            (await guest.get("/questions/none"), 404),
            (await guest.get("/v1/sandboxes"), 404),
        ):
            assert answer.status_code == status
            assert answer.json()["error"]["message"]
