"""Carries out one build: plans it, runs the steps whose results are not there, and makes the template."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

import anyio

from roost.contracts.cluster import Cluster
from roost.control.builds.actions import Actions, Site
from roost.control.builds.bases import Bases
from roost.control.builds.builders import INCARNATION, Builder, BuilderFacts, Builders
from roost.control.builds.finishing import Finishing
from roost.control.builds.layers import Layers, NewLayer
from roost.control.builds.logs import BuildLogs
from roost.control.builds.planning import BaseFacts, PlannedStage, PlannedStep, base_key, copies_of, plan_stage
from roost.control.builds.records import BuildRecords
from roost.control.fleet.nodes import Nodes
from roost.control.templates.sites import Sites
from roost.domain import ids
from roost.domain.access import Principal
from roost.domain.build import Definition, FromContext, FromImage, FromStage
from roost.domain.build_actions import CopyFiles
from roost.domain.build_stages import needed_stages
from roost.domain.builds import Build, Layer, StepState
from roost.domain.errors import RoostError
from roost.domain.ids import NodeId, SandboxId, SnapshotId
from roost.domain.node_builds import Selection
from roost.domain.template import Template

STAGES_AT_ONCE = 3  # of one build


class StepError(Exception):
    """Carries a failure out of a step, with the number of the step."""

    def __init__(self, number: int, error: RoostError) -> None:
        super().__init__(error.message)
        self.number = number
        self.error = error


@dataclass(slots=True)
class BuildRun:
    """One build under way."""

    build: Build
    definition: Definition
    principal: Principal
    node: NodeId
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    plans: dict[int, PlannedStage] = field(default_factory=dict)
    disks: dict[int, SnapshotId] = field(default_factory=dict)  # of stages that are done
    locks: dict[int, anyio.Lock] = field(default_factory=dict)  # by stage
    builders: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(STAGES_AT_ONCE))
    needed: ExitStack = field(default_factory=ExitStack)  # what the keeper leaves alone until the build has ended


class BuildRunner:
    def __init__(
        self, *, cluster: Cluster, nodes: Nodes, random: ids.Random, sites: Sites, layers: Layers, logs: BuildLogs,
        records: BuildRecords, bases: Bases, builders: Builders, finishing: Finishing,
    ) -> None:  # fmt: skip
        self._cluster = cluster
        self._nodes = nodes
        self._random = random
        self._sites = sites
        self._layers = layers
        self._logs = logs
        self._records = records
        self._bases = bases
        self._builders = builders
        self._finishing = finishing
        self._actions = Actions(cluster=cluster)

    async def run(self, build: Build, definition: Definition, principal: Principal, secrets: Mapping[str, str]) -> Template:
        """Raises StepError, or RoostError where it is no step's fault. No builder is left; layers that were made are."""
        report = (await self._nodes.last_seen())[0]
        run = BuildRun(build, definition, principal, await self._nodes.place(report.node), secrets)
        with run.needed:
            await self._plan(run)
            target = max(run.plans)
            plan = run.plans[target]
            if build.uses_cache and (known := await self._finishing.find_unchanged(build, definition, plan)):
                self._say(run, f"Nothing has changed: {known.ref} stays as it is.")
                made = known
            else:
                disk = await self._ensure_stage(run, target)
                made = await self._finishing.make(build, definition, plan, self._facts(run, disk))
            await self._finishing.tag_more(build, made)
            return made

    # What is to do

    async def _plan(self, run: BuildRun) -> None:
        number = 0
        for stage_number in needed_stages(run.definition):
            stage = run.definition.stages[stage_number]
            try:
                if isinstance(stage.base, FromStage):
                    base: BaseFacts | PlannedStage = run.plans[stage.base.stage]
                else:
                    base = await self._bases.find(run.principal, run.build, run.node, stage.base)
            except RoostError as error:
                raise StepError(number, error) from error
            digests: dict[int, list[str]] = {}
            for place, copy in copies_of(run.definition, stage_number, base).items():
                try:
                    digests[place] = [await self._digest(run, copy)]
                except RoostError as error:
                    raise StepError(number + 1 + place, error) from error
            run.plans[stage_number] = plan_stage(run.definition, stage_number, number, base, digests)
            number += 1 + len(stage.steps)

    async def _digest(self, run: BuildRun, copy: CopyFiles) -> str:
        match copy.origin:
            case FromContext(upload):
                selection = Selection(copy.sources, copy.exclude, copy.keeps_parents, copy.unpacks)
                return await self._cluster.builds(run.node).digest_files(upload, selection)
            case FromStage(stage):
                return run.plans[stage].key
            case FromImage():
                pinned = await self._cluster.snapshots(run.node).resolve_image(copy.origin.reference)
                return base_key(run.build.team, copy.origin, pinned)

    # Doing it

    async def _ensure_stage(self, run: BuildRun, number: int) -> SnapshotId:
        """The disk at the end of a stage."""
        if number in run.disks:
            return run.disks[number]
        async with run.locks.setdefault(number, anyio.Lock()):
            if number not in run.disks:
                run.disks[number] = await self._build_stage(run, run.plans[number])
        return run.disks[number]

    async def _build_stage(self, run: BuildRun, plan: PlannedStage) -> SnapshotId:
        found, rest = await self._last_cached(run, plan)
        await self._ensure_stages(run, _stages_of(plan, rest, has_base=found is None))
        done = [plan.from_number, *(step.number for step in plan.steps if step not in rest)]
        if found is not None:
            await self._records.mark(run.build.id, done, StepState.CACHED)
            for number in done:
                self._say(run, f"{run.build.steps[number].text.strip()} (cached)", number)
            disk = found.snapshot
        else:
            disk = await self._base_disk(run, plan)
            await self._records.mark(run.build.id, done[1:], StepState.DONE)
        self._need(run, disk)
        return await self._run_steps(run, rest, disk) if rest else disk

    async def _ensure_stages(self, run: BuildRun, numbers: frozenset[int]) -> None:
        """Side by side. The first that fails ends the others."""
        failures: list[StepError | RoostError] = []

        async def ensure(number: int) -> None:
            try:
                await self._ensure_stage(run, number)
            except (StepError, RoostError) as error:
                failures.append(error)
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for number in sorted(numbers):
                tasks.start_soon(ensure, number)
        for failure in failures:
            raise failure

    async def _last_cached(self, run: BuildRun, plan: PlannedStage) -> tuple[Layer | None, tuple[PlannedStep, ...]]:
        """The newest layer of the stage that is there, and the steps behind it."""
        for place in reversed(range(len(plan.steps))):
            step = plan.steps[place]
            if step.action is None:
                continue
            layer = await self._layers.find(step.key)
            if layer is None or layer.node != run.node:
                continue
            if run.build.uses_cache or layer.created_at >= run.build.created_at:
                return layer, plan.steps[place + 1 :] if _has_action(plan.steps[place + 1 :]) else ()
        return None, plan.steps if _has_action(plan.steps) else ()

    async def _base_disk(self, run: BuildRun, plan: PlannedStage) -> SnapshotId:
        await self._records.mark(run.build.id, [plan.from_number], StepState.RUNNING)
        try:
            if isinstance(plan.stage.base, FromStage):
                disk = await self._ensure_stage(run, plan.stage.base.stage)
            else:
                disk = await self._bases.disk(run.build, run.node, plan.stage.base, plan.base)
        except RoostError as error:
            raise StepError(plan.from_number, error) from error
        await self._records.mark(run.build.id, [plan.from_number], StepState.DONE)
        return disk

    async def _run_steps(self, run: BuildRun, steps: tuple[PlannedStep, ...], disk: SnapshotId) -> SnapshotId:
        sources = {step.number: await self._source_disk(run, step) for step in steps}
        async with run.builders, self._builders.booted(self._facts(run, disk)) as builder:
            await self._builders.on(builder).prepare(builder.sandbox, INCARNATION)
            for step in steps:
                if step.action is None:
                    await self._records.mark(run.build.id, [step.number], StepState.DONE)
                    continue
                await self._records.mark(run.build.id, [step.number], StepState.RUNNING)
                self._say(run, step.step.place.text.strip(), step.number)
                try:
                    disk = await self._run_step(run, builder, step, sources[step.number])
                except RoostError as error:
                    raise StepError(step.number, error) from error
                finally:
                    self._logs.close_step(run.build.id, step.number)
                await self._records.mark(run.build.id, [step.number], StepState.DONE)
        return disk

    async def _run_step(self, run: BuildRun, builder: Builder, step: PlannedStep, source: SnapshotId | None) -> SnapshotId:
        """The disk after the step, kept as a layer."""
        assert step.action is not None
        site = Site(
            builder,
            run.build.team,
            run.secrets,
            lambda text, stream: self._logs.say(run.build.id, text, step=step.number, stream=stream),
        )
        if source is None:
            await self._actions.do(site, step.action, None)
        else:
            async with self._builders.booted(self._facts(run, source)) as other:
                await self._actions.do(site, step.action, SandboxId(other.sandbox))
        snapshot = ids.new_snapshot_id(self._random)
        with self._sites.needing(snapshot):
            captured = await self._builders.capture(builder, snapshot, keep_memory=False)
            new = NewLayer(step.key, run.build.team, run.node, run.build.name, step.step.place.text[:200])
            layer = await self._layers.keep(new, captured, since=0.0 if run.build.uses_cache else run.build.created_at)
            self._need(run, layer.snapshot)
        return layer.snapshot

    async def _source_disk(self, run: BuildRun, step: PlannedStep) -> SnapshotId | None:
        """Where a step copies files from, if it is another stage or an image."""
        if not isinstance(step.action, CopyFiles):
            return None
        try:
            match step.action.origin:
                case FromContext():
                    return None
                case FromStage(stage):
                    return await self._ensure_stage(run, stage)
                case FromImage() as image:
                    base = await self._bases.find(run.principal, run.build, run.node, image)
                    disk = await self._bases.disk(run.build, run.node, image, base)
                    self._need(run, disk)
                    return disk
        except RoostError as error:
            raise StepError(step.number, error) from error

    def _facts(self, run: BuildRun, disk: SnapshotId) -> BuilderFacts:
        return BuilderFacts(run.node, disk, run.build.size, run.build.name)

    def _need(self, run: BuildRun, disk: SnapshotId) -> None:
        run.needed.enter_context(self._sites.needing(disk))

    def _say(self, run: BuildRun, text: str, step: int | None = None) -> None:
        self._logs.say(run.build.id, text, step=step)


def _stages_of(plan: PlannedStage, steps: tuple[PlannedStep, ...], *, has_base: bool) -> frozenset[int]:
    """The stages that these steps need, and the one that this begins with if that is needed too."""
    origins = [step.action.origin for step in steps if isinstance(step.action, CopyFiles)]
    bases = [plan.stage.base] if has_base else []
    return frozenset(each.stage for each in (*origins, *bases) if isinstance(each, FromStage))


def _has_action(steps: tuple[PlannedStep, ...]) -> bool:
    return any(step.action is not None for step in steps)
