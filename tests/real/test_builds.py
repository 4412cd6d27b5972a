"""Templates built step by step, on the real engine: control and a node in one process."""

from __future__ import annotations

import hashlib
import io
import random
import tarfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio
import pytest

from roost.control.builds.builds import BuildRequest
from roost.control.compose import Control, Dependencies, compose
from roost.control.fleet.reported_ledger import ReportedLedger
from roost.domain.access import FULL, Principal
from roost.domain.build import (
    CacheMount,
    Copy,
    Definition,
    FromContext,
    FromImage,
    FromNothing,
    FromStage,
    FromTemplate,
    Place,
    Run,
    SecretMount,
    SetEnv,
    SetStart,
    SetUser,
    SetWorkdir,
    Stage,
    Step,
    Write,
)
from roost.domain.builds import Build, BuildState, StepState
from roost.domain.ids import NodeId, TemplateId
from roost.domain.node import CreateOrder, Identity, KillOrder, RunOrder
from roost.domain.sandbox import Size
from roost.domain.snapshot import Purpose, Snapshot, SnapshotKind
from roost.domain.team import DEFAULT_TEAM
from roost.domain.template import Template, TemplateCommand
from roost.drivers.clock import SystemClock
from roost.drivers.cluster.local import LocalCluster
from roost.node.service import NodeService
from roost.node.storage.puller import PullSettings
from roost.testing.store import MemoryStore
from tests.real.ground import BASE, CHANCE, Ground, image_sources, new_sandbox_id
from tests.registry import File, Registry, archive, busybox, directory, image, symlink

pytestmark = pytest.mark.anyio

ME = Principal(DEFAULT_TEAM, FULL, None)
SIZE = Size(memory_mb=1024, disk_mb=1024)


@dataclass(frozen=True, slots=True)
class Works:
    """A server without doors, and its node."""

    control: Control
    node: NodeService
    store: MemoryStore

    async def build(self, *stages: Stage, name: str = "own", **more: object) -> Build:
        request = {key: more.pop(key) for key in ("tag", "secrets", "uses_cache") if key in more}
        definition = Definition(stages, **more)  # type: ignore[arg-type]
        build = await self.control.builds.begin(ME, BuildRequest(name, definition, size=SIZE, **request))  # type: ignore[arg-type]
        return await self.ended(build)

    async def ended(self, build: Build) -> Build:
        with anyio.fail_after(120):
            async for _ in self.control.builds.follow_log(ME, build.id, 0):
                pass
        return await self.control.builds.get(ME, build.id)

    async def log(self, build: Build) -> list[str]:
        _, lines = await self.control.builds.read_log(ME, build.id, 0, 10_000)
        return [line.text for line in lines]

    async def upload(self, **files: str) -> FromContext:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w:gz") as archive:
            for name, content in files.items():
                member = tarfile.TarInfo(name.replace("__", "/"))
                member.size, member.mode = len(content), 0o755
                archive.addfile(member, io.BytesIO(content.encode()))
        content, digest = made.getvalue(), hashlib.sha256(made.getvalue()).hexdigest()

        async def pieces() -> AsyncIterator[bytes]:
            yield content

        await self.control.uploads.put(ME, digest, pieces())
        return FromContext(digest)

    async def inside(self, ref: str, command: str) -> str:
        """What a command says in a sandbox of the template."""
        template = await self.control.templates.get(ME, ref)
        sandbox = new_sandbox_id(CHANCE)
        me = Identity(sandbox, sandbox, ref, "", dict(template.env), template.user, template.workdir, fresh=True)
        await self.node.create(CreateOrder(sandbox, 1, template.snapshot, SIZE, me))
        try:
            ran = await self.node.run(RunOrder(sandbox, 1, command))
        finally:
            await self.node.kill(KillOrder(sandbox, 1))
        assert ran.exit_code == 0, ran.output
        return ran.output


@asynccontextmanager
async def working(node: NodeService, store: MemoryStore) -> AsyncIterator[Works]:
    clock = SystemClock()
    ledger = ReportedLedger(clock)
    control = compose(
        Dependencies(
            store=store,
            usage=store,
            cluster=LocalCluster(id=node.id, node=node, snapshots=node.snapshots, builds=node.builds),
            ledger=ledger,
            clock=clock,
            random=random.SystemRandom(),
            reports=ledger,
        )
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(control.build_queue.run)
        yield Works(control, node, store)
        tasks.cancel_scope.cancel()


@pytest.fixture
async def store() -> MemoryStore:
    """With the template `base`: the disk that the ground imported."""
    store = MemoryStore()
    now = time.time()
    entry = Snapshot(BASE, DEFAULT_TEAM, NodeId("n1"), SnapshotKind.DISK, Purpose.TEMPLATE, "base", now)
    template = Template(TemplateId("t" + "0" * 20), None, "base", BASE, SIZE, "d", now, user="root", workdir="/")
    async with store.transaction() as transaction:
        await transaction.put(entry, expect_revision=None)
        await transaction.put(template, expect_revision=None)
    return store


@pytest.fixture
async def works(node: NodeService, store: MemoryStore) -> AsyncIterator[Works]:
    async with working(node, store) as works:
        yield works


def stage(*steps: Step, base: object = None, name: str = "") -> Stage:
    return Stage(name, base or FromTemplate("base"), steps, Place(1, "FROM roost/base"))  # type: ignore[arg-type]


def run(command: str | tuple[str, ...], line: int = 2, **more: object) -> Run:
    return Run(command, Place(line, f"RUN {command}"), **more)  # type: ignore[arg-type]


def states(build: Build) -> list[StepState]:
    return [step.state for step in build.steps]


DONE, CACHED, FAILED, WAITING = StepState.DONE, StepState.CACHED, StepState.FAILED, StepState.WAITING


async def test_a_template_is_built_and_only_what_changed_runs_again(works: Works) -> None:
    steps = [
        SetEnv((("GREETING", "hello"),), Place(2, "ENV GREETING=hello")),
        SetWorkdir("/app", Place(3, "WORKDIR /app")),
        run('echo "$GREETING world" > greeting; date +%s%N > stamp; echo said', 4),
        run("cp greeting /tmp/kept; cat /tmp/kept", 5),
    ]
    build = await works.build(stage(*steps))
    assert build.state is BuildState.READY, build.failure
    assert {"said", "hello world"} <= set(await works.log(build))
    first = await works.inside("own", "cat /app/greeting /app/stamp; echo $GREETING; pwd")
    assert first.splitlines()[0] == "hello world"
    assert first.splitlines()[2:] == ["hello", "/app"]

    again = await works.build(stage(*steps))
    assert (again.state, set(states(again))) == (BuildState.READY, {CACHED})
    assert again.template == build.template

    changed = await works.build(stage(*steps[:-1], run("cat /app/greeting > /app/copy", 5)))
    assert states(changed) == [CACHED, CACHED, CACHED, CACHED, DONE]
    assert await works.inside("own", "cat /app/stamp /app/copy") == first.splitlines()[1] + "\nhello world\n"


async def test_a_step_that_fails_is_named_and_leaves_nothing(works: Works) -> None:
    build = await works.build(stage(run("echo fine", 2), run("echo this is wrong >&2; exit 7", 3), run("echo never", 4)))
    assert build.state is BuildState.FAILED
    assert build.failure is not None
    assert (build.failure.line, build.failure.step) == (3, 2)
    assert "exit code 7" in build.failure.message
    assert "this is wrong" in build.failure.message
    assert states(build) == [DONE, DONE, FAILED, WAITING]
    assert not (await works.node.report()).present
    mended = await works.build(stage(run("echo fine", 2), run("echo this is right", 3)))
    assert states(mended) == [CACHED, CACHED, DONE]


async def test_files_come_from_uploads_definitions_and_stages(works: Works) -> None:
    context = await works.upload(app__main="#!/bin/sh\necho main\n", app__data__x="data", other="not copied")
    made = stage(run("mkdir /out && echo built > /out/result && chown 1234:1234 /out/result"), name="made")
    final = stage(
        Copy(context, ("app",), "/srv/app", Place(3, "COPY app /srv/app"), owner="1000:1000"),
        Copy(context, ("app/ma*",), "/usr/local/bin/", Place(4, "COPY app/ma* /usr/local/bin/"), mode="u=rx,go="),
        Copy(FromStage(0), ("out/result",), "/result", Place(5, "COPY --from=made /out/result /result")),
        Write("first\nsecond\n", "/etc/notes", Place(6, "COPY <<EOF /etc/notes"), name="EOF"),
        SetUser("1000", Place(7, "USER 1000")),
    )
    build = await works.build(made, final)
    assert build.state is BuildState.READY, build.failure
    files = "/srv/app/main /usr/local/bin/main /result"
    said = await works.inside("own", f"main; cat /srv/app/data/x /result /etc/notes; stat -c '%u %a' {files}")
    assert said.splitlines() == ["main", "data" + "built", "first", "second", "1000 755", "0 500", "1234 644"]
    assert "not copied" not in said

    same = await works.upload(app__main="#!/bin/sh\necho main\n", app__data__x="data", other="changed")
    final = Stage("", final.base, tuple(_with_origin(step, same) for step in final.steps), final.place)
    again = await works.build(made, final)
    assert set(states(again)) == {CACHED}, "a file that no step takes changes nothing"


def _with_origin(step: Step, origin: FromContext) -> Step:
    return replace(step, origin=origin) if isinstance(step, Copy) and isinstance(step.origin, FromContext) else step


async def test_a_secret_is_in_no_layer_and_no_log(works: Works) -> None:
    mount = SecretMount("token", "/run/secrets/token", is_required=True)
    command = 'cat /run/secrets/token; test "$(stat -c %a /run/secrets/token)" = 400; wc -c < /run/secrets/token > /length'
    build = await works.build(stage(run(command, mounts=(mount,))), secrets={"token": "very secret"})
    assert build.state is BuildState.READY, build.failure
    assert "very secret" not in " ".join(await works.log(build))
    assert await works.inside("own", "cat /length; ls /run/secrets 2>/dev/null || true") == "11\n"
    missing = await works.build(stage(run(command + "; true", mounts=(mount,))))
    assert missing.failure is not None and "secret 'token'" in missing.failure.message


async def test_a_cache_is_kept_between_builds_and_in_no_layer(works: Works) -> None:
    cache = (CacheMount("/var/cache/own", "own"),)
    first = run("echo kept > /var/cache/own/file; ls /var/cache", mounts=cache)
    assert (await works.build(stage(run("mkdir /var/cache/own && touch /var/cache/own/below"), first))).state is BuildState.READY
    assert await works.inside("own", "ls -A /var/cache/own; ls -A / | grep -c roost-caches || true") == "below\n0\n"
    again = await works.build(stage(run("cat /var/cache/own/file", mounts=cache)), name="other")
    assert again.state is BuildState.READY, again.failure
    assert "kept" in await works.log(again)


async def test_a_step_without_a_network_and_daemons_that_are_left(works: Works) -> None:
    left = run("nohup sleep 1000 >/dev/null 2>&1 & echo left", 2)
    none = run("ls /proc | grep -c '^[0-9]' > /count; ! ping -c1 -W1 169.254.7.1", 3, has_network=False)
    build = await works.build(stage(left, none))
    assert build.state is BuildState.READY, build.failure
    assert int(await works.inside("own", "cat /count")) <= 5


async def test_services_that_are_ready_are_in_the_template(works: Works) -> None:
    steps = (SetStart(Place(3, "CMD"), command=("/bin/sh", "-c", "echo up; touch /ready; exec sleep 12345")),)
    build = await works.build(stage(run("true"), *steps), ready=TemplateCommand("test -e /ready"))
    assert build.state is BuildState.READY, build.failure
    assert "up" in await works.log(build)
    assert "12345" in await works.inside("own", "ps ax || cat /proc/[0-9]*/cmdline | tr '\\0' ' '")


async def test_a_template_of_nothing_has_neither_shell_nor_tar(works: Works) -> None:
    context = await works.upload(etc__motd="nothing else\n")
    final = Stage("", FromNothing(), (Copy(context, ("etc",), "/etc/", Place(2, "COPY etc /etc/")),), Place(1, "FROM scratch"))
    build = await works.build(final, name="tiny")
    assert build.state is BuildState.READY, build.failure


async def test_a_build_is_cancelled(works: Works) -> None:
    definition = Definition((stage(run("echo begun; sleep 600")),))
    build = await works.control.builds.begin(ME, BuildRequest("own", definition, size=SIZE))
    with anyio.fail_after(60):
        async for _, lines in works.control.builds.follow_log(ME, build.id, 0):
            if any(line.text == "begun" for line in lines):
                await works.control.builds.cancel(ME, build.id)
    ended = await works.ended(build)
    assert ended.state is BuildState.CANCELLED
    assert not (await works.node.report()).present


async def test_a_server_that_ends_goes_on_behind_the_last_step(ground: Ground, node: NodeService, store: MemoryStore) -> None:
    steps = (run("date +%s%N > /stamp", 2), run("echo begun; sleep 3", 3))
    async with working(node, store) as works:
        build = await works.control.builds.begin(ME, BuildRequest("own", Definition((stage(*steps),)), size=SIZE))
        with anyio.fail_after(60):
            async for _, lines in works.control.builds.follow_log(ME, build.id, 0):
                if any(line.text == "begun" for line in lines):
                    break
    async with working(node, store) as works:
        ended = await works.ended(build)
        assert ended.state is BuildState.READY, ended.failure
        assert states(ended) == [CACHED, CACHED, DONE]
        assert ended.attempts == 2


async def test_an_image_of_a_registry_is_a_base_and_not_fetched_twice(
    ground: Ground, registry: Registry, store: MemoryStore
) -> None:
    files = archive(File("bin/busybox", busybox(), 0o755), symlink("bin/sh", "busybox"), directory("work"))
    reference = registry.push("small", image(files, WorkingDir="/work", Env=["GREETING=hello"], Cmd=["/bin/sh", "-c", "echo up"]))
    steps = (run('echo "$GREETING" > greeting; /bin/busybox tar --help 2>/dev/null; true'), run("/bin/busybox cat greeting", 3))
    async with (
        ground.opened(images=image_sources(PullSettings(insecure=(registry.host,)))) as node,
        working(node, store) as works,
    ):
        build = await works.build(stage(*steps, base=FromImage(reference)))
        assert build.state is BuildState.READY, build.failure
        assert {"hello", "up"} <= set(await works.log(build))
        template = await works.control.templates.get(ME, "own")
        assert (template.workdir, template.env["GREETING"]) == ("/work", "hello")
        again = await works.build(stage(*steps, base=FromImage(reference)))
        assert set(states(again)) == {CACHED}
        plain = await works.build(stage(base=FromImage(reference)), name="plain")
        assert plain.state is BuildState.READY, plain.failure
        missing = await works.build(stage(base=FromImage(f"{registry.host}/none:1")))
        assert missing.failure is not None and (missing.failure.code, missing.failure.line) == ("image_not_found", 1)


async def test_what_a_build_costs(works: Works, record_property: Callable[[str, object], None]) -> None:
    """Ten steps: nothing runs the second time, and a changed last step costs little more than itself."""
    steps = [run(f"echo {number} > /file-{number}", number + 2) for number in range(10)]

    async def timed(*steps: Step) -> float:
        began = time.monotonic()
        assert (await works.build(stage(*steps))).state is BuildState.READY
        return time.monotonic() - began

    took = {"cold": await timed(*steps), "unchanged": await timed(*steps)}
    took["changed last step"] = await timed(*steps[:-1], run("echo other > /file-9", 11))
    record_property("seconds", took)
    assert took["unchanged"] < 1.0
