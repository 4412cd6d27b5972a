from __future__ import annotations

import pytest
import structlog


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pytest_configure() -> None:
    # What structlog does unless told otherwise takes seconds to draw a traceback.
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[structlog.processors.add_log_level, plain])
