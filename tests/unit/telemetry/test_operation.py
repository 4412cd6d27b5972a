from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from roost.domain.errors import Fault, MoveTimedOut, SandboxLost, SandboxNotFound
from roost.telemetry.log import Format, configure, get_logger
from roost.telemetry.metrics import REGISTRY, MetricOutcome, Work
from roost.telemetry.operation import current_operation, operation

pytestmark = pytest.mark.anyio


Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines() -> Lines:
    stream = io.StringIO()
    configure(Format.JSON, stream=stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def _measured(work: Work, outcome: MetricOutcome) -> float:
    labels = {"operation": work.value, "outcome": outcome.value}
    return REGISTRY.get_sample_value("roost_operation_seconds_count", labels) or 0.0


async def test_one_closing_line_with_facts_outcome_and_duration(lines: Lines) -> None:
    async with operation("pause", sandbox="i1") as span:
        span.note(memory_bytes=7)
    [line] = lines()
    assert line["event"] == "pause"
    assert line["sandbox"] == "i1"
    assert line["memory_bytes"] == 7
    assert line["outcome"] == "ok"
    assert line["duration_ms"] >= 0
    assert line["span"] == span.id
    assert "parent_span" not in line


@pytest.mark.parametrize(
    ("error", "outcome", "level"),
    [
        (SandboxNotFound("i1"), MetricOutcome.REFUSED, "info"),
        (SandboxLost("i1", "killed"), MetricOutcome.UNAVAILABLE, "warning"),
        (MoveTimedOut("i1", "pause", 3), MetricOutcome.TIMED_OUT, "warning"),
        (Fault("engine_failed", "The engine broke."), MetricOutcome.FAILED, "error"),
        (ValueError("a bug"), MetricOutcome.FAILED, "error"),
    ],
)
async def test_an_error_passes_through_and_is_told_and_measured(
    lines: Lines, error: Exception, outcome: MetricOutcome, level: str
) -> None:
    before = _measured(Work.RESUME, outcome)
    with pytest.raises(type(error)):
        async with operation(Work.RESUME):
            raise error
    [line] = lines()
    assert (line["outcome"], line["level"], line["error"]) == (outcome.value, level, str(error))
    assert ("exception" in line) == (level == "error")
    assert _measured(Work.RESUME, outcome) == before + 1


async def test_a_cancelled_operation_says_so(lines: Lines) -> None:
    with anyio.CancelScope() as scope:
        async with operation("wake"):
            scope.cancel()
            await anyio.lowlevel.checkpoint()
    [line] = lines()
    assert line["outcome"] == "cancelled"
    assert "error" not in line


async def test_lines_inside_carry_the_span_and_lines_after_do_not(lines: Lines) -> None:
    log = get_logger("roost.test")
    async with operation("create", sandbox="i1") as outer:
        log.info("inside")
        with operation("restore", snapshot="s1") as inner:
            assert current_operation() is inner
            log.info("deeper")
        log.info("outside again")
    log.info("after")
    inside, deeper, restored, again, created, after = lines()
    assert inside["span"] == again["span"] == created["span"] == outer.id
    assert deeper["span"] == restored["span"] == inner.id
    assert restored["parent_span"] == outer.id
    assert deeper["sandbox"] == "i1"
    assert "snapshot" not in again
    assert "span" not in after
    assert current_operation() is None


async def test_tasks_of_an_operation_know_their_parent(lines: Lines) -> None:
    async def child(number: int) -> None:
        async with operation("create", child=number):
            await anyio.lowlevel.checkpoint()

    async with operation("fork") as fork, anyio.create_task_group() as tasks:
        tasks.start_soon(child, 1)
        tasks.start_soon(child, 2)
    *children, _ = lines()
    assert sorted(line["child"] for line in children) == [1, 2]
    assert {line["parent_span"] for line in children} == {fork.id}
    assert len({line["span"] for line in children}) == 2


async def test_running_operations_are_counted(lines: Lines) -> None:
    def running() -> float:
        return REGISTRY.get_sample_value("roost_operations_running", {"operation": "kill"}) or 0.0

    before = running()
    with operation("kill"):
        assert running() == before + 1
    assert running() == before


def test_unknown_work_and_entering_twice_are_mistakes(lines: Lines) -> None:
    with pytest.raises(ValueError, match="not a valid Work"):
        operation("frobnicate")
    once = operation("kill")
    with once:
        pass
    with pytest.raises(RuntimeError, match="entered twice"), once:
        pass
