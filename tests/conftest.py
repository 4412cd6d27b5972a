from __future__ import annotations

import pytest
import structlog
from hypothesis import HealthCheck, settings


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pytest_configure() -> None:
    # The same examples every time, and none of them fails for being slow: a machine that does something else for a moment is
    # not what these tests are about.
    settings.register_profile(
        "steady", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("steady")
    # What structlog does unless told otherwise takes seconds to draw a traceback.
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[structlog.processors.add_log_level, plain])
