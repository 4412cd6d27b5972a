"""Anything that the OpenAPI documents allow, and much that they do not, thrown at the whole server but for its engine: through
the real edge, on a real port. Never a 5xx, never silence, and for `/v1` never an answer that its document does not describe.
"""

from __future__ import annotations

import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
import requests
import schemathesis
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from roost.edge.admission.hosts import Hosts
from roost.edge.app import Edge
from roost.edge.ledger import TrafficLedger
from roost.edge.limits import EdgeLimits
from roost.edge.upstreams.api_upstream import ApiUpstream
from roost.testing.routes import FakeRoutes

from ..unit.api.house import House, open_house
from .edge.conftest import serving_api

PATIENCE_S = 20.0
ENDLESS = {"followEvents", "followLive"}  # streams without end; tests/unit/api/test_events.py and test_fleet.py read them
FUZZ = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large),
)


@dataclass(frozen=True, slots=True)
class Door:
    url: str
    key: str
    documents: dict[str, dict[str, Any]]
    session: requests.Session


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[str, House]]:
    limits = EdgeLimits()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "api"
        async with open_house() as house, serving_api(house.app, path), anyio.create_task_group() as tasks:
            hosts = Hosts("roost.localhost", ["x"])
            edge = Edge(FakeRoutes(), TrafficLedger(house.clock), house.clock, hosts, ApiUpstream(path, limits), limits)
            await tasks.start(edge.run)
            listener = socket.create_server(("127.0.0.1", 0))
            tasks.start_soon(edge.serve, listener)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", house
            tasks.cancel_scope.cancel()


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving()) as (url, house),
        requests.Session() as session,
    ):
        session.trust_env = False
        documents = {path: session.get(url + path).json() for path in ("/openapi.json", "/e2b/openapi.json")}
        yield Door(url, house.key, documents, session)


def throw(door: Door, document: str, answered: Any) -> int:
    """Every operation of a document. Returns how many of them succeeded at least once: were it few, little beyond the doors
    would have been tried."""
    schema = schemathesis.openapi.from_dict(door.documents[document])
    succeeded = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), f"{document} describes an operation that cannot be read: {found}"
        operation = found.ok()
        if operation.definition.raw.get("operationId") not in ENDLESS:
            statuses = attack(door, operation, answered)
            succeeded += any(status < 300 for status in statuses)
    return succeeded


def attack(door: Door, operation: Any, answered: Any) -> set[int]:
    """One operation, with what it allows and with what it does not, on things that exist and on others. What it answered."""
    statuses: set[int] = set()
    allowed, refused = (operation.as_strategy(generation_mode=mode) for mode in GenerationMode)

    @FUZZ
    @given(st.one_of(allowed, refused), st.booleans())
    def throw_one(case: Case, exists: bool) -> None:
        if exists and case.path_parameters:
            case.path_parameters = {name: sandbox_of(door) for name in case.path_parameters}
        headers = {"X-API-Key": door.key}
        response = case.call(base_url=door.url, session=door.session, headers=headers, timeout=PATIENCE_S)
        statuses.add(response.status_code)
        answered(case, response)

    throw_one()
    return statuses


def sandbox_of(door: Door) -> str:
    """One that lives, whatever was done to those before."""
    headers = {"X-API-Key": door.key}
    found = door.session.get(f"{door.url}/v1/sandboxes", headers=headers, timeout=PATIENCE_S).json()["sandboxes"]
    living = [record["id"] for record in found if record["state"] == "running"]
    if living:
        return living[0]
    made = door.session.post(f"{door.url}/v1/sandboxes", json={}, headers=headers, timeout=PATIENCE_S)
    return made.json()["id"]


def test_v1_never_breaks_and_answers_as_it_says(door: Door) -> None:
    checks: list[Any] = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_headers_conformance,
        response_schema_conformance,
    ]

    def answered(case: Case, response: Any) -> None:
        case.validate_response(response, checks=checks)

    assert throw(door, "/openapi.json", answered) >= 18


def test_e2bs_api_never_breaks_and_its_errors_are_e2bs(door: Door) -> None:
    def answered(case: Case, response: Any) -> None:
        said = f"{case.method} {case.formatted_path} → {response.status_code} {response.text[:300]}"
        assert response.status_code < 500 or response.status_code == 501, said
        if response.status_code >= 400 and case.method != "HEAD":
            assert response.json()["code"] == response.status_code, said
            assert response.json()["message"], said

    assert throw(door, "/e2b/openapi.json", answered) >= 16
