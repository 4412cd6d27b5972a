"""Templates that people build, on a node in memory: what runs and what does not, queues, cancelling, and servers that die."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import anyio
import pytest

from roost.contracts.store import Query
from roost.control.builds.builds import MOST_WAITING, BuildRequest
from roost.control.builds.logs import MOST_BYTES
from roost.control.builds.uploads import KEPT_S
from roost.control.lifecycle.chores import COLLECT_EVERY_S
from roost.domain.access import READ_ONLY, Principal
from roost.domain.build import (
    Copy,
    Definition,
    FromContext,
    FromImage,
    FromStage,
    FromTemplate,
    ImageSettings,
    Place,
    Run,
    SetEnv,
    Stage,
    Step,
)
from roost.domain.build_errors import StepInvalid
from roost.domain.build_failures import (
    BuildEnded,
    BuildNotFound,
    TemplateNameTaken,
    TooManyBuilds,
    UploadDiffers,
    UploadNotFound,
    UploadTooLarge,
)
from roost.domain.builds import Build, BuildState, Layer, StepState, Upload
from roost.domain.errors import EngineFailed, Forbidden, Invalid, TemplateNotFound, Unavailable
from roost.domain.snapshot import Purpose
from roost.domain.template import Template
from roost.testing.conformance.builds import archive
from tests.flows.world import ME, STRANGER, Ground, Roost, dies_at, serving

pytestmark = pytest.mark.anyio

DONE, CACHED, FAILED, WAITING = StepState.DONE, StepState.CACHED, StepState.FAILED, StepState.WAITING


def run(command: str, line: int = 2) -> Run:
    return Run((command,), Place(line, f"RUN {command}"))


def stage(*steps: Step, base: FromTemplate | FromImage | FromStage = FromTemplate("base")) -> Stage:  # noqa: B008
    return Stage("", base, steps, Place(1, "FROM"))


async def begin(roost: Roost, *stages: Stage, name: str = "own", **request: Any) -> Build:
    return await roost.builds.begin(ME, BuildRequest(name, Definition(stages), **request))


async def ended(roost: Roost, build: Build) -> Build:
    async def is_over() -> bool:
        found = await roost.builds.get(ME, build.id)
        return found.state not in (BuildState.QUEUED, BuildState.BUILDING)

    await roost.ground.until(is_over)
    return await roost.builds.get(ME, build.id)


async def built(roost: Roost, *stages: Stage, **request: Any) -> Build:
    return await ended(roost, await begin(roost, *stages, **request))


def states(build: Build) -> list[StepState]:
    return [step.state for step in build.steps]


def commands(ground: Ground) -> list[str]:
    return [order.words[-1] for order in ground.builds.ran]


async def send(roost: Roost, who: Principal = ME, **files: str) -> FromContext:
    content = archive(**files)
    digest = hashlib.sha256(content).hexdigest()
    await roost.uploads.put(who, digest, pieces(content))
    return FromContext(digest)


async def pieces(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def test_every_step_leaves_a_layer_and_only_what_changed_runs(roost: Roost) -> None:
    build = await built(roost, stage(run("a"), SetEnv((("K", "v"),), Place(3, "ENV")), run("b", 4)))
    assert (build.state, states(build)) == (BuildState.READY, [DONE, DONE, DONE, DONE])
    template = await roost.templates.get(ME, "own")
    assert (template.id, template.env["K"], template.team) == (build.template, "v", ME.team)
    assert roost.ground.node.images[template.snapshot].disk.endswith("ran a\nran b")

    same = await built(roost, stage(run("a"), SetEnv((("K", "v"),), Place(9, "ENV")), run("b", 10)))
    assert set(states(same)) == {CACHED}, "where a step stands does not matter"
    changed = await built(roost, stage(run("a"), SetEnv((("K", "v"),), Place(3, "ENV")), run("c", 4)))
    assert states(changed) == [CACHED, CACHED, DONE, DONE], "a setting costs nothing"
    other = await built(roost, stage(run("a"), SetEnv((("K", "w"),), Place(3, "ENV")), run("b", 4)))
    assert states(other) == [CACHED, CACHED, DONE, DONE], "what a command sees is part of its key"
    assert commands(roost.ground) == ["a", "b", "c", "b"]
    roost.ground.clock.advance(1)
    anew = await built(roost, stage(run("a"), run("x")), uses_cache=False)
    assert commands(roost.ground)[-2:] == ["a", "x"]
    assert anew.state is BuildState.READY
    roost.ground.clock.advance(COLLECT_EVERY_S)
    await roost.quiet()
    await roost.ground.check_invariants()


async def test_another_team_shares_no_layer_and_sees_no_build(roost: Roost) -> None:
    build = await built(roost, stage(run("a")))
    theirs = await roost.builds.begin(STRANGER, BuildRequest("own", Definition((stage(run("a")),))))

    async def is_over() -> bool:
        return (await roost.builds.get(STRANGER, theirs.id)).state is BuildState.READY

    await roost.ground.until(is_over)
    assert commands(roost.ground) == ["a", "a"]
    for act in (roost.builds.get, roost.builds.cancel):
        with pytest.raises(BuildNotFound):
            await act(STRANGER, build.id)
    assert [each.id for each in await roost.builds.list(STRANGER)] == [theirs.id]
    with pytest.raises(Forbidden):
        await roost.builds.begin(replace(ME, scope=READ_ONLY), BuildRequest("own", Definition((stage(),))))
    assert (await roost.templates.get(ME, "own")).snapshot != (await roost.templates.get(STRANGER, "own")).snapshot


async def test_a_step_that_fails_names_itself_and_keeps_the_template_before(roost: Roost) -> None:
    await built(roost, stage(run("a")))
    before = await roost.templates.get(ME, "own")
    roost.ground.builds.answers["wrong"] = [(7, "it is\nall wrong\n")]
    build = await built(roost, stage(run("a"), run("wrong", 3), run("never", 4)))
    assert (build.state, states(build)) == (BuildState.FAILED, [CACHED, CACHED, FAILED, WAITING])
    assert build.failure is not None
    assert (build.failure.code, build.failure.line, build.failure.text) == ("build_command_failed", 3, "RUN wrong")
    assert "exit code 7" in build.failure.message and "all wrong" in build.failure.message
    assert await roost.templates.get(ME, "own") == before
    _, lines = await roost.builds.read_log(ME, build.id, 0, 100)
    assert [line.text for line in lines if line.stream == "stdout"] == ["it is", "all wrong"]
    assert not roost.ground.node.guests
    with pytest.raises(BuildEnded):
        await roost.builds.cancel(ME, build.id)


async def test_stages_that_nobody_needs_are_not_built(roost: Roost) -> None:
    definition = (
        stage(run("unused")),
        stage(run("made")),
        stage(Copy(FromStage(1), ("x",), "/x", Place(5, "COPY --from")), run("last", 6)),
    )
    build = await built(roost, *definition)
    assert build.state is BuildState.READY, build.failure
    assert commands(roost.ground) == ["made", "last"]
    changed = (*definition[:2], stage(*definition[2].steps[:-1], run("other", 6)))
    await built(roost, *changed)
    assert commands(roost.ground) == ["made", "last", "other"]


async def test_stages_that_do_not_need_each_other_are_built_side_by_side(roost: Roost) -> None:
    gates = [roost.ground.node.gate("build_run") for _ in range(2)]
    copies = [Copy(FromStage(number), ("x",), f"/{number}", Place(9, "COPY --from")) for number in range(2)]
    build = await begin(roost, stage(run("one")), stage(run("two")), stage(*copies))
    for gate in gates:
        await gate.reached.wait()
    roost.ground.builds.answers["two"] = [(1, "")]
    for gate in gates:
        gate.open()
    over = await ended(roost, build)
    assert over.failure is not None and over.failure.text == "RUN two"
    assert (await built(roost, stage(run("one")), stage(run("two")), stage(*copies))).state is BuildState.READY
    assert not roost.ground.node.guests


async def test_a_stage_begins_where_another_ends_and_with_an_image(roost: Roost) -> None:
    snapshots = roost.ground.images
    snapshots.registry["docker.io/library/own:1"] = ImageSettings(env={"FROM": "image"}, workdir="/work", user="ada")
    build = await built(roost, stage(run("a"), base=FromImage("own:1")), stage(run("b"), base=FromStage(0)))
    assert build.state is BuildState.READY, build.failure
    template = await roost.templates.get(ME, "own")
    assert (template.user, template.workdir, template.env["FROM"]) == ("ada", "/work", "image")
    missing = await built(roost, stage(run("a"), base=FromImage("none:1")))
    assert missing.failure is not None and (missing.failure.code, missing.failure.step) == ("image_not_found", 0)
    gone = await built(roost, stage(run("a"), base=FromTemplate("nothing")))
    assert gone.failure is not None and gone.failure.code == "template_not_found"


async def test_what_makes_no_sense_is_refused_at_once(roost: Roost) -> None:
    with pytest.raises(TemplateNameTaken):
        await begin(roost, stage(), name="base")
    for name, tag in (("No Name", "latest"), ("own", "no tag"), ("own", "")):
        with pytest.raises(Invalid):
            await begin(roost, stage(), name=name, tag=tag)
    with pytest.raises(StepInvalid):
        await roost.builds.begin(ME, BuildRequest("own", Definition(())))
    with pytest.raises(UploadNotFound):
        await begin(roost, stage(Copy(FromContext("0" * 64), ("",), "/", Place(2, "COPY"))))


async def test_builds_wait_for_their_turn(roost: Roost) -> None:
    gates = [roost.ground.node.gate("build_run") for _ in range(2)]
    first, second = await begin(roost, stage(run("1")), name="one"), await begin(roost, stage(run("2")), name="two")
    third = await begin(roost, stage(run("3")), name="three")
    for gate in gates:
        await gate.reached.wait()
    assert (await roost.builds.get(ME, third.id)).state is BuildState.QUEUED
    gates[0].open()
    assert (await ended(roost, third)).state is BuildState.READY
    gates[1].open()
    assert {(await ended(roost, each)).state for each in (first, second)} == {BuildState.READY}


async def test_a_team_cannot_fill_the_queue(roost: Roost) -> None:
    gates = [roost.ground.node.gate("build_run") for _ in range(2)]
    for number in range(MOST_WAITING):
        await begin(roost, stage(run("x")), name=f"n{number}")
    with pytest.raises(TooManyBuilds):
        await begin(roost, stage(run("x")), name="more")
    for gate in gates:
        gate.open()


async def test_a_build_is_cancelled_while_it_waits_or_runs(roost: Roost) -> None:
    gates = [roost.ground.node.gate("build_run") for _ in range(2)]
    running = [await begin(roost, stage(run("a"), run(name)), name=name) for name in ("one", "two")]
    waiting = await begin(roost, stage(run("3")), name="three")
    for gate in gates:
        await gate.reached.wait()
    assert (await roost.builds.cancel(ME, waiting.id)).state is BuildState.CANCELLED
    await roost.builds.cancel(ME, running[0].id)
    assert (await ended(roost, running[0])).state is BuildState.CANCELLED
    gates[1].open()
    assert (await ended(roost, running[1])).state is BuildState.READY
    assert not roost.ground.node.guests
    with pytest.raises(TemplateNotFound):
        await roost.templates.get(ME, "one")


async def test_a_server_that_stops_goes_on_with_its_builds(ground: Ground) -> None:
    async with serving(ground) as roost:
        build = await begin(roost, stage(run("a"), run("b")))
        gate = ground.node.gate("build_run")
        await gate.reached.wait()
    done_before = len(ground.builds.ran)
    async with serving(ground) as roost:
        over = await ended(roost, build)
        assert (over.state, over.attempts) == (BuildState.READY, 2)
        assert commands(ground)[done_before:] == ["a", "b"][done_before:]


@pytest.mark.parametrize("point", ["after create", "after snapshot", "before kill", "before snapshot"])
async def test_a_server_that_dies_in_the_middle_leaves_nothing_and_goes_on(ground: Ground, point: str) -> None:
    async def act(roost: Roost) -> None:
        roost.group.start_soon(roost.build_queue.run)
        await begin(roost, stage(run("a"), run("b")))
        await anyio.sleep_forever()

    await dies_at(ground, point, act)
    async with serving(ground) as roost:
        [build] = await roost.builds.list(ME)
        over = await ended(roost, build)
        assert over.state is BuildState.READY, over.failure
        await roost.quiet()
        assert not ground.node.guests
        ground.clock.advance(COLLECT_EVERY_S)
        await roost.quiet()
        await ground.check_invariants()


async def test_secrets_do_not_outlive_their_server(ground: Ground) -> None:
    async with serving(ground) as roost:
        gate = ground.node.gate("build_run")
        build = await begin(roost, stage(run("a")), secrets={"token": "very secret"})
        await gate.reached.wait()
    async with serving(ground) as roost:
        over = await ended(roost, build)
        assert over.failure is not None and over.failure.code == "secrets_gone"


async def test_layers_and_uploads_that_nobody_needs_are_collected(roost: Roost) -> None:
    context = await send(roost, a="1")
    await built(roost, stage(Copy(context, ("a",), "/a", Place(2, "COPY a /a")), run("b")))
    [upload] = await records(roost, Upload)
    roost.ground.clock.advance(KEPT_S + COLLECT_EVERY_S)
    await roost.quiet()
    assert not await records(roost, Upload)
    assert upload.digest not in roost.ground.builds.uploads
    assert len(await records(roost, Layer)) == 2
    roost.ground.clock.advance(15 * 86400.0)
    await roost.quiet()
    assert not await records(roost, Layer)
    assert not [entry for entry in await roost.ground.snapshots() if entry.purpose is Purpose.LAYER]
    sandbox = await roost.sandbox(template="own")
    assert roost.guest(sandbox).disk.endswith("ran b"), "a template needs no layer"
    await roost.ground.check_invariants()


async def test_layers_are_pruned_but_for_those_that_a_build_needs(roost: Roost) -> None:
    await built(roost, stage(run("a")), name="one")
    gate = roost.ground.node.gate("build_run")
    build = await begin(roost, stage(run("a"), run("b")), name="two")
    await gate.reached.wait()
    assert await roost.layers.prune(STRANGER, 0.0) == []
    assert await roost.layers.prune(ME, 0.0) == []
    gate.open()
    await ended(roost, build)
    assert len(await roost.layers.prune(ME, 0.0)) == 2
    with pytest.raises(Forbidden):
        await roost.layers.prune(replace(ME, scope=READ_ONLY), 0.0)


async def test_files_are_their_teams_own(roost: Roost) -> None:
    context = await send(roost, STRANGER, a="1")
    copy = Copy(context, ("a",), "/a", Place(2, "COPY a /a"))
    with pytest.raises(UploadNotFound):
        await begin(roost, stage(copy))
    with pytest.raises(UploadNotFound):
        await roost.uploads.find(ME, context.upload)
    await send(roost, a="1")
    assert (await built(roost, stage(copy))).state is BuildState.READY
    with pytest.raises(UploadDiffers):
        await roost.uploads.put(ME, "0" * 64, pieces(archive(a="2")))
    with pytest.raises(UploadTooLarge):
        await roost.uploads.put(ME, "0" * 64, pieces(b""), length=1 << 40)
    missing = await built(roost, stage(replace(copy, sources=("b",))))
    assert missing.failure is not None and (missing.failure.code, missing.failure.line) == ("nothing_to_copy", 2)


async def test_tags_name_builds_and_roll_back(roost: Roost) -> None:
    await built(roost, stage(run("a")), tag="v1")
    with pytest.raises(TemplateNotFound):
        await roost.templates.get(ME, "own")
    first = await roost.template_tags.tag(ME, "own:v1", "latest")
    await built(roost, stage(run("b")), tag="v2")
    await roost.template_tags.tag(ME, "own:v2", "latest")
    sandbox = await roost.sandbox(template="own")
    assert roost.guest(sandbox).disk.endswith("ran b")
    assert (await roost.sandbox(template="own:v1")).template == "own:v1"
    back = await roost.template_tags.tag(ME, "own:v1", "latest")
    assert (back.id, back.snapshot) == (first.id, first.snapshot)
    for ref in ("own:v1", "base"):
        with pytest.raises((TemplateNotFound, Forbidden)):
            await roost.template_tags.remove(STRANGER, ref)
    assert [each.tag for each in await roost.template_tags.remove(ME, "own:v1")] == ["v1"]
    assert roost.guest(await roost.sandbox(template="own")).disk.endswith("ran a"), "another tag names the same snapshot"
    assert {each.tag for each in await roost.template_tags.remove(ME, "own")} == {"v2", "latest"}
    assert not await records(roost, Template, {"name": "own"})
    await roost.ground.check_invariants()


async def test_a_log_is_bounded_and_can_be_followed_from_any_line(roost: Roost) -> None:
    roost.ground.builds.answers["loud"] = [(0, "x" * 5000 + "\n") for _ in range(1)]
    roost.ground.builds.answers["flood"] = [(0, ("y" * 1000 + "\n") * (MOST_BYTES // 1000 + 100))]
    build = await built(roost, stage(run("loud"), run("flood")))
    following, lines = await roost.builds.read_log(ME, build.id, 0, 100_000)
    assert sum(len(line.text) for line in lines) < MOST_BYTES + 10_000
    assert any("The log is full" in line.text for line in lines)
    assert lines[-1].text == "Template own is ready."
    again = [line async for _, some in roost.builds.follow_log(ME, build.id, following - 1) for line in some]
    assert again == lines[-1:]


async def test_an_engine_that_fails_fails_the_build_and_not_the_queue(roost: Roost) -> None:
    roost.ground.node.fail("snapshot", EngineFailed("snapshot", "it is broken"))
    build = await built(roost, stage(run("a")))
    assert build.failure is not None and (build.failure.code, build.failure.step) == ("engine_failed", 1)
    assert (await built(roost, stage(run("a")))).state is BuildState.READY
    await roost.ground.check_invariants()


async def test_a_node_that_ends_in_the_middle_costs_one_step(roost: Roost) -> None:
    await built(roost, stage(run("a")))
    roost.ground.node.fail("build_run", Unavailable("process_lost", "The node process of Roost ended."))
    build = await built(roost, stage(run("a"), run("b")), secrets={"token": "very secret"})
    assert (build.state, build.attempts, states(build)) == (BuildState.READY, 2, [CACHED, CACHED, DONE])
    roost.ground.node.fail("build_run", Unavailable("process_lost", "The node process of Roost ended."), times=9)
    build = await built(roost, stage(run("a"), run("c")))
    assert build.failure is not None and (build.attempts, build.failure.code) == (3, "process_lost")


async def records(roost: Roost, kind: Any, equal: dict[str, str] | None = None) -> list[Any]:
    async with roost.ground.store.reading() as reader:
        return await reader.find(kind, Query(equal=equal or {}))
