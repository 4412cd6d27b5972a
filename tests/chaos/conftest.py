"""A server that can be told to die, with two sandboxes that are to notice nothing of it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.chaos.subjects import Bystanders
from tests.real.server import Server, serving


@pytest.fixture(scope="session", autouse=True)
def root() -> None:
    if os.geteuid():
        pytest.fail("tests/chaos need root (namespaces, mounts, gVisor). `make test-unit` is for everyone else.", pytrace=False)


@pytest.fixture(scope="package")
def mortal() -> Iterator[Server]:
    """Without a warm pool, so that a create takes every step; with few spare slots, so that they can be counted."""
    with serving(is_mortal=True, warm_pool=0, spare_slots=2) as server:
        yield server


@pytest.fixture(scope="package")
def bystanders(mortal: Server) -> Iterator[Bystanders]:
    """One runs and one sleeps through everything that happens here."""
    bystanders = Bystanders.of(mortal)
    yield bystanders
    bystanders.wake_the_sleeper()


@pytest.fixture
def server(mortal: Server, bystanders: Bystanders) -> Iterator[Server]:
    """The mortal server, alive. After the test it lives again, and the bystanders are as they were."""
    if not mortal.is_running:
        mortal.start()
    yield mortal
    assert mortal.is_running, mortal.log_tail()
    bystanders.check()
    bystanders.kill_others()
