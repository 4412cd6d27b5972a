"""A hundred sleeps under fifty connections a second inside: none waits longer than the sleep and a second more. `make soak`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.server import Server, sandbox_of, serving
from tests.real.test_connections import RATE, connecting, overlong, sleep_once, told

SLEEPS = 100


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def test_a_hundred_sleeps_keep_no_connection_inside_waiting(server: Server) -> None:
    with sandbox_of(server) as sandbox, connecting(sandbox) as process:
        for _ in range(SLEEPS):
            sleep_once(server, sandbox)
        report = told(process)
    assert report["count"] > SLEEPS * RATE // 2, "it went on connecting"
    assert overlong(report) == []
