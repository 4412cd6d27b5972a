from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.control.sandboxes.requests import CreateSandbox
from roost.domain.errors import EngineFailed, TemplateBuildFailed, TemplateNotFound, TemplateNotReady, TemplateUnmade
from roost.domain.events import EventKind
from roost.domain.sandbox import Sandbox, Size
from roost.domain.snapshot import Purpose, SnapshotKind
from roost.domain.template import Recipe, TemplateCommand
from tests.flows.test_meetings import Asked
from tests.flows.world import BASE, ME, Ground, Roost, serving

pytestmark = pytest.mark.anyio
ROOT = Path("root.tar")
WEB = Recipe(
    name="web",
    digest="w1",
    size=Size(cpus=1),
    user="dev",
    workdir="/srv/it's",
    env={"A": "1"},
    run=(TemplateCommand("one"), TemplateCommand("two", user="dev", timeout_s=5)),
    start=TemplateCommand("nginx -g 'daemon off;'", user="dev"),
    ready=TemplateCommand("curl -f localhost", user="dev"),
)


async def test_a_template_is_built_step_by_step_into_a_snapshot(roost: Roost) -> None:
    roost.ground.node.commands.ran.clear()
    said: list[str] = []
    template = await roost.templates.build(WEB, said.append)
    users, commands = zip(*roost.ground.node.commands.ran, strict=True)
    assert users == ("root", "dev", "dev", "dev")
    assert (commands[0], commands[1], commands[3]) == ("one", "two", "curl -f localhost")
    assert (roost.ground.node.commands.limits["one"], roost.ground.node.commands.limits["two"]) == (600, 5)
    assert "nohup setsid" in commands[2] and commands[2].endswith("&")
    assert said == [
        "importing the root filesystem",
        "booting",
        "one",
        "two",
        "starting nginx -g 'daemon off;'",
        "waiting until it is ready",
        "taking the snapshot",
    ]
    [entry] = [entry for entry in await roost.ground.snapshots() if entry.id == template.snapshot]
    assert (entry.purpose, entry.kind) == (Purpose.TEMPLATE, SnapshotKind.MEMORY)
    assert [each.name for each in await roost.templates.list(ME)] == ["base", "web"]
    assert await roost.templates.get(ME, "web") == await roost.templates.get(ME, template.id) == template
    assert (await roost.ground.events(EventKind.TEMPLATE_BUILT))[-1].facts["template"] == "web"
    assert roost.ground.node.warm.keys() == {template.snapshot, (await roost.templates.get(ME, "base")).snapshot}
    await roost.ground.check_invariants()

    sandbox = await roost.sandbox(template="web", env={"B": "2"})
    identity = roost.guest(sandbox).identity
    assert (identity.user, identity.workdir, identity.env) == ("dev", "/srv/it's", {"A": "1", "B": "2"})
    assert sandbox.size == Size(cpus=1)


async def test_the_start_command_survives_any_quoting(roost: Roost, tmp_path: Path) -> None:
    work = tmp_path / "it's here"
    work.mkdir()
    recipe = replace(WEB, workdir=str(work), start=TemplateCommand("""printf '%s' "$PWD" > "where it's" """))
    await roost.templates.build(recipe)
    command = roost.ground.node.commands.ran[-2][1].replace("/tmp/start.log", str(tmp_path / "log")).removesuffix("&")
    await anyio.run_process(["/bin/sh", "-c", command])
    assert (work / "where it's").read_text() == str(work)


async def test_ready_is_asked_until_it_is(roost: Roost) -> None:
    roost.ground.node.commands.answers["curl -f localhost"] = [(7, "refused")] * 3
    built = Asked(roost, lambda: roost.templates.build(WEB))

    async def has_asked() -> bool:
        roost.ground.clock.advance(0.5)
        return built.answer is not None

    await roost.ground.until(has_asked)
    assert roost.ground.node.commands.ran.count(("dev", "curl -f localhost")) == 4


async def test_a_template_that_never_gets_ready_fails(roost: Roost) -> None:
    roost.ground.node.commands.answers["curl -f localhost"] = [(7, "refused")] * 100
    built = Asked(roost, lambda: roost.templates.build(WEB))

    async def has_failed() -> bool:
        roost.ground.clock.advance(30)
        return built.error is not None

    await roost.ground.until(has_failed)
    assert isinstance(built.error, TemplateBuildFailed)
    await roost.ground.check_invariants()


async def test_a_failing_step_says_which_and_what_and_leaves_the_one_before(roost: Roost) -> None:
    before = await roost.templates.get(ME, "base")
    roost.ground.node.commands.answers["apt-get install -y git"] = [(100, "E: no network")]
    with pytest.raises(TemplateBuildFailed, match="no network") as failed:
        await roost.templates.build(replace(BASE, digest="d2"))
    assert failed.value.facts["exit_code"] == 100
    assert await roost.templates.get(ME, "base") == before
    await roost.ground.check_invariants()


@pytest.mark.parametrize("point", ["import", "create", "snapshot"])
async def test_a_node_that_fails_leaves_nothing_behind(roost: Roost, point: str) -> None:
    roost.ground.node.fail(point, EngineFailed(point, "no"))
    with pytest.raises(EngineFailed):
        await roost.templates.build(WEB)
    with pytest.raises(TemplateNotFound):
        await roost.templates.get(ME, "web")
    await roost.ground.check_invariants()


async def test_ensure_builds_only_what_changed_or_is_missing(roost: Roost) -> None:
    ran = roost.ground.node.commands.ran
    ran.clear()
    first = await roost.templates.ensure(BASE)
    assert ran == [], "it is there and was made from this recipe"
    second = await roost.templates.ensure(replace(BASE, digest="d2"))
    assert ran and second.id == first.id and second.snapshot != first.snapshot
    assert first.snapshot not in roost.ground.node.images, "nobody needs the one before"
    del roost.ground.node.images[second.snapshot]
    third = await roost.templates.ensure(replace(BASE, digest="d2"))
    assert third.snapshot in roost.ground.node.images
    await roost.ground.check_invariants()


async def test_the_keeper_leaves_a_building_site_alone(roost: Roost) -> None:
    node = roost.ground.node
    gate = node.gate("snapshot")
    built = Asked(roost, lambda: roost.templates.build(WEB))
    await gate.reached.wait()
    orders = len(node.orders)
    roost.ground.clock.advance(601)
    for _ in range(50):
        await roost.ground.records()
    assert node.orders[orders:] == []
    assert len(node.guests) == 1
    gate.open()
    assert (await built.done()).answer.name == "web"


async def test_a_server_that_stops_while_building_clears_the_site(ground: Ground) -> None:
    async with serving(ground) as roost:
        gate = ground.node.gate("snapshot")
        Asked(roost, lambda: roost.templates.build(WEB))
        await gate.reached.wait()
    await ground.check_invariants()


async def test_who_asks_for_a_template_that_is_being_made_is_told_when_to_come_back(roost: Roost) -> None:
    request = CreateSandbox(template="web")
    with pytest.raises(TemplateNotFound):
        await roost.sandboxes.create(ME, request)
    roost.templates.expect("web")
    with pytest.raises(TemplateNotReady, match="waiting for its turn"):
        await roost.sandboxes.create(ME, request)
    gate = roost.ground.node.gate("snapshot")
    made = Asked(roost, lambda: roost.templates.ensure(WEB))
    await gate.reached.wait()
    roost.ground.clock.advance(20)
    with pytest.raises(TemplateNotReady, match="taking the snapshot") as told:
        await roost.sandboxes.create(ME, request)
    assert (told.value.facts["elapsed_s"], told.value.facts["wait_s"]) == (20, 40)
    gate.open()
    await made.done()
    assert (await roost.sandboxes.create(ME, request)).template == "web"


async def test_the_one_before_serves_while_the_next_is_made(roost: Roost) -> None:
    await roost.templates.ensure(WEB)
    gate = roost.ground.node.gate("snapshot")
    made = Asked(roost, lambda: roost.templates.ensure(replace(WEB, digest="w2")))
    await gate.reached.wait()
    assert (await roost.sandboxes.create(ME, CreateSandbox(template="web"))).template == "web"
    gate.open()
    await made.done()


async def test_a_template_that_could_not_be_made_says_why_and_is_tried_again(roost: Roost) -> None:
    roost.ground.node.commands.answers["one"] = [(7, "no such package")]
    failures: list[tuple[str, str, float]] = []
    other = replace(WEB, name="other")
    made = Asked(
        roost,
        lambda: roost.templates.ensure_all(
            [WEB, other],
            lambda *_: None,
            lambda recipe, why, wait_s: failures.append((recipe.name, why.code, wait_s)),
        ),
    )

    async def other_is_made() -> bool:
        return "other" in [template.name for template in await roost.templates.list(ME)]

    await roost.ground.until(other_is_made)
    with pytest.raises(TemplateUnmade, match=r"(?s)in about 10 s.*no such package") as told:
        await roost.sandboxes.create(ME, CreateSandbox(template="web"))
    assert told.value.facts["wait_s"] == 10
    [event] = await roost.ground.events(EventKind.TEMPLATE_FAILED)
    assert (event.facts["template"], event.facts["again_at"]) == ("web", event.at + 10)

    async def is_made() -> bool:
        roost.ground.clock.advance(10)
        return made.is_done

    await roost.ground.until(is_made)
    assert failures == [("web", "template_build_failed", 10)]
    assert (await roost.sandboxes.create(ME, CreateSandbox(template="web"))).template == "web"


async def test_a_template_that_cannot_be_made_is_tried_ever_more_seldom(roost: Roost) -> None:
    roost.ground.node.commands.answers["one"] = [(7, "no such package")] * 12
    waits: list[float] = []
    made = Asked(roost, lambda: roost.templates.ensure_all([WEB], lambda *_: None, lambda _, __, wait: waits.append(wait)))

    async def is_made() -> bool:
        if waits:
            roost.ground.clock.advance(waits[-1])
        return made.is_done

    await roost.ground.until(is_made)
    assert waits == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]
    await roost.ground.check_invariants()


async def test_a_desktop_stays_one_through_snapshot_and_fork_and_is_kept_warm_less(roost: Roost) -> None:
    await roost.templates.ensure(replace(WEB, has_desktop=True))
    template = await roost.templates.get(ME, "web")
    base = await roost.templates.get(ME, "base")
    assert template.has_desktop and not base.has_desktop
    warm = roost.ground.node.warm
    assert (warm[template.snapshot], warm[base.snapshot]) == (1, 2)
    sandbox = await roost.sandboxes.create(ME, CreateSandbox(template="web", env={"B": "2"}))
    snapshot = await roost.snapshots.take(ME, sandbox.id)
    copy = await roost.sandboxes.create(ME, CreateSandbox(template=snapshot.id))
    [child] = await roost.forks.fork(ME, sandbox.id, 1)
    for each in (sandbox, copy, child):
        assert isinstance(each, Sandbox) and each.has_desktop
        assert each.env == {"A": "1", "B": "2"}
