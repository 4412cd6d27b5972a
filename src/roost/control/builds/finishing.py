"""The end of a build: its last disk is booted once more, its services are started, and what runs then is the template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import anyio

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Query, Reader, Store
from roost.control.builds.actions import Actions, Site
from roost.control.builds.builders import INCARNATION, Builder, BuilderFacts, Builders
from roost.control.builds.logs import BuildLogs
from roost.control.builds.planning import PlannedStage, template_digest
from roost.control.templates.sites import Sites
from roost.domain import ids
from roost.domain.build import Definition, ImageSettings
from roost.domain.build_failures import CommandFailed
from roost.domain.builds import Build
from roost.domain.errors import RoostError
from roost.domain.events import Event, EventKind
from roost.domain.ids import NodeId
from roost.domain.node import Captured
from roost.domain.node_builds import CommandOrder, Exited
from roost.domain.snapshot import Purpose, Snapshot
from roost.domain.template import Template, TemplateCommand

READY_EVERY_S = 0.25
ONE_CHECK_S = 60.0
SETTLES_S = 2.0  # for a start command that nothing tells the end of


@dataclass(slots=True)
class _Started:
    """The start command, as far as it is known."""

    ended: Exited | None = None
    tail: str = ""


class Finishing:
    def __init__(
        self,
        *,
        store: Store,
        cluster: Cluster,
        clock: Clock,
        random: ids.Random,
        sites: Sites,
        builders: Builders,
        logs: BuildLogs,
    ) -> None:
        self._store = store
        self._cluster = cluster
        self._clock = clock
        self._random = random
        self._sites = sites
        self._builders = builders
        self._logs = logs
        self._actions = Actions(cluster=cluster)

    async def find_unchanged(self, build: Build, definition: Definition, plan: PlannedStage) -> Template | None:
        """The template that this build would make, if it is there."""
        async with self._store.reading() as reader:
            known = await named(reader, build)
            entry = await reader.get(Snapshot, known.snapshot) if known else None
        if known is None or entry is None or known.digest != _digest(build, definition, plan):
            return None
        report = await self._cluster.node(entry.node).report()
        return known if entry.id in report.snapshots else None

    async def tag_more(self, build: Build, template: Template) -> None:
        """The other tags of the build name the same."""
        for tag in build.more_tags:
            async with self._store.transaction() as transaction:
                known = await named(transaction, build, tag)
                if known is not None and known.snapshot == template.snapshot:
                    continue
                made = replace(template, id=known.id if known else ids.new_template_id(self._random), tag=tag)
                await transaction.put(made, expect_revision=known.revision if known else None)

    async def make(self, build: Build, definition: Definition, plan: PlannedStage, facts: BuilderFacts) -> Template:
        settings = plan.progress.settings
        facts = replace(facts, user=settings.user or "root", workdir=settings.workdir, env=settings.env)
        snapshot = ids.new_snapshot_id(self._random)
        with self._sites.needing(snapshot):
            async with self._builders.booted(facts) as builder:
                await self._start(build, definition, settings, builder)
                captured = await self._builders.capture(builder, snapshot, keep_memory=True)
            template = _template(build, settings, captured, _digest(build, definition, plan))
            return await self._publish(build, template, captured, facts.node)

    # Starting

    async def _start(self, build: Build, definition: Definition, settings: ImageSettings, builder: Builder) -> None:
        """Raises CommandFailed when it does not get ready."""
        start, ready = _start_order(builder, definition, settings), definition.ready or settings.health
        site = Site(builder, build.team, {}, lambda text, stream: self._logs.say(build.id, text, stream=stream))
        if start is None and ready is None:
            return
        started, failure = _Started(), None
        async with anyio.create_task_group() as tasks:
            if start is not None:
                self._logs.say(build.id, f"Starting {' '.join(start.words)}")
                tasks.start_soon(self._follow_start, site, start, started)
            try:
                await self._wait(site, settings, ready, started)
            except RoostError as error:
                failure = error
            tasks.cancel_scope.cancel()  # it runs on inside
        self._logs.close_step(build.id, None)
        if failure is not None:
            raise failure
        if started.ended is not None and started.ended.exit_code:
            if definition.start is not None:
                raise CommandFailed(started.ended.exit_code, started.ended.reason, started.tail)
            self._logs.say(build.id, f"It ended with exit code {started.ended.exit_code}; sandboxes begin without it.")

    async def _follow_start(self, site: Site, order: CommandOrder, started: _Started) -> None:
        try:
            started.ended, started.tail = await self._actions.follow(site, order)
        except RoostError as error:
            started.ended = Exited(1, error.message)

    async def _wait(self, site: Site, settings: ImageSettings, check: TemplateCommand | None, started: _Started) -> None:
        """Until the check succeeds; without one, until the start command has ended or run for a moment. Raises CommandFailed."""
        if check is None:
            settled_at = self._clock.now() + SETTLES_S
            while started.ended is None and self._clock.now() < settled_at:
                await self._clock.sleep_until(self._clock.now() + READY_EVERY_S)
            return
        site.says(f"Waiting until `{check.command}` succeeds\n", "stdout")
        deadline_at = self._clock.now() + check.timeout_s
        order = _order(site.builder, settings, check, min(ONE_CHECK_S, check.timeout_s))
        while True:
            exited, tail = await self._actions.follow(site, order)
            if exited.exit_code == 0:
                return
            if started.ended is not None and started.ended.exit_code:
                raise CommandFailed(started.ended.exit_code, started.ended.reason, started.tail)
            if self._clock.now() >= deadline_at:
                raise CommandFailed(
                    exited.exit_code, f"it is not ready after {check.timeout_s:g} s: `{check.command}` fails", tail
                )
            await self._clock.sleep_until(self._clock.now() + READY_EVERY_S)

    # Publishing

    async def _publish(self, build: Build, template: Template, captured: Captured, node: NodeId) -> Template:
        """Template, snapshot and event are written at once. The snapshot before it is collected, once no other tag names it."""
        now = self._clock.now()
        entry = Snapshot(
            id=captured.snapshot,
            team=build.team,
            node=node,
            kind=captured.kind,
            purpose=Purpose.TEMPLATE,
            template=build.name,
            created_at=captured.created_at,
            memory_bytes=captured.memory_bytes,
            size=build.size,
            user=template.user,
            workdir=template.workdir,
            env=template.env,
        )
        async with self._store.transaction() as transaction:
            known = await named(transaction, build)
            template = replace(
                template,
                id=known.id if known else ids.new_template_id(self._random),
                created_at=now,
            )
            await transaction.put(entry, expect_revision=None)
            template = await transaction.put(template, expect_revision=known.revision if known else None)
            facts: Mapping[str, str | int] = {
                "template": template.ref,
                "snapshot": captured.snapshot,
                "memory_bytes": captured.memory_bytes,
                "build": build.id,
            }
            await transaction.append(Event(EventKind.TEMPLATE_BUILT, build.team, now, facts=facts))
        return template


async def named(reader: Reader, build: Build, tag: str | None = None) -> Template | None:
    """The team's own template of the build's name and tag."""
    found = await reader.find(Template, Query(equal={"name": build.name, "team": build.team}))
    return next((template for template in found if template.tag == (tag or build.tag)), None)


def _digest(build: Build, definition: Definition, plan: PlannedStage) -> str:
    return template_digest(plan.key, plan.progress.settings, build.size, definition.start, definition.ready)


def _template(build: Build, settings: ImageSettings, captured: Captured, digest: str) -> Template:
    return Template(
        id=ids.TemplateId(""),
        team=build.team,
        name=build.name,
        snapshot=captured.snapshot,
        size=build.size,
        digest=digest,
        created_at=0.0,
        description=build.description,
        user=settings.user or "root",
        workdir=settings.workdir,
        env=dict(settings.env),
        tag=build.tag,
        settings=settings,
    )


def _start_order(builder: Builder, definition: Definition, settings: ImageSettings) -> CommandOrder | None:
    if definition.start is not None:
        return _order(builder, settings, definition.start, 0.0)
    words = (*settings.entrypoint, *settings.command)
    if not words:
        return None
    return CommandOrder(builder.sandbox, INCARNATION, words, settings.env, settings.user, settings.workdir, timeout_s=0.0)


def _order(builder: Builder, settings: ImageSettings, command: TemplateCommand, timeout_s: float) -> CommandOrder:
    """For the shell of the image. A user that nobody named is the image's."""
    words = (*settings.shell, command.command)
    user = command.user or settings.user
    return CommandOrder(builder.sandbox, INCARNATION, words, settings.env, user, settings.workdir, timeout_s=timeout_s)
