"""The OpenAPI document is complete: whoever generates a client from it finds everything said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

OPEN = {"getHealth", "signIn", "signOut", "getDriver", "followDriver", "takeOver", "handBack"}
"""What needs no key: who is asking is what they are about, or nobody cares."""
METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture
async def document(http: httpx.AsyncClient) -> dict[str, Any]:
    return (await http.get("/openapi.json")).json()


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method in METHODS & item.keys():
            yield f"{method} {path}", item[method]


async def test_it_is_openapi_3_1_and_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")

    def walk(part: Any) -> Iterator[str]:
        if isinstance(part, dict):
            if isinstance(part.get("$ref"), str):
                yield part["$ref"]
            for inner in part.values():
                yield from walk(inner)
        elif isinstance(part, list):
            for inner in part:
                yield from walk(inner)

    for reference in walk(document):
        found: Any = document
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        assert found


async def test_every_operation_is_named_described_and_tagged(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, operation in operations(document)]
    assert len(ids) == len(set(ids)) >= 25
    tags = {tag["name"] for tag in document["tags"]}
    for name, operation in operations(document):
        assert operation["summary"], name
        assert operation["operationId"][0].islower() and operation["operationId"].isalnum(), name
        assert set(operation["tags"]) <= tags, name


async def test_every_operation_documents_its_errors_in_our_shape(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        if operation["operationId"] == "getHealth":
            continue
        failures = {status: answer for status, answer in operation["responses"].items() if not status.startswith("2")}
        assert {"400", "401", "500", "503", "default"} <= failures.keys(), name
        assert "422" not in failures, name
        if "{" in name:
            assert "404" in failures, name
        for answer in failures.values():
            assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorAnswer"}


async def test_every_operation_but_the_open_ones_needs_a_key(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        if operation["operationId"] in OPEN:
            assert "security" not in operation
        else:
            assert {scheme for each in operation["security"] for scheme in each} == {"bearer", "api_key"}, name


async def test_every_schema_but_an_errors_says_what_it_holds(document: dict[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        if schema.get("type") == "object":
            assert schema["properties"], name
        assert name not in ("HTTPValidationError", "ValidationError")
