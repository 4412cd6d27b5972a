"""E2B's builder on fakes: what becomes of its steps, and who may put files where."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import pytest

from roost.api.e2b.builds import UPLOAD_LASTS_S
from roost.api.e2b.definitions import DEFAULT_USER, translate
from roost.api.e2b.models import BuildStart
from roost.contracts.store import Query
from roost.domain.build import Copy, FromContext, FromImage, FromTemplate, Run, SetEnv, SetUser, SetWorkdir
from roost.domain.builds import Build, BuildState, Upload
from roost.domain.errors import Invalid, Unsupported
from roost.domain.ids import TeamId
from roost.testing.conformance.builds import archive

from .house import House

pytestmark = pytest.mark.anyio

TEAM = TeamId("default")
HASH = hashlib.sha256(b"as E2B's client counts it").hexdigest()
FILES = archive(note="hello")


def started(*steps: dict[str, Any], **more: Any) -> BuildStart:
    return BuildStart.model_validate({"fromTemplate": "base", "steps": list(steps), **more})


def test_steps_become_ours_with_the_user_of_their_moment() -> None:
    definition = translate(
        started(
            {"type": "ENV", "args": ["A", "1", "B", "2"]},
            {"type": "COPY", "args": ["src", "dest/", "", "0640"], "filesHash": HASH},
            {"type": "USER", "args": ["worker"]},
            {"type": "COPY", "args": ["src", "/dest"], "filesHash": HASH},
            {"type": "WORKDIR", "args": ["/srv"]},
            {"type": "RUN", "args": ["make all"]},
            {"type": "RUN", "args": ["make install", "root"]},
            startCmd="serve",
        ),
        TEAM,
        {HASH: "d" * 64},
    )
    [stage] = definition.stages
    env, first, user, second, workdir, plain, as_root = stage.steps
    assert stage.base == FromTemplate("base")
    assert isinstance(env, SetEnv) and env.pairs == (("A", "1"), ("B", "2"))
    assert isinstance(first, Copy) and (first.origin, first.owner, first.mode) == (FromContext("d" * 64), DEFAULT_USER, 0o640)
    assert isinstance(user, SetUser) and user.is_made
    assert isinstance(second, Copy) and (second.owner, second.mode) == ("worker", None)
    assert isinstance(workdir, SetWorkdir) and workdir.path == "/srv"
    assert isinstance(plain, Run) and plain.command == ("/bin/bash", "-l", "-c", "make all") and plain.user is None
    assert isinstance(as_root, Run) and as_root.user == "root"
    assert [step.place.line for step in stage.steps] == [1, 2, 3, 4, 5, 6, 7]
    assert definition.start is not None and definition.start.user == "worker"
    assert definition.ready is not None and definition.ready.command == "sleep 20"


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ({"fromTemplate": None}, FromTemplate("base")),
        ({"fromTemplate": None, "fromImage": "e2bdev/base"}, FromTemplate("base")),
        ({"fromTemplate": "default/mine:v2"}, FromTemplate("mine", "v2")),
        ({"fromTemplate": None, "fromImage": "debian:12"}, FromImage("debian:12")),
    ],
)
def test_where_it_begins(given: dict[str, Any], base: object) -> None:
    assert translate(started(**given), TEAM, {}).stages[0].base == base


@pytest.mark.parametrize(
    "step",
    [
        {"type": "RUN", "args": []},
        {"type": "RUN", "args": [""]},
        {"type": "ENV", "args": ["A"]},
        {"type": "COPY", "args": ["a", "b"]},
        {"type": "COPY", "args": ["a", "b", "", "rwx"], "filesHash": HASH},
        {"type": "WORKDIR", "args": ["/a", "/b"]},
    ],
)
def test_a_step_that_makes_no_sense_is_refused_by_its_number(step: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refusal:
        translate(started({"type": "ENV", "args": ["A", "1"]}, step), TEAM, {HASH: "d" * 64})
    assert refusal.value.facts["step"] == 2


def test_credentials_do_not_travel() -> None:
    with pytest.raises(Unsupported):
        translate(started(fromTemplate=None, fromImage="a/b", fromImageRegistry={"type": "aws"}), TEAM, {})


async def announced(http: httpx.AsyncClient, name: str = "mine", **more: Any) -> dict[str, Any]:
    answer = await http.post("/v3/templates", json={"name": name, **more})
    assert answer.status_code == 202, answer.text
    return answer.json()


async def address(http: httpx.AsyncClient, digest: str = HASH) -> str:
    answer = await http.get(f"/templates/mine/files/{digest}")
    assert answer.status_code == 201, answer.text
    return answer.json()["url"]


async def uploads(house: House) -> list[Upload]:
    async with house.store.reading() as reader:
        return await reader.find(Upload, Query())


async def test_a_build_is_announced_given_files_and_started(http: httpx.AsyncClient, house: House) -> None:
    made = await announced(http, tags=["v1", "stable"], cpuCount=1, memoryMB=512)
    assert made["tags"] == ["v1", "stable"] and made["aliases"] == ["mine"]
    where = f"/templates/{made['templateID']}"
    assert (await http.get(f"{where}/builds/{made['buildID']}/status")).json()["status"] == "waiting"
    assert (await http.get(f"{where}/files/{HASH}")).json()["present"] is False
    async with httpx.AsyncClient(transport=httpx.ASGITransport(house.app)) as bare:  # the address alone, without a key
        assert (await bare.put(await address(http), content=FILES)).status_code == 201
    assert (await http.get(f"{where}/files/{HASH}")).json()["present"] is True
    steps = [{"type": "COPY", "args": ["note", "/note"], "filesHash": HASH}]
    answer = await http.post(f"/v2/{where}/builds/{made['buildID']}".replace("//", "/"), json={"steps": steps})
    assert answer.status_code == 202, answer.text
    assert (await http.get(f"{where}/builds/{made['buildID']}/status")).json()["status"] == "building"
    async with house.store.reading() as reader:
        [build] = await reader.find(Build, Query())
    assert (build.tag, build.more_tags, build.size.memory_mb) == ("v1", ("stable",), 512)
    assert build.state is BuildState.QUEUED
    assert (await http.post(f"/v2{where}/builds/{made['buildID']}", json={"steps": []})).status_code == 409


async def test_files_are_known_by_what_they_are_not_by_what_they_are_called(http: httpx.AsyncClient, house: House) -> None:
    """Whoever says another's hash of other files gets nothing of theirs, and puts nothing in their place."""
    await http.put(await address(http), content=FILES)
    assert {upload.digest for upload in await uploads(house)} == {hashlib.sha256(FILES).hexdigest()}
    other = archive(note="something else")
    await http.put(await address(http), content=other)
    named = [upload for upload in await uploads(house) if upload.id.endswith(HASH)]
    assert [upload.digest for upload in named] == [hashlib.sha256(other).hexdigest()]


def with_another_signature(url: str) -> str:
    return url[:-10] + ("A" if url[-10] != "A" else "B") + url[-9:]


def for_other_files(url: str) -> str:
    return url.replace(HASH[:8], "0" * 8)


@pytest.mark.parametrize("change", [with_another_signature, for_other_files])
async def test_an_address_that_was_changed_takes_nothing(http: httpx.AsyncClient, house: House, change: Any) -> None:
    url = await address(http)
    assert (await http.put(change(url), content=FILES)).status_code == 401
    assert await uploads(house) == []


async def test_an_address_ends(http: httpx.AsyncClient, house: House) -> None:
    url = await address(http)
    house.clock.advance(UPLOAD_LASTS_S + 2)
    assert (await http.put(url, content=FILES)).status_code == 401


async def test_an_address_ends_with_its_key(http: httpx.AsyncClient, house: House) -> None:
    made = (await http.post("/v1/keys", json={"name": "for a while"})).json()
    answer = await http.get(f"/templates/mine/files/{HASH}", headers={"Authorization": f"Bearer {made['secret']}"})
    assert (await http.delete(f"/v1/keys/{made['id']}")).status_code < 300
    assert (await http.put(answer.json()["url"], content=FILES)).status_code == 401
    assert await uploads(house) == []


async def test_a_session_cookie_is_no_address(http: httpx.AsyncClient, house: House) -> None:
    [key] = (await http.get("/v1/keys")).json()["keys"]
    sealed = house.services.sessions.seal(key["id"])
    assert (await http.put(f"/e2b/uploads/{sealed}", content=FILES)).status_code == 401
    url = await address(http)
    assert house.services.sessions.open(url.rpartition("/")[2]) is None
