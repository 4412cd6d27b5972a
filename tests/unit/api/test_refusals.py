"""Bad input is always the caller's: a typed error that names the thing, never a 500, and nothing half-made."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import anyio
import httpx
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.api.http import STATUS, handle_errors, status_of
from roost.domain import errors
from roost.domain.errors import RoostError

from .house import House

pytestmark = pytest.mark.anyio


def error_of(answer: httpx.Response) -> dict:
    content = answer.json()
    assert list(content) == ["error"]
    assert content["error"]["message"].endswith((".", ")")), content
    return content["error"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "not JSON"),
        (b"", None),
        (b"[]", "dictionary"),
        (b'"base"', "dictionary"),
        (b'{"templte": "base"}', "'templte'"),
        (b'{"template": 7}', "'template'"),
        (b'{"metadata": {"a": 1}}', "'metadata.a'"),
        (b'{"timeout_s": NaN}', "'timeout_s'"),
        (b'{"timeout_s": 1e999}', "'timeout_s'"),
        (b'{"timeout_s": -5}', "timeout_s is -5"),
        (b'{"timeout_s": true}', "'timeout_s'"),
        (b'{"on_timeout": "explode"}', "'on_timeout'"),
        (b'{"name": "No Good"}', "'No Good'"),
        (b'{"name": "\\ud800"}', "'name'"),
        (b'{"env": {"A=B": "1"}}', "'A=B'"),
        (b'{"size": {"cpus": 1, "memory": 1}}', "'size.memory'"),
        (b'{"size": {"cpus": 1, "memory_mb": 1, "disk_mb": 1, "pids": 1e400}}', "'size.pids'"),
        (b'{"size": {"cpus": 0.001}}', "0.05 of a core"),
        (b'{"size": {"cpus": -1, "memory_mb": 512, "disk_mb": 1, "pids": 1}}', "cpus is -1"),
        (b'{"metadata": ' + b"[" * 5000 + b"]" * 5000 + b"}", None),
        (b'{"timeout_s": ' + b"9" * 5000 + b"}", None),
    ],
)
async def test_a_bad_body_is_refused(http: httpx.AsyncClient, house: House, body: bytes, says: str | None) -> None:
    answer = await http.post("/v1/sandboxes", content=body, headers={"Content-Type": "application/json"})
    if body == b"":
        assert answer.status_code == 201  # nothing asked for is a plain sandbox
        return
    assert answer.status_code == 400, answer.text
    assert says is None or says in error_of(answer)["message"]
    assert house.node.orders == []


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/sandboxes/nobody", 404, "sandbox_not_found"),
        ("/v1/sandboxes/%00", 404, "sandbox_not_found"),
        ("/v1/sandboxes/nobody/activity", 404, "sandbox_not_found"),
        ("/v1/sandboxes?limit=0", 400, "limit_invalid"),
        ("/v1/sandboxes?limit=many", 400, "invalid"),
        ("/v1/sandboxes?state=asleep", 400, "invalid"),
        ("/v1/sandboxes?cursor=abc", 400, "cursor_invalid"),
        ("/v1/sandboxes?metadata=x", 400, "invalid"),
        ("/v1/sandboxes?sate=paused", 400, "invalid"),
        ("/v1/snapshots/nothing", 404, "snapshot_not_found"),
        ("/v1/snapshots?sandbox=nobody", 404, "sandbox_not_found"),
        ("/v1/templates/nothing", 404, "template_not_found"),
        ("/v1/events?after=-1", 400, "invalid"),
        ("/v1/events?kind=sandbox.exploded", 400, "invalid"),
        ("/v1/nothing", 404, "no_such_path"),
    ],
)
async def test_a_bad_question_is_refused(http: httpx.AsyncClient, path: str, status: int, code: str) -> None:
    answer = await http.get(path)
    assert (answer.status_code, error_of(answer)["code"]) == (status, code)


async def test_the_refusal_names_the_thing_and_the_way_out(http: httpx.AsyncClient) -> None:
    unknown = error_of(await http.post("/v1/sandboxes", json={"template": "windows"}))
    assert (unknown["code"], unknown["template"]) == ("template_not_found", "windows")
    assert "roost templates" in unknown["message"]
    await http.post("/v1/sandboxes", json={"name": "ada"})
    taken = await http.post("/v1/sandboxes", json={"name": "ada"})
    assert taken.status_code == 409
    assert error_of(taken)["name"] == "ada"


async def test_a_full_machine_is_no_fault(http: httpx.AsyncClient, house: House) -> None:
    house.node.memory_free_bytes = 1
    full = await http.post("/v1/sandboxes")
    assert full.status_code == 429
    assert error_of(full)["code"] == "node_full"


async def test_large_bodies_are_refused_announced_or_not(http: httpx.AsyncClient) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 100_000

    announced = await http.post("/v1/sandboxes", content=b" " * 1_000_001)
    streamed = await http.post("/v1/sandboxes", content=endless(), headers={"Content-Type": "application/json"})
    for answer in (announced, streamed):
        assert answer.status_code == 413
        assert error_of(answer)["code"] == "too_large"


async def test_the_wrong_method_is_told(http: httpx.AsyncClient) -> None:
    answer = await http.put("/v1/sandboxes")
    assert answer.status_code == 405
    assert error_of(answer)["code"] == "method_not_allowed"


async def test_the_key_is_asked_for_before_anything_else(house: House) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(house.app), base_url="http://roost") as http:
        nobody = await http.post("/v1/sandboxes", content=b"{", headers={"Content-Type": "application/json"})
        assert nobody.status_code == 401
        assert nobody.headers["www-authenticate"].startswith("Bearer")
        assert error_of(nobody)["code"] == "no_key"
        wrong = await http.get("/v1/sandboxes", headers={"Authorization": "Bearer wrong"})
        assert (wrong.status_code, error_of(wrong)["code"]) == (401, "key_unknown")
        assert (await http.get("/v1/sandboxes", headers={"X-API-Key": house.key})).status_code == 200
        assert (await http.get("/v1/sandboxes", headers={"authorization": f"bearer  {house.key} "})).status_code == 200
        assert (await http.get("/v1/health")).json() == {"status": "ok"}


async def test_keys_are_made_used_and_revoked(http: httpx.AsyncClient) -> None:
    made = (await http.post("/v1/keys", json={"name": "robot"})).json()
    as_robot = {"Authorization": f"Bearer {made['secret']}"}
    listed = (await http.get("/v1/keys", headers=as_robot)).json()["keys"]
    assert made["hint"] in {key["hint"] for key in listed}
    assert all("secret" not in key for key in listed)
    assert (await http.delete(f"/v1/keys/{made['id']}")).status_code == 204
    assert (await http.get("/v1/keys", headers=as_robot)).status_code == 401


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.SandboxNotFound("x"), 404),
        (errors.SandboxDead("x"), 410),
        (errors.NameTaken("x", "y"), 409),
        (errors.NodeFull("memory", "1", "0"), 429),
        (errors.SandboxLost("x", "y"), 503),
        (errors.MoveTimedOut("x", "pause", 1), 504),
        (errors.EngineFailed("x", "y"), 500),
        (RoostError("odd", "Odd."), 500),
    ],
)
def test_every_error_has_its_number(error: RoostError, status: int) -> None:
    assert status_of(error) == status


def test_every_kind_of_error_has_a_number() -> None:
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RoostError)}
    without = {kind for kind in kinds if not any(parent in STATUS for parent in kind.__mro__)}
    assert without == {RoostError, errors.Refused}


async def test_a_bug_is_told_as_ours_and_tells_no_secrets() -> None:
    app = FastAPI()
    handle_errors(app)

    @app.get("/")
    async def broken() -> None:
        raise ValueError("the password is 1234")

    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://roost") as http:
        answer = await http.get("/")
    assert answer.status_code == 500
    assert error_of(answer)["code"] == "internal"
    assert "1234" not in answer.text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = ["template", "name", "metadata", "env", "timeout_s", "on_timeout", "idle_s", "size", "count", "names", "memory"]
_PATHS = ["", "/x/pause", "/x/resume", "/x/fork", "/x/snapshots", "/x/extend", "/x/hold"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(path=st.sampled_from(_PATHS), body=st.dictionaries(st.sampled_from(_FIELDS), _JSON, max_size=3) | _JSON)
async def test_no_body_at_all_breaks_the_server(http: httpx.AsyncClient, path: str, body: object) -> None:
    answer = await http.post(
        f"/v1/sandboxes{path}", content=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code < 500, answer.text


async def test_strangers_wait_for_no_writer_and_keep_none_waiting(http: httpx.AsyncClient, house: House) -> None:
    """Whoever guesses keys or links must not take turns with those who write."""
    unknown = {"Authorization": "Bearer e2b_" + "0" * 40}
    with anyio.fail_after(60):
        async with house.store.transaction():
            for path in ("/v1/sandboxes", "/sandboxes", "/v1/node"):
                assert (await http.get(path, headers=unknown)).status_code == 401
            assert (await http.get("/v1/driver", params={"token": "0" * 64})).status_code == 401
            for verb in ("take", "give"):
                assert (await http.post(f"/v1/driver/{verb}", json={"token": "0" * 64})).status_code == 401
            assert (await http.get("/v1/sandboxes")).status_code == 200
