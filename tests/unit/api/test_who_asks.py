"""Every operation of both APIs, asked by a key of every scope, about things of another team: they look like none, nothing of them
is told, and nothing changes. The operations come from the OpenAPI documents: one that is added is tried too."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest

from roost.api.e2b.app import create_e2b
from roost.contracts.store import Query
from roost.domain.access import FULL, Principal
from roost.domain.builds import Build, BuildPlan, Upload
from roost.domain.ids import TeamId, TemplateId
from roost.domain.link import Link
from roost.domain.question import Question
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Snapshot
from roost.domain.team import ApiKey
from roost.domain.template import Template
from roost.testing.conformance.builds import archive

from .house import House

pytestmark = pytest.mark.anyio

SCOPES = ("operator", "full", "read-only", "one sandbox")
KINDS: tuple[Any, ...] = (Sandbox, Snapshot, Question, Link, ApiKey, Build, BuildPlan, Template, Upload)
ENDLESS = frozenset({"followLive", "followEvents", "followDriver"})  # streams: `test_streams_tell_nothing_of_others`
BODIES: dict[str, dict[str, Any]] = {
    "answerQuestion": {"text": "yes"},
    "askQuestion": {"text": "which one?"},
    "createApiKey": {"name": "x"},
    "createBuild": {"name": "x", "definition": {"stages": []}},
    "tagTemplate": {"tag": "other"},
    "requestTemplateBuild": {"name": "x"},
    "assignTemplateTags": {"target": "nobody:v1", "tags": ["other"]},
    "removeTemplateTags": {"name": "nobody", "tags": ["other"]},
    "createKey": {"name": "x"},
    "createSandboxV2": {"templateID": "base"},
    "extendSandbox": {"timeout_s": 60},
    "holdSandbox": {"seconds": 60},
    "makeLink": {},
    "setSandboxTimeout": {"timeout": 60},
    "updateSandbox": {"metadata": {"a": "b"}},
}
SECRET = "value of a header"


@dataclass(frozen=True, slots=True)
class Things:
    """Of one team, by what a path calls them."""

    sandbox: str
    name: str
    snapshot: str
    question: str
    link: str
    key: str
    build: str
    template: str
    upload: str
    secrets: tuple[str, ...] = field(repr=False)

    @property
    def words(self) -> tuple[str, ...]:
        return (
            self.sandbox,
            self.name,
            self.snapshot,
            self.question,
            self.link,
            self.key,
            self.build,
            self.template,
            self.upload,
            *self.secrets,
        )


NOTHING = Things(
    "i" + "9" * 20, "nobody", "s" + "9" * 20, "q" + "9" * 20, "l" + "9" * 20, "k" + "9" * 20, "b" + "9" * 20, "t" + "9" * 20,
    "9" * 64, (),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operation:
    id: str
    method: str
    path: str

    @property
    def noun(self) -> str:
        """What kind of thing its `{ref}` or `{id}` is."""
        for word in ("sandboxes", "snapshots", "questions", "keys", "templates", "builds", "uploads"):
            if re.search(rf"/(api-)?{word}/\{{", self.path):
                return word
        return ""

    def asks_about(self, things: Things, *, by_name: bool = False, own: Things | None = None) -> str:
        """Its path with ids in it. With `own`, the sandbox is one's own and only what lies below it is theirs."""
        sandbox = (own or things).sandbox if not by_name else things.name
        ref = {"snapshots": things.snapshot, "questions": things.question, "keys": things.key}
        ref |= {"templates": things.template, "builds": things.build, "uploads": things.upload}
        path = self.path.replace("{ref}", ref.get(self.noun, sandbox))
        below = things.link if self.noun == "sandboxes" else ref.get(self.noun, things.key)
        return re.sub(r"\{\w+\}", below, path)


@dataclass(frozen=True, slots=True)
class World:
    house: House
    http: httpx.AsyncClient
    mine: Things
    others: Things  # of another sandbox of the same team
    theirs: Things
    keys: dict[str, dict[str, str]]

    async def ask(self, scope: str, operation: Operation, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        given = body if body is not None else {"templateID": "base"} if path == "/sandboxes" else BODIES.get(operation.id, {})
        has_body = operation.method not in ("GET", "DELETE") or operation.id in BODIES
        json = given if has_body else None
        return await self.http.request(operation.method, path, headers=self.keys[scope], json=json)

    async def records(self, team: TeamId | None = None) -> dict[str, Any]:
        found: dict[str, Any] = {}
        async with self.house.store.reading() as reader:
            for kind in KINDS:
                for record in await reader.find(kind, Query()):
                    if team is None or record.team == team:
                        found[record.id] = record
        return found


def operations(house: House) -> Iterator[Operation]:
    for app in (house.app, create_e2b(house.services)):
        for path, methods in app.openapi()["paths"].items():
            for method, operation in methods.items():
                if operation["operationId"] not in ENDLESS:
                    yield Operation(operation["operationId"], method.upper(), path)


async def furnish(house: House, http: httpx.AsyncClient, headers: dict[str, str], name: str) -> Things:
    async def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await http.post(path, json=body, headers=headers)
        assert answer.status_code == 201, answer.text
        return answer.json()

    rules = {"api.example.com": {"Authorization": f"{SECRET} of {name}"}}
    sandbox = await post("/v1/sandboxes", {"name": name, "network": {"rules": rules, "public": False}, "metadata": {"of": name}})
    snapshot = await post(f"/v1/sandboxes/{name}/snapshots", {"name": f"kept-{name}"})
    question = await post(f"/v1/sandboxes/{name}/questions", {"text": f"question of {name}"})
    link = await post(f"/v1/sandboxes/{name}/links", {"label": f"link of {name}"})
    key = await post("/v1/keys", {"name": f"key of {name}"})
    stage = {"name": "", "base": {"kind": "template", "name": "base"}, "steps": [], "place": {"line": 1, "text": ""}}
    build = await post("/v1/builds", {"name": f"built-{name}", "definition": {"stages": [stage]}})
    upload = archive(**{name: name})
    digest = hashlib.sha256(upload).hexdigest()
    assert (await http.put(f"/v1/uploads/{digest}", content=upload, headers=headers)).status_code == 201
    template = await keep_template(house, TeamId("strangers" if name == "theirs" else "default"), f"built-{name}")
    secrets = (sandbox["access_token"], sandbox["traffic_token"], f"{SECRET} of {name}", link["token"], key["secret"])
    return Things(
        sandbox["id"], name, snapshot["id"], question["id"], link["id"], key["id"], build["id"], template, digest, secrets
    )


async def keep_template(house: House, team: TeamId, name: str) -> str:
    async with house.store.transaction() as transaction:
        [base] = await transaction.find(Template, Query(equal={"name": "base"}))
        own = replace(base, id=TemplateId("t" + hashlib.sha256(name.encode()).hexdigest()[:20]), team=team, name=name, revision=0)
        await transaction.put(own, expect_revision=None)
    return own.id


@pytest.fixture
async def world(house: House, http: httpx.AsyncClient) -> AsyncIterator[World]:
    _, secret = await house.services.keys.create(Principal(TeamId("strangers"), FULL, None), "eve")
    theirs = await furnish(house, http, {"Authorization": f"Bearer {secret}"}, "theirs")
    mine, others = await furnish(house, http, house.headers, "mine"), await furnish(house, http, house.headers, "others")
    keys: dict[str, dict[str, str]] = {}
    for scope in SCOPES:
        asked = {"name": scope, "scope": f"sandbox:{mine.sandbox}" if scope == "one sandbox" else scope}
        made = (await http.post("/v1/keys", json=asked, headers=house.headers)).json()
        keys[scope] = {"Authorization": f"Bearer {made['secret']}"}
    yield World(house, http, mine, others, theirs, keys)


def alike(answer: httpx.Response, things: Things) -> tuple[int, str]:
    text = answer.text
    for word in things.words:
        text = text.replace(word, "THING")
    return answer.status_code, text


@pytest.mark.parametrize("scope", SCOPES)
async def test_another_teams_things_look_like_none(world: World, scope: str) -> None:
    before = await world.records(TeamId("strangers"))
    tried = 0
    for operation in operations(world.house):
        if "{" not in operation.path:
            continue
        ways: tuple[dict[str, Any], ...] = ({}, {"by_name": True}, {"own": world.mine})
        for options in ways:
            paths = [operation.asks_about(things, **options) for things in (world.theirs, NOTHING)]
            if paths[0] == paths[1]:
                continue
            theirs, nobodys = [await world.ask(scope, operation, path) for path in paths]
            assert theirs.status_code >= 400, (operation, paths[0])
            assert alike(theirs, world.theirs) == alike(nobodys, NOTHING), (operation, paths[0])
            tried += 1
    assert tried > 60
    assert await world.records(TeamId("strangers")) == before


@pytest.mark.parametrize("scope", SCOPES)
async def test_what_a_body_or_query_names_of_another_team_looks_like_none(world: World, scope: str) -> None:
    before = await world.records(TeamId("strangers"))
    for method, path, name in (
        ("POST", "/v1/sandboxes", "template"),
        ("POST", "/v2/sandboxes", "templateID"),
        ("POST", f"/v1/sandboxes/{world.mine.sandbox}/rollback", "snapshot"),
        ("POST", "/v1/keys", "scope"),
    ):
        answers = []
        for things in (world.theirs, NOTHING):
            value = f"sandbox:{things.sandbox}" if name == "scope" else things.snapshot
            body = {name: value} | ({"name": "x"} if name == "scope" else {})
            answers.append((await world.http.request(method, path, headers=world.keys[scope], json=body), things))
        (theirs, _), (nobodys, _) = answers
        assert theirs.status_code >= 400, path
        assert alike(theirs, world.theirs) == alike(nobodys, NOTHING), path
    for path in ("/v1/events", "/v1/snapshots", "/v1/questions", "/snapshots", "/sandboxes/metrics"):
        name = {"/snapshots": "sandboxID", "/sandboxes/metrics": "sandbox_ids"}.get(path, "sandbox")
        theirs, nobodys = [
            await world.http.get(path, headers=world.keys[scope], params={name: things.sandbox})
            for things in (world.theirs, NOTHING)
        ]
        assert alike(theirs, world.theirs) == alike(nobodys, NOTHING), path
    assert await world.records(TeamId("strangers")) == before


@pytest.mark.parametrize("scope", SCOPES)
async def test_no_answer_tells_of_another_team(world: World, scope: str) -> None:
    """Whatever one asks about one's own, or in general."""
    for operation in operations(world.house):
        if operation.method != "GET":
            continue
        answer = await world.ask(scope, operation, operation.asks_about(world.mine))
        assert answer.status_code < 500 or answer.status_code == 501, operation
        for word in world.theirs.words:
            assert word not in answer.text, (operation, word)
        for secret in (*world.mine.secrets, *world.others.secrets):
            assert secret not in answer.text, operation


async def test_a_key_for_one_sandbox_knows_nothing_of_the_teams_others(world: World) -> None:
    before = await world.records()
    scope = "one sandbox"
    for operation in operations(world.house):
        if operation.method == "GET":
            told = await world.ask(scope, operation, operation.asks_about(world.mine))
            for word in world.others.words:
                assert word not in told.text, (operation, word)
        if "{" not in operation.path or operation.noun == "keys":
            continue
        for by_name in (False, True):
            others, nobodys = [
                await world.ask(scope, operation, operation.asks_about(things, by_name=by_name))
                for things in (world.others, NOTHING)
            ]
            assert others.status_code >= 400, operation
            assert alike(others, world.others) == alike(nobodys, NOTHING), operation
    after = await world.records()
    for id in (world.others.sandbox, world.others.snapshot, world.others.question, world.others.link):
        assert after[id] == before[id]


async def test_a_key_to_look_changes_nothing(world: World) -> None:
    before = await world.records()
    for operation in operations(world.house):
        if operation.method == "GET" or "session" in operation.path or "/driver" in operation.path:
            continue
        if operation.id == "putTemplateFiles":
            continue  # not by a key: see tests/unit/api/test_e2b_builds.py
        body = {"snapshot": world.mine.snapshot} if operation.id == "rollBackSandbox" else None
        answer = await world.ask("read-only", operation, operation.asks_about(world.mine), body)
        assert answer.status_code in (403, 404, 409, 501), (operation, answer.text)
        assert answer.status_code != 404 or "templates" in operation.path, operation
    assert await world.records() == before


@pytest.mark.parametrize("scope", [scope for scope in SCOPES if scope != "operator"])
async def test_the_machine_is_the_operators(world: World, scope: str) -> None:
    machine = [operation for operation in operations(world.house) if operation.path.startswith("/v1/node")]
    assert len(machine) >= 2
    for operation in machine:
        assert (await world.ask(scope, operation, operation.path)).status_code == 403


async def test_every_operation_that_needs_no_key_is_known(house: House, http: httpx.AsyncClient) -> None:
    """Whatever else is asked without one is refused before anything is looked up."""
    open_ones: set[str] = set()
    for operation in operations(house):
        bare = httpx.AsyncClient(transport=httpx.ASGITransport(house.app), base_url="http://roost")
        async with bare:
            answer = await bare.request(operation.method, operation.asks_about(NOTHING), json=BODIES.get(operation.id, {}))
        if answer.status_code != 401:
            open_ones.add(operation.id)
    assert open_ones == {"getHealth", "signIn", "signOut", "getDriver", "takeOver", "handBack"}
