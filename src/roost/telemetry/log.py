"""Where log lines go and how they look: coloured columns for a person, JSON lines for a program. Always to stderr."""

from __future__ import annotations

import logging
import sys
from enum import StrEnum
from typing import TextIO

import structlog
from structlog.typing import FilteringBoundLogger, Processor

CHATTY = ("alembic", "uvicorn.error")
"""Libraries that tell at every start what tells a person nothing: their warnings are heard, the rest when debugging."""


class Format(StrEnum):
    CONSOLE = "console"
    JSON = "json"


class Level(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def configure(format: Format, level: Level = Level.INFO, *, stream: TextIO | None = None) -> None:
    """Sends every line of this process to `stream` (stderr unless given), those of libraries included. May be called again."""
    target = sys.stderr if stream is None else stream
    threshold = logging.getLevelNamesMapping()[level.upper()]
    render = _renderers(format, target)
    structlog.configure(
        processors=[*_facts(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,  # a module's logger follows a later `configure`
    )
    output = logging.StreamHandler(target)
    output.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_facts(), structlog.stdlib.ExtraAdder()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    root = logging.getLogger()
    root.handlers = [output]
    root.setLevel(threshold)
    for library in CHATTY:
        logging.getLogger(library).setLevel(threshold if threshold <= logging.DEBUG else max(threshold, logging.WARNING))


def get_logger(name: str) -> FilteringBoundLogger:
    """The logger of a module: `log = get_logger(__name__)`. Facts are keywords: `log.info("slot made", slot=3)`."""
    return structlog.get_logger(name)


def _facts() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,  # the span, and what it is about
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _renderers(format: Format, target: TextIO) -> list[Processor]:
    match format:
        case Format.JSON:
            return [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer(default=str)]
        case Format.CONSOLE:
            return [structlog.dev.ConsoleRenderer(colors=target.isatty(), exception_formatter=structlog.dev.plain_traceback)]
