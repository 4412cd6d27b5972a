"""What callers do with builds: begin one, look, follow its log, cancel."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from roost.contracts.clock import Clock
from roost.contracts.store import Query, Reader, Store, Transaction
from roost.control.builds.logs import BuildLogs
from roost.control.builds.planning import list_steps
from roost.control.builds.queue import BuildQueue
from roost.control.builds.records import BuildRecords
from roost.control.builds.uploads import BuildUploads
from roost.control.sandboxes.references import check_key
from roost.domain import ids
from roost.domain.access import Principal, Thing, Verb, forbidden, require
from roost.domain.build import Definition
from roost.domain.build_failures import BuildEnded, BuildNotFound, TemplateNameTaken, TooManyBuilds
from roost.domain.builds import UNFINISHED, Build, BuildLog, BuildPlan, BuildState, BuildStep, LogLine, uploads_of
from roost.domain.errors import Invalid
from roost.domain.ids import BuildId, SandboxId, is_id, is_name
from roost.domain.sandbox import Size
from roost.domain.template import LATEST, Template

MOST_WAITING = 20  # of a team
ANNOUNCED_FOR_S = 24 * 3600.0  # then a build whose definition never came is forgotten
KEPT_PER_TEMPLATE = 20  # builds that have ended, with their logs
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class BuildRequest:
    name: str
    definition: Definition
    tag: str = LATEST
    size: Size = field(default_factory=Size)
    description: str = ""
    uses_cache: bool = True
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Announcement:
    """What is known of a build before its definition."""

    name: str
    tags: tuple[str, ...] = (LATEST,)  # at least one
    size: Size = field(default_factory=Size)


class TemplateBuilds:
    def __init__(
        self, *, store: Store, clock: Clock, random: ids.Random, queue: BuildQueue, records: BuildRecords, logs: BuildLogs,
        uploads: BuildUploads,
    ) -> None:  # fmt: skip
        self._store = store
        self._clock = clock
        self._random = random
        self._queue = queue
        self._records = records
        self._logs = logs
        self._uploads = uploads

    async def begin(self, principal: Principal, request: BuildRequest) -> Build:
        """It waits for its turn. Raises Invalid, Forbidden, TooManyBuilds, TemplateNameTaken, UploadNotFound."""
        require(principal, Verb.MAKE, Thing(principal.team), forbidden(principal, Verb.MAKE))
        check_name(request.name, request.tag)
        steps = list_steps(request.definition)
        _check_count(steps)
        now, id = self._clock.now(), ids.new_build_id(self._random)
        build = Build(
            id=id,
            team=principal.team,
            name=request.name,
            tag=request.tag,
            state=BuildState.QUEUED,
            created_at=now,
            size=request.size,
            description=request.description,
            steps=steps,
            uses_cache=request.uses_cache,
            needs_secrets=bool(request.secrets),
        )
        async with self._store.transaction() as transaction:
            await self._check_room(transaction, principal, request.name)
            await self._uploads.claim(transaction, principal.team, uploads_of(request.definition))
            await transaction.put(BuildPlan(id, principal.team, request.definition, now), expect_revision=None)
            build = await transaction.put(build, expect_revision=None)
        self._queue.entrust(id, request.secrets)
        self._queue.wake()
        return build

    async def announce(self, principal: Principal, announced: Announcement) -> Build:
        """A build whose definition comes later, by `start`. Raises Invalid, Forbidden, TooManyBuilds, TemplateNameTaken."""
        require(principal, Verb.MAKE, Thing(principal.team), forbidden(principal, Verb.MAKE))
        for tag in announced.tags:
            check_name(announced.name, tag)
        build = Build(
            id=ids.new_build_id(self._random),
            team=principal.team,
            name=announced.name,
            tag=announced.tags[0],
            more_tags=announced.tags[1:],
            state=BuildState.ANNOUNCED,
            created_at=self._clock.now(),
            size=announced.size,
        )
        async with self._store.transaction() as transaction:
            await self._check_room(transaction, principal, announced.name)
            return await transaction.put(build, expect_revision=None)

    async def start(self, principal: Principal, id: str, definition: Definition, *, uses_cache: bool = True) -> Build:
        """It waits for its turn. Raises BuildNotFound, BuildEnded for one that was started before, Invalid, UploadNotFound."""
        steps = list_steps(definition)
        _check_count(steps)
        async with self._store.transaction() as transaction:
            build = await _find(transaction, principal, id, Verb.CHANGE)
            if build.state is not BuildState.ANNOUNCED:
                raise BuildEnded(build.id, build.state.value)
            await self._uploads.claim(transaction, principal.team, uploads_of(definition))
            await transaction.put(BuildPlan(build.id, build.team, definition, self._clock.now()), expect_revision=None)
            queued = replace(build, state=BuildState.QUEUED, steps=steps, uses_cache=uses_cache)
            build = await transaction.put(queued, expect_revision=build.revision)
        self._queue.wake()
        return build

    async def get(self, principal: Principal, id: str) -> Build:
        """Raises BuildNotFound, Forbidden."""
        async with self._store.reading() as reader:
            return await _find(reader, principal, id, Verb.LOOK)

    async def list(self, principal: Principal, template: str | None = None, limit: int = 50) -> Sequence[Build]:
        """The newest first. Whoever is there for one sandbox alone sees none."""
        if principal.scope.sandbox is not None:
            return ()
        equal = {"team": principal.team} | ({"name": template} if template else {})
        async with self._store.reading() as reader:
            return await reader.find(Build, Query(equal=equal, limit=limit))

    async def cancel(self, principal: Principal, id: str) -> Build:
        """It ends, and what it has done so far is kept as layers. One that is being cancelled is not cancelled twice. Raises
        BuildNotFound, BuildEnded, Forbidden."""
        async with self._store.transaction() as transaction:
            build = await _find(transaction, principal, id, Verb.CHANGE)
            if build.state not in UNFINISHED:
                raise BuildEnded(build.id, build.state.value)
            build = await transaction.put(replace(build, is_cancelled=True), expect_revision=build.revision)
        if not self._queue.stop(build.id):
            build = await self._records.cancel(build.id)
            self._logs.stir()
        return build

    async def read_log(self, principal: Principal, id: str, after: int, limit: int) -> tuple[int, list[LogLine]]:
        build = await self.get(principal, id)
        return await self._logs.read(build.id, after, limit)

    async def follow_log(self, principal: Principal, id: str, after: int) -> AsyncIterator[tuple[int, Sequence[LogLine]]]:
        build = await self.get(principal, id)
        async for lines in self._logs.follow(build.id, after):
            yield lines

    async def forget(self) -> None:
        """Of each template the newest builds are kept; older ones go with their logs. In small transactions."""
        async with self._store.reading() as reader:
            builds = await reader.find(Build, Query())
        kept: dict[tuple[str, str], int] = {}
        for build in builds:
            count = kept[build.team, build.name] = kept.get((build.team, build.name), 0) + 1
            if build.state is BuildState.ANNOUNCED:
                is_over = build.created_at < self._clock.now() - ANNOUNCED_FOR_S
            else:
                is_over = count > KEPT_PER_TEMPLATE and build.state not in UNFINISHED
            if is_over:
                await self._delete(build.id)

    async def _check_room(self, transaction: Transaction, principal: Principal, name: str) -> None:
        await check_key(transaction, principal)
        if await transaction.find(Template, Query(equal={"name": name, "team": None}, limit=1)):
            raise TemplateNameTaken(name)
        states = sorted(state.value for state in UNFINISHED)
        waiting = await transaction.find(Build, Query(equal={"team": principal.team}, one_of={"state": states}))
        if len(waiting) >= MOST_WAITING:
            raise TooManyBuilds(MOST_WAITING)

    async def _delete(self, id: BuildId) -> None:
        async with self._store.transaction() as transaction:
            for page in await transaction.find(BuildLog, Query(equal={"build": id})):
                await transaction.delete(BuildLog, page.id)
            await transaction.delete(BuildPlan, id)
            await transaction.delete(Build, id)


async def _find(reader: Reader, principal: Principal, id: str, verb: Verb) -> Build:
    build = await reader.get(Build, id) if is_id(id) else None
    if build is None:
        raise BuildNotFound(id)
    require(principal, verb, Thing(build.team, SandboxId("")), BuildNotFound(id))
    return build


def _check_count(steps: Sequence[BuildStep]) -> None:
    if len(steps) > _MOST_STEPS:
        raise Invalid("too_many_steps", f"A build has {_MOST_STEPS} steps at most; this one has {len(steps)}.")


def check_name(name: str, tag: str) -> None:
    """Raises Invalid."""
    if not is_name(name):
        raise Invalid(
            "template_name_invalid",
            f"{name[:80]!r} is no name for a template: 1 to 63 of a-z, 0-9 and inner hyphens.",
            name=name[:80],
        )
    if not _TAG.fullmatch(tag):
        raise Invalid(
            "template_tag_invalid",
            f"{tag[:140]!r} is no tag: letters, digits, dots, hyphens and underscores, 128 at most, and none of . - first.",
            tag=tag[:140],
        )
