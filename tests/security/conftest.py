from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.real.server import Server, serving


@pytest.fixture(scope="session", autouse=True)
def root() -> None:
    if os.geteuid():
        pytest.fail("tests/security need root (namespaces, mounts, gVisor). Without it, run `make test-unit`.", pytrace=False)


@pytest.fixture(scope="package")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server
