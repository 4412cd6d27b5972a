"""Steps that depend on one another, run side by side, with a line of progress each."""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

from roost.domain.errors import Fault
from roost.setup.artefacts import Say
from roost.setup.commands import Commands

GRACE_S = 10.0  # for programs to end after they were told to


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One piece of work. `run` gets the results of the steps it needs and a way to say how it is going."""

    name: str
    title: str
    run: Callable[[Mapping[str, Any], Say], Any]
    needs: tuple[str, ...] = ()


class Board(Protocol):
    """Where progress is shown. Called from one thread for starts and ends, from any for what is said between."""

    def started(self, step: SetupStep) -> None: ...

    def said(self, step: SetupStep, text: str) -> None: ...

    def ended(self, step: SetupStep, seconds: float, error: BaseException | None) -> None: ...


@dataclass(frozen=True, slots=True)
class _End:
    step: SetupStep
    seconds: float
    result: Any = None
    error: BaseException | None = None


def check_order(steps: Sequence[SetupStep]) -> None:
    """Every need is a step, no two steps share a name, and nothing waits for itself. Raises Fault."""
    by_name = {step.name: step for step in steps}
    if len(by_name) != len(steps):
        raise Fault("plan_invalid", "Two set-up steps have the same name.", steps=[step.name for step in steps])
    ready: set[str] = set()
    waiting = list(steps)
    while waiting:
        going = [step for step in waiting if ready.issuperset(step.needs)]
        if not going:
            names = ", ".join(step.name for step in waiting)
            raise Fault("plan_invalid", f"These set-up steps can never start, because of what they need: {names}.", steps=names)
        ready.update(step.name for step in going)
        waiting = [step for step in waiting if step.name not in ready]


def run_plan(steps: Sequence[SetupStep], board: Board, commands: Commands) -> dict[str, Any]:
    """Run every step as soon as what it needs is done, and return the results by name.

    The first failure stops the programs of the others and is raised once they have ended; so does an interrupt.
    """
    check_order(steps)
    ends: queue.SimpleQueue[_End] = queue.SimpleQueue()
    waiting = {step.name: step for step in steps}
    threads: dict[str, threading.Thread] = {}
    results: dict[str, Any] = {}

    def begin_ready() -> None:
        for step in [each for each in waiting.values() if results.keys() >= set(each.needs)]:
            del waiting[step.name]
            board.started(step)
            # Daemons: one that waits for another process's lock must not keep us from leaving.
            thread = threading.Thread(target=_carry_out, args=(step, dict(results), board, ends), name=step.name, daemon=True)
            threads[step.name] = thread
            thread.start()

    with _terminated_like_interrupted():
        try:
            begin_ready()
            while threads:
                end = ends.get()
                threads.pop(end.step.name).join()
                board.ended(end.step, end.seconds, end.error)
                if end.error is not None:
                    raise end.error
                results[end.step.name] = end.result
                begin_ready()
        except BaseException:
            _abandon(threads, ends, board, commands)
            raise
    return results


def _carry_out(step: SetupStep, results: Mapping[str, Any], board: Board, ends: queue.SimpleQueue[_End]) -> None:
    began = time.monotonic()
    try:
        result = step.run(results, lambda text: board.said(step, text))
    except BaseException as error:
        ends.put(_End(step, time.monotonic() - began, error=error))
    else:
        ends.put(_End(step, time.monotonic() - began, result=result))


def _abandon(threads: dict[str, threading.Thread], ends: queue.SimpleQueue[_End], board: Board, commands: Commands) -> None:
    commands.stop()
    deadline = time.monotonic() + GRACE_S
    while threads:
        try:
            end = ends.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return
        threads.pop(end.step.name, None)
        board.ended(end.step, end.seconds, end.error)


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM and SIGHUP end set-up as Ctrl-C does: programs are stopped, nothing half-made is taken for whole."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)
