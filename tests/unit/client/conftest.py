from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog

from ..cli.server import Server, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    structlog.configure(logger_factory=structlog.stdlib.LoggerFactory())
    with running_server(tmp_path_factory.mktemp("client")) as server:
        yield server
    structlog.reset_defaults()
