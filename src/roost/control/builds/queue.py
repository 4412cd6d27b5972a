"""Which build runs when: a few at a time, the oldest first. After a crash they are begun again, and go on behind their layers."""

from __future__ import annotations

from collections.abc import Mapping

import anyio
from anyio.abc import TaskGroup, TaskStatus

from roost.contracts.clock import Clock
from roost.contracts.store import Query, Store
from roost.control.builds.logs import BuildLogs
from roost.control.builds.records import BuildRecords
from roost.control.builds.runner import BuildRunner, StepError
from roost.control.lifecycle.guard import guard
from roost.domain.access import FULL, Principal
from roost.domain.build_failures import SecretsGone
from roost.domain.builds import UNFINISHED, Build, BuildPlan, BuildState
from roost.domain.errors import Fault, RoostError
from roost.domain.ids import BuildId
from roost.domain.template import Template
from roost.telemetry.log import get_logger

AT_ONCE = 2
MOST_ATTEMPTS = 3
LOST = frozenset({"process_lost", "sandbox_lost", "guest_unreachable"})
"""Codes of what may go well the next time: the node's process, or a builder, ended in the middle."""

log = get_logger(__name__)


class BuildQueue:
    """`run` must run for any build to begin. Secrets are here only, until their build has ended."""

    def __init__(
        self, *, store: Store, clock: Clock, records: BuildRecords, runner: BuildRunner, logs: BuildLogs, at_once: int = AT_ONCE
    ) -> None:
        self._store = store
        self._clock = clock
        self._records = records
        self._runner = runner
        self._logs = logs
        self._at_once = at_once
        self._running: dict[BuildId, anyio.CancelScope] = {}
        self._secrets: dict[BuildId, Mapping[str, str]] = {}
        self._changed = anyio.Event()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Until cancelled. Builds under way are left as they are, for the next server to go on with."""
        await self._take_up()
        async with anyio.create_task_group() as tasks:
            task_status.started()
            while True:
                changed = self._changed
                await guard(self._begin_next, tasks)
                await changed.wait()

    def wake(self) -> None:
        """There is a new build."""
        self._changed.set()
        self._changed = anyio.Event()

    def entrust(self, build: BuildId, secrets: Mapping[str, str]) -> None:
        if secrets:
            self._secrets[build] = dict(secrets)

    def stop(self, build: BuildId) -> bool:
        """Ends it, if it runs here: whoever marked it as cancelled calls this. Returns at once."""
        scope = self._running.get(build)
        if scope is not None:
            scope.cancel()
        return scope is not None

    async def _take_up(self) -> None:
        """What a server before this one was about waits in the queue again."""
        async with self._store.reading() as reader:
            found = await reader.find(Build, Query(equal={"state": BuildState.BUILDING}))
        for build in found:
            if build.is_cancelled:
                await self._records.cancel(build.id)
            else:
                log.info("taking up a build that an earlier server left", build=build.id, template=build.name)
                await self._records.requeue(build.id)

    async def _begin_next(self, tasks: TaskGroup) -> None:
        async with self._store.reading() as reader:
            waiting = await reader.find(Build, Query(equal={"state": BuildState.QUEUED}, oldest_first=True))
        for build in waiting:
            if len(self._running) >= self._at_once:
                return
            if build.id not in self._running:
                scope = self._running[build.id] = anyio.CancelScope()
                tasks.start_soon(self._carry_out, build.id, scope)

    async def _carry_out(self, id: BuildId, scope: anyio.CancelScope) -> None:
        """The outermost frame of a build."""
        try:
            with scope:
                await guard(self._build, id)
            if scope.cancelled_caught:
                with anyio.CancelScope(shield=True):
                    self._logs.say(id, "Cancelled.")
                    await guard(self._records.cancel, id)
        finally:
            with anyio.CancelScope(shield=True):
                await guard(self._logs.close, id)
                await guard(self._forget_secrets, id)
            self._running.pop(id, None)
            self.wake()

    async def _forget_secrets(self, id: BuildId) -> None:
        """Unless it begins again."""
        async with self._store.reading() as reader:
            build = await reader.get(Build, id)
        if build is None or build.state not in UNFINISHED:
            self._secrets.pop(id, None)

    async def _build(self, id: BuildId) -> None:
        async with self._store.reading() as reader:
            build, plan = await reader.get(Build, id), await reader.get(BuildPlan, id)
        if build is None or plan is None or build.state not in UNFINISHED:
            return
        await self._logs.open(id)
        await self._run(await self._records.begin(id), plan)

    async def _run(self, build: Build, plan: BuildPlan) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._logs.keep_saving, build.id)
            try:
                template = await self._attempt(build, plan)
            except StepError as failed:
                await self._fail_or_repeat(build, failed.error, failed.number)
            except RoostError as error:
                await self._fail_or_repeat(build, error, None)
            except Exception:
                log.exception("a build broke", build=build.id)
                await self._fail(build.id, Fault("build_broke", "The builder itself failed. The server's log says why."), None)
            else:
                self._logs.say(build.id, f"Template {template.ref} is ready.")
                await self._logs.save(build.id)
                await self._records.finish(build.id, template.id)
            tasks.cancel_scope.cancel()

    async def _attempt(self, build: Build, plan: BuildPlan) -> Template:
        secrets = self._secrets.get(build.id, {})
        if build.attempts > MOST_ATTEMPTS:
            raise Fault("build_given_up", f"The server ended {MOST_ATTEMPTS} times while this was built: it is given up.")
        if build.needs_secrets and not secrets:
            raise SecretsGone
        return await self._runner.run(build, plan.definition, Principal(build.team, FULL, None), secrets)

    async def _fail_or_repeat(self, build: Build, error: RoostError, step: int | None) -> None:
        """A node or a builder that was lost is nobody's fault: the build begins again, behind what it has done."""
        if error.code in LOST and build.attempts < MOST_ATTEMPTS:
            self._logs.say(build.id, f"{error.message} The build begins again behind the last step that was done.", step=step)
            await self._logs.save(build.id)
            await self._records.requeue(build.id)
        else:
            await self._fail(build.id, error, step)

    async def _fail(self, build: BuildId, error: RoostError, step: int | None) -> None:
        self._logs.say(build, error.message.splitlines()[0], step=step)
        await self._logs.save(build)
        await self._records.fail(build, error, step)
