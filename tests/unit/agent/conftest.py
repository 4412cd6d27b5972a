from __future__ import annotations

import getpass
from collections.abc import Iterator

import pytest

from .guest import Guest


@pytest.fixture(scope="session")
def shared_agent() -> Iterator[Guest]:
    guest = Guest("--trust-local")
    yield guest
    guest.close()


@pytest.fixture
def guest(shared_agent: Guest) -> Guest:
    """An agent that acts for whoever runs the tests. Tests that change its settings start their own."""
    shared_agent.init(defaultUser=getpass.getuser(), accessToken="", envVars={})
    return shared_agent


@pytest.fixture
def fresh_agent() -> Iterator[Guest]:
    guest = Guest("--trust-local")
    guest.init(defaultUser=getpass.getuser())
    yield guest
    guest.close()
