from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from roost.domain.errors import Fault
from roost.setup.artefacts import Say
from roost.setup.boards import PlainBoard
from roost.setup.commands import Commands, Stopped
from roost.setup.plan import SetupStep, check_order, run_plan

PATIENCE_S = 20.0  # only ever used up by a failing test


class Recording:
    """A board that keeps what it was shown."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.errors: dict[str, BaseException | None] = {}

    def started(self, step: SetupStep) -> None:
        self.events.append(("started", step.name))

    def said(self, step: SetupStep, text: str) -> None:
        self.events.append((text, step.name))

    def ended(self, step: SetupStep, seconds: float, error: BaseException | None) -> None:
        self.events.append(("ended", step.name))
        self.errors[step.name] = error


def returning(value: Any) -> Any:
    return lambda _, __: value


def test_a_step_gets_the_results_of_what_it_needs() -> None:
    def add(results: Mapping[str, Any], _: Say) -> int:
        return results["one"] + results["two"]

    steps = [
        SetupStep("sum", "sum", add, needs=("one", "two")),
        SetupStep("one", "one", returning(1)),
        SetupStep("two", "two", returning(2), needs=("one",)),
    ]
    board = Recording()
    assert run_plan(steps, board, Commands()) == {"one": 1, "two": 2, "sum": 3}
    assert board.events == [(what, name) for name in ("one", "two", "sum") for what in ("started", "ended")]


def test_independent_steps_run_side_by_side() -> None:
    meeting = threading.Barrier(3, timeout=PATIENCE_S)
    steps = [SetupStep(name, name, lambda _, __: meeting.wait()) for name in "abc"]
    assert run_plan(steps, Recording(), Commands()).keys() == {"a", "b", "c"}


def test_a_failure_stops_the_programs_of_the_others_and_is_raised() -> None:
    commands, up = Commands(), threading.Event()

    def endless(_: Mapping[str, Any], say: Say) -> str:
        return commands.run(["sh", "-c", "echo up; exec sleep 1000"], on_line=lambda _: up.set())

    def failing(_: Mapping[str, Any], say: Say) -> None:
        assert up.wait(PATIENCE_S)
        raise Fault("broken", "It broke.")

    steps = [
        SetupStep("endless", "endless", endless),
        SetupStep("failing", "failing", failing),
        SetupStep("never", "never", returning(None), needs=("failing",)),
    ]
    board = Recording()
    with pytest.raises(Fault, match="It broke"):
        run_plan(steps, board, commands)
    assert isinstance(board.errors["endless"], Stopped)
    assert ("started", "never") not in board.events
    with pytest.raises(Stopped):
        commands.run(["true"])


def test_an_interrupt_stops_everything() -> None:
    commands, up = Commands(), threading.Event()

    class Interrupting(Recording):
        def ended(self, step: SetupStep, seconds: float, error: BaseException | None) -> None:
            super().ended(step, seconds, error)
            if step.name == "quick":
                raise KeyboardInterrupt

    def endless(_: Mapping[str, Any], say: Say) -> str:
        return commands.run(["sh", "-c", "echo up; sleep 1000; true"], on_line=lambda _: up.set())

    steps = [SetupStep("endless", "endless", endless), SetupStep("quick", "quick", lambda _, __: up.wait(PATIENCE_S))]
    board = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        run_plan(steps, board, commands)
    assert isinstance(board.errors["endless"], Stopped)


@pytest.mark.parametrize(
    "steps",
    [
        [SetupStep("a", "a", returning(1), needs=("b",)), SetupStep("b", "b", returning(1), needs=("a",))],
        [SetupStep("a", "a", returning(1), needs=("missing",))],
        [SetupStep("a", "a", returning(1)), SetupStep("a", "a", returning(2))],
    ],
    ids=["circle", "unknown need", "same name"],
)
def test_a_plan_that_cannot_end_is_refused_before_it_starts(steps: list[SetupStep]) -> None:
    with pytest.raises(Fault) as refused:
        check_order(steps)
    assert refused.value.code == "plan_invalid"


def test_plain_lines_are_few() -> None:
    lines: list[str] = []
    now = [0.0]
    board = PlainBoard(lines.append, clock=lambda: now[0])
    step = SetupStep("engine", "engine", returning(None))
    board.started(step)
    for second in range(7):
        now[0] = float(second)
        board.said(step, f"second {second}")
    board.ended(step, 7, None)
    board.ended(SetupStep("there", "already there", returning(None)), 0.01, None)
    assert lines == ["engine: second 0", "engine: second 3", "engine: second 6", "engine: done in 7.0 s"]


def test_plain_lines_tell_how_it_failed() -> None:
    lines: list[str] = []
    board = PlainBoard(lines.append)
    step = SetupStep("engine", "engine", returning(None))
    board.ended(step, 0.1, Fault("x", "y"))
    board.ended(step, 0.1, Stopped("go"))
    assert lines == ["engine: failed", "engine: stopped"]
