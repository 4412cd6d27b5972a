"""Writes what becomes of a build into its record. The runner and whoever cancels both do: each changes the newest version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from roost.contracts.clock import Clock
from roost.contracts.store import Store
from roost.domain.build_failures import BuildNotFound
from roost.domain.builds import Build, BuildFailure, BuildState, StepState
from roost.domain.errors import RoostError
from roost.domain.ids import BuildId, TemplateId


class BuildRecords:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def change(self, build: BuildId, change: Callable[[Build], Build], *, durable: bool = True) -> Build:
        """Raises BuildNotFound."""
        async with self._store.transaction(durable=durable) as transaction:
            record = await transaction.get(Build, build)
            if record is None:
                raise BuildNotFound(build)
            changed = change(record)
            return record if changed == record else await transaction.put(changed, expect_revision=record.revision)

    async def begin(self, build: BuildId) -> Build:
        now = self._clock.now()

        def begun(record: Build) -> Build:
            steps = tuple(replace(step, state=StepState.WAITING, started_at=None, ended_at=None) for step in record.steps)
            return replace(
                record, state=BuildState.BUILDING, started_at=record.started_at or now, steps=steps, attempts=record.attempts + 1
            )  # fmt: skip

        return await self.change(build, begun)

    async def mark(self, build: BuildId, steps: Sequence[int], state: StepState) -> None:
        """Not durable: a server that starts again looks at the layers, not at this."""
        now = self._clock.now()

        def marked(record: Build) -> Build:
            changed = list(record.steps)
            for number in steps:
                step = changed[number]
                began = now if state is StepState.RUNNING else step.started_at
                changed[number] = replace(
                    step, state=state, started_at=began, ended_at=None if state is StepState.RUNNING else now
                )
            return replace(record, steps=tuple(changed))

        if steps:
            await self.change(build, marked, durable=False)

    async def finish(self, build: BuildId, template: TemplateId) -> Build:
        def finished(record: Build) -> Build:
            steps = tuple(
                replace(step, state=StepState.CACHED) if step.state is StepState.WAITING else step for step in record.steps
            )
            return replace(record, state=BuildState.READY, ended_at=self._clock.now(), template=template, steps=steps)

        return await self.change(build, finished)

    async def fail(self, build: BuildId, error: RoostError, step: int | None) -> Build:
        def failed(record: Build) -> Build:
            steps, failure = list(record.steps), BuildFailure(error.code, error.message)
            if step is not None:
                wrong = steps[step]
                steps[step] = replace(wrong, state=StepState.FAILED, ended_at=self._clock.now())
                failure = BuildFailure(error.code, error.message, step, wrong.line, wrong.text)
            return replace(record, state=BuildState.FAILED, ended_at=self._clock.now(), failure=failure, steps=tuple(steps))

        return await self.change(build, failed)

    async def cancel(self, build: BuildId) -> Build:
        return await self.change(
            build, lambda record: replace(record, state=BuildState.CANCELLED, ended_at=self._clock.now(), is_cancelled=True)
        )

    async def requeue(self, build: BuildId) -> Build:
        return await self.change(build, lambda record: replace(record, state=BuildState.QUEUED))
