from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog

from roost.telemetry.log import CHATTY


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers = root.handlers
    levels = {name: logging.getLogger(name).level for name in ("", *CHATTY)}
    yield
    root.handlers = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    structlog.reset_defaults()
