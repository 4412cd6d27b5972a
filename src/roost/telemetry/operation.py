"""`operation("pause", sandbox=…)` wraps whatever a human may ask about: one span, one closing log line, one measurement.

    async with operation("pause", sandbox=sandbox.id) as span:
        ...
        span.note(memory_bytes=captured.memory_bytes)

Lines logged inside carry the span's id and facts; an operation inside another knows its parent. Works with `with` and
`async with`; blocks nothing; lets every exception through.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, assert_never

import structlog.contextvars

from roost.domain.errors import Refused, TimedOut, Unavailable
from roost.telemetry.log import get_logger
from roost.telemetry.metrics import OPERATION_SECONDS, OPERATIONS_RUNNING, MetricOutcome, Work

_CURRENT: ContextVar[operation | None] = ContextVar("roost_operation", default=None)


class operation:
    """One piece of work. Enter it once."""

    __slots__ = ("_begun", "_bound", "_facts", "_outer", "id", "outcome", "parent", "work")

    def __init__(self, work: Work | str, **facts: Any) -> None:
        self.work = Work(work)
        self.id = secrets.token_hex(8)
        self.parent: str | None = None
        self.outcome: MetricOutcome | None = None  # set when it ended
        self._facts = facts
        self._begun = 0.0
        self._outer: Token[operation | None] | None = None
        self._bound: Mapping[str, Token[Any]] = {}

    def note(self, **facts: Any) -> None:
        """Adds to the closing line."""
        self._facts.update(facts)

    def __enter__(self) -> operation:
        if self._outer is not None:
            raise RuntimeError(f"The operation {self.work} was entered twice. Make a new one for each piece of work.")
        outer = _CURRENT.get()
        self.parent = None if outer is None else outer.id
        self._outer = _CURRENT.set(self)
        self._bound = structlog.contextvars.bind_contextvars(span=self.id, **self._facts)
        OPERATIONS_RUNNING.labels(self.work.value).inc()
        self._begun = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        duration_s = time.perf_counter() - self._begun
        self.outcome = outcome_of(error)
        OPERATIONS_RUNNING.labels(self.work.value).dec()
        OPERATION_SECONDS.labels(self.work.value, self.outcome.value).observe(duration_s)
        try:
            self._close_line(duration_s, error)
        finally:
            structlog.contextvars.reset_contextvars(**self._bound)
            if self._outer is not None:
                _CURRENT.reset(self._outer)

    async def __aenter__(self) -> operation:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)

    def _close_line(self, duration_s: float, error: BaseException | None) -> None:
        log = get_logger("roost.operation")
        outcome = outcome_of(error)
        facts: dict[str, Any] = {**self._facts, "outcome": outcome.value, "duration_ms": round(duration_s * 1000, 3)}
        if self.parent is not None:
            facts["parent_span"] = self.parent
        if error is not None and outcome is not MetricOutcome.CANCELLED:
            facts["error"] = str(error) or type(error).__name__
        match outcome:
            case MetricOutcome.OK | MetricOutcome.REFUSED | MetricOutcome.CANCELLED:
                log.info(self.work.value, **facts)
            case MetricOutcome.UNAVAILABLE | MetricOutcome.TIMED_OUT:
                log.warning(self.work.value, **facts)
            case MetricOutcome.FAILED:
                log.error(self.work.value, exc_info=error, **facts)
            case _:
                assert_never(outcome)


def current_operation() -> operation | None:
    """The innermost operation this code runs in."""
    return _CURRENT.get()


def outcome_of(error: BaseException | None) -> MetricOutcome:
    match error:
        case None:
            return MetricOutcome.OK
        case asyncio.CancelledError() | KeyboardInterrupt() | GeneratorExit():
            return MetricOutcome.CANCELLED
        case Refused():
            return MetricOutcome.REFUSED
        case Unavailable():
            return MetricOutcome.UNAVAILABLE
        case TimedOut() | TimeoutError():
            return MetricOutcome.TIMED_OUT
        case _:
            return MetricOutcome.FAILED
