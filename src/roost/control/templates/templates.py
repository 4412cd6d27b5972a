"""Templates: what there is, and building one inside Roost itself.

A template is built by booting its root filesystem as a sandbox that no record tells of, running its steps, starting its services,
waiting until they are ready, and taking a snapshot. Nothing is published before the last step: what a crash leaves behind has no
record, and the keeper sweeps it away.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

import anyio

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.snapshots import WarmTarget
from roost.contracts.store import Query, Reader, Store
from roost.control.fleet.nodes import Nodes
from roost.control.lifecycle.endings import is_being_cloned
from roost.control.sandboxes.references import find_template, sees_template
from roost.control.templates.builtins import BuiltinBuild, BuiltinBuilds
from roost.control.templates.sites import Sites
from roost.domain import ids
from roost.domain.access import Principal, within
from roost.domain.errors import RoostError, TemplateBuildFailed
from roost.domain.events import Event, EventKind
from roost.domain.ids import NodeId, SandboxId, SnapshotId
from roost.domain.lifecycle import LIVING
from roost.domain.node import Captured, CaptureOrder, CreateOrder, Identity, KillOrder, RunOrder
from roost.domain.sandbox import Sandbox
from roost.domain.snapshot import Purpose, Snapshot
from roost.domain.team import DEFAULT_TEAM
from roost.domain.template import Recipe, Template, TemplateCommand

READY_CHECK_TIMEOUT_S = 60.0
READY_EVERY_S = 0.5
FIRST_WAIT_S = 10.0  # after a build that failed
LONGEST_WAIT_S = 3600.0
START_LOG = "/tmp/start.log"  # inside the sandbox

Progress = Callable[[str], None]
Failed = Callable[[Recipe, RoostError, float], None]
"""Told what could not be made, why, and after how many seconds it is tried again."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a template is being built."""

    node: NodeId
    sandbox: SandboxId
    disk: SnapshotId
    snapshot: SnapshotId


@dataclass(frozen=True, slots=True)
class TemplateUsage:
    sandboxes: Mapping[str, int]  # by the template's name: how many living ones were made from it
    memory_bytes: Mapping[SnapshotId, int]  # what their snapshots hold


class Templates:
    def __init__(
        self,
        *,
        store: Store,
        cluster: Cluster,
        clock: Clock,
        random: ids.Random,
        nodes: Nodes,
        builds: BuiltinBuilds,
        sites: Sites,
        warm: int = 2,
        warm_desktops: int = 1,
    ) -> None:
        self._store = store
        self._cluster = cluster
        self._clock = clock
        self._random = random
        self._nodes = nodes
        self._builds = builds
        self._warm = warm
        self._warm_desktops = warm_desktops
        self._sites = sites

    async def list(self, principal: Principal) -> tuple[Template, ...]:
        """Everybody's and the team's, by name."""
        async with self._store.reading() as reader:
            found = await reader.find(Template, Query())
        return tuple(sorted((each for each in found if sees_template(principal, each)), key=lambda one: (one.name, one.tag)))

    async def usage(self, principal: Principal) -> TemplateUsage:
        """How much each template is used, as far as the principal may see, and how large it is."""
        async with self._store.reading() as reader:
            living = await reader.find(Sandbox, Query(equal=within(principal, "id"), one_of={"state": sorted(LIVING)}))
            entries = await reader.find(Snapshot, Query(equal={"purpose": Purpose.TEMPLATE}))
        return TemplateUsage(
            sandboxes=Counter(record.template for record in living),
            memory_bytes={entry.id: entry.memory_bytes for entry in entries},
        )

    async def get(self, principal: Principal, ref: str) -> Template:
        """By name or id. Raises TemplateNotFound."""
        async with self._store.reading() as reader:
            return await find_template(reader, principal, ref)

    def being_made(self) -> tuple[BuiltinBuild, ...]:
        """Also those that could not be made so far, and those of which an older one serves meanwhile."""
        return self._builds.list()

    def expect(self, *names: str) -> None:
        """Says that these will be made soon: until then, who asks for one is told to come back."""
        for name in names:
            self._builds.begin(name)

    async def ensure(self, recipe: Recipe, on_progress: Progress = lambda _: None) -> Template:
        """The template is there and was built from this recipe: builds it if not, or if its snapshot is gone from the node.
        Raises what `build` raises."""

        def tell(step: str) -> None:
            self._builds.tell(recipe.name, step)
            on_progress(step)

        self._builds.begin(recipe.name)
        made = await self._find_or_build(recipe, tell)
        self._builds.finish(recipe.name)
        return made

    async def ensure_all(self, wanted: Sequence[Recipe], on_progress: Callable[[Recipe, str], None], on_failure: Failed) -> None:
        """One after the other. Those that cannot be made keep nobody from the rest and are tried again, for as long as it takes:
        what a step fetches may be there later. Who asks for one meanwhile is told why it is not there."""
        wait_s = FIRST_WAIT_S
        while True:
            left: list[Recipe] = []
            again_at = 0.0
            for recipe in wanted:
                try:
                    await self.ensure(recipe, partial(on_progress, recipe))
                except RoostError as error:
                    again_at = again_at or self._clock.now() + wait_s
                    left.append(recipe)
                    on_failure(recipe, error, wait_s)
                    await self._tell_of_failure(recipe, error, again_at)
            if not left:
                return
            await self._clock.sleep_until(again_at)
            wanted, wait_s = left, min(2 * wait_s, LONGEST_WAIT_S)

    async def build(self, recipe: Recipe, on_progress: Progress = lambda _: None) -> Template:
        """Builds it anew; sandboxes made from the one before are not touched. Raises TemplateBuildFailed, or what node and guest
        raise: then nothing of it is left and the one before stays."""
        async with self._construction() as site:
            node = self._cluster.node(site.node)
            on_progress("importing the root filesystem")
            await self._cluster.snapshots(site.node).import_disk(site.disk, recipe.root or recipe.name, recipe.name)
            on_progress("booting")
            await node.create(_builder_order(site, recipe))
            for step in recipe.run:
                on_progress(step.command)
                await self._run(recipe, site, step)
            if recipe.start:
                on_progress(f"starting {recipe.start.command}")
                await self._run(recipe, site, _in_background(recipe.start, recipe.workdir))
            if recipe.ready:
                on_progress("waiting until it is ready")
                await self._wait_until_ready(recipe, recipe.ready, site)
            on_progress("taking the snapshot")
            order = CaptureOrder(site.sandbox, 1, site.snapshot, parent=site.disk, template=recipe.name)
            template, outdated = await self._publish(recipe, site, await node.snapshot(order))
        await self.keep_warm()
        if outdated is not None:
            await self._drop(outdated)
        return template

    async def keep_warm(self) -> None:
        """Every node keeps clones of the built-in templates that lie on it ready; those of teams may be many."""
        async with self._store.reading() as reader:
            templates = await reader.find(Template, Query(equal={"team": None}))
            entries = [await reader.get(Snapshot, template.snapshot) for template in templates]
        for id in await self._cluster.nodes():
            here = [entry for entry in entries if entry is not None and entry.node == id]
            wanted = [WarmTarget(entry.id, self._warm_desktops if entry.has_desktop else self._warm) for entry in here]
            await self._cluster.snapshots(id).keep_warm(wanted)

    # How it is done

    async def _find_or_build(self, recipe: Recipe, on_progress: Progress) -> Template:
        async with self._store.reading() as reader:
            known = await self._named(reader, recipe.name)
            entry = await reader.get(Snapshot, known.snapshot) if known else None
        if known and entry and known.digest == recipe.digest:
            report = await self._cluster.node(entry.node).report()
            if entry.id in report.snapshots:
                return await self._with_description(known, recipe)
        return await self.build(recipe, on_progress)

    @asynccontextmanager
    async def _construction(self) -> AsyncIterator[Site]:
        """A site to build on. Whatever happens, builder and imported disk are gone afterwards, and the snapshot unless it was
        published."""
        report = (await self._nodes.last_seen())[0]
        site = Site(
            node=await self._nodes.place(report.node),
            sandbox=ids.new_sandbox_id(self._random),
            disk=ids.new_snapshot_id(self._random),
            snapshot=ids.new_snapshot_id(self._random),
        )
        with self._sites.building(site.sandbox), self._sites.needing(site.disk, site.snapshot):
            try:
                yield site
            finally:
                with anyio.CancelScope(shield=True):
                    await self._clear(site)

    async def _clear(self, site: Site) -> None:
        snapshots = self._cluster.snapshots(site.node)
        await self._cluster.node(site.node).kill(KillOrder(site.sandbox, 1))
        await snapshots.delete_snapshot(site.disk)
        async with self._store.reading() as reader:
            published = await reader.get(Snapshot, site.snapshot)
        if published is None:
            await snapshots.delete_snapshot(site.snapshot)

    async def _run(self, recipe: Recipe, site: Site, step: TemplateCommand) -> None:
        ran = await self._cluster.node(site.node).run(RunOrder(site.sandbox, 1, step.command, step.user, step.timeout_s))
        if ran.exit_code != 0:
            raise TemplateBuildFailed(recipe.name, step.command, ran.exit_code, ran.output)

    async def _wait_until_ready(self, recipe: Recipe, check: TemplateCommand, site: Site) -> None:
        deadline_at = self._clock.now() + check.timeout_s
        while True:
            order = RunOrder(site.sandbox, 1, check.command, check.user, min(READY_CHECK_TIMEOUT_S, check.timeout_s))
            ran = await self._cluster.node(site.node).run(order)
            if ran.exit_code == 0:
                return
            if self._clock.now() >= deadline_at:
                raise TemplateBuildFailed(recipe.name, check.command, ran.exit_code, ran.output)
            await self._clock.sleep_until(self._clock.now() + READY_EVERY_S)

    async def _publish(self, recipe: Recipe, site: Site, captured: Captured) -> tuple[Template, SnapshotId | None]:
        """Writes template, snapshot and event at once. Also returns the snapshot that this one takes the place of."""
        now = self._clock.now()
        async with self._store.transaction() as transaction:
            known = await self._named(transaction, recipe.name)
            entry = Snapshot(
                id=captured.snapshot,
                team=DEFAULT_TEAM,
                node=site.node,
                kind=captured.kind,
                purpose=Purpose.TEMPLATE,
                template=recipe.name,
                created_at=captured.created_at,
                memory_bytes=captured.memory_bytes,
                size=recipe.size,
                user=recipe.user,
                workdir=recipe.workdir,
                env=dict(recipe.env),
                has_desktop=recipe.has_desktop,
            )
            await transaction.put(entry, expect_revision=None)
            template = Template(
                id=known.id if known else ids.new_template_id(self._random),
                team=None,
                name=recipe.name,
                snapshot=captured.snapshot,
                size=recipe.size,
                digest=recipe.digest,
                created_at=known.created_at if known else now,
                description=recipe.description,
                user=recipe.user,
                workdir=recipe.workdir,
                env=dict(recipe.env),
                has_desktop=recipe.has_desktop,
                packages=recipe.packages,
            )
            template = await transaction.put(template, expect_revision=known.revision if known else None)
            facts = {"template": recipe.name, "snapshot": captured.snapshot, "memory_bytes": captured.memory_bytes}
            await transaction.append(Event(EventKind.TEMPLATE_BUILT, DEFAULT_TEAM, now, facts=facts))
        return template, known.snapshot if known else None

    async def _tell_of_failure(self, recipe: Recipe, error: RoostError, again_at: float) -> None:
        self._builds.fail(recipe.name, error, again_at)
        facts = {"template": recipe.name, "code": error.code, "message": error.message, "again_at": again_at}
        with suppress(RoostError):  # what kept it from being made, a full disk say, may keep this from being written
            async with self._store.transaction() as transaction:
                await transaction.append(Event(EventKind.TEMPLATE_FAILED, DEFAULT_TEAM, self._clock.now(), facts=facts))

    async def _with_description(self, known: Template, recipe: Recipe) -> Template:
        """The same template, with what an older Roost did not write of it."""
        told = replace(known, description=recipe.description, packages=recipe.packages)
        if told == known:
            return known
        async with self._store.transaction() as transaction:
            return await transaction.put(told, expect_revision=known.revision)

    async def _drop(self, outdated: SnapshotId) -> None:
        """Once nothing is being cloned from it; otherwise the keeper collects it."""
        async with self._store.transaction() as transaction:
            entry = await transaction.get(Snapshot, outdated)
            if entry is None or await is_being_cloned(transaction, outdated):
                return
            await transaction.delete(Snapshot, outdated)
        await self._cluster.snapshots(entry.node).delete_snapshot(outdated)

    async def _named(self, transaction: Reader, name: str) -> Template | None:
        found = await transaction.find(Template, Query(equal={"name": name, "team": None}, limit=1))
        return found[0] if found else None


def _builder_order(site: Site, recipe: Recipe) -> CreateOrder:
    """Without a token: nobody but the node can reach it, and the node has to run its steps."""
    identity = Identity(
        sandbox=site.sandbox,
        hostname=recipe.name,
        template=recipe.name,
        access_token="",
        env=recipe.env,
        user=recipe.user,
        workdir=recipe.workdir,
        fresh=True,
    )
    return CreateOrder(site.sandbox, 1, site.disk, recipe.size, identity, cold=True)


def _in_background(start: TemplateCommand, workdir: str) -> TemplateCommand:
    """The start command, detached: it must outlive the shell that starts it and hold none of its streams."""
    command = shlex.quote(f"cd {shlex.quote(workdir)} && {start.command}")
    return replace(start, command=f"nohup setsid /bin/sh -c {command} >{START_LOG} 2>&1 </dev/null &")
