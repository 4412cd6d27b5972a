from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog

from .server import Server, running_server


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("cli")) as server:
        yield server


@pytest.fixture
def server(shared_server: Server) -> Iterator[Server]:
    """A server without sandboxes. It shares this process: its log must not mingle with what verbs print."""
    structlog.configure(logger_factory=structlog.stdlib.LoggerFactory())
    yield shared_server
    shared_server.router.cut_after_bytes.clear()
    assert shared_server.verb("kill", "--all", "--yes").returncode == 0
    structlog.reset_defaults()


@pytest.fixture
def sandbox(server: Server) -> str:
    made = server.verb("create", "--name", "ada")
    assert made.returncode == 0, made.stderr
    return "ada"
