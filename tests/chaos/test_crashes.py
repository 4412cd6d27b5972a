"""The server is killed with -9 at every step of every move. The next one finishes what was begun, and nobody lost anything."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from roost.client import calls
from roost.domain.errors import Unavailable
from tests.chaos.invariants import check_sound
from tests.chaos.subjects import Subject
from tests.real.server import Server, eventually, said, settles

# Every move begins with control's commit ("begin": no step of the node was done yet) and ends with the node's last step, of which
# control never heard.
# Steps after which no more is to be found than after the one before them are left out: each costs five seconds.
CREATE = ("begin", "clone", "restore", "done")
PAUSE = ("begin", "directory", "freeze", "hold", "memory", "stop", "prove", "published", "frozen")
RESUME = ("begin", "kept slot", "clone", "restore", "done")
SNAPSHOT = ("begin", "directory", "memory", "disk", "thaw", "published", "done")
KILL = ("begin", "ended", "written", "kept", "done")


def crash(server: Server, step: str, act: Callable[[], object]) -> None:
    """The server dies at the step while it does what is asked; another one comes up."""
    server.die_at(step)
    with suppress(Unavailable):  # what the caller hears of a server that is gone
        act()
    server.wait_until_dead()
    server.start()


@pytest.mark.parametrize("step", CREATE)
def test_create(server: Server, step: str) -> None:
    name = f"create-{step}"
    crash(server, f"create.{step}", lambda: server.roost.create(name=name, idempotency_key=name))
    record = settles(server, name, "running")
    assert server.roost.create(name=name, idempotency_key=name).id == record.id  # asked again, it is the same one
    subject = Subject(server, record.id)
    subject.equip()
    eventually(lambda: check_sound(server))
    subject.check_usable()


@pytest.mark.parametrize("step", [*(f"pause.{step}" for step in PAUSE), "kill.begin", "kill.done"])
def test_pause(server: Server, step: str) -> None:
    """Also after the pause was committed, before and after the frozen source is taken away."""
    subject = Subject.of(server)
    crash(server, step, subject.sandbox.pause)
    settles(server, subject.id, "paused")
    eventually(lambda: check_sound(server))
    assert not subject.sandbox.resume().cold
    subject.check_memory()
    subject.check_usable()


@pytest.mark.parametrize("step", RESUME)
def test_resume(server: Server, step: str) -> None:
    subject = Subject.of(server)
    subject.sandbox.pause()
    crash(server, f"resume.{step}", subject.sandbox.resume)
    settles(server, subject.id, "running")
    eventually(lambda: check_sound(server))
    subject.check_memory()
    subject.check_usable()


@pytest.mark.parametrize("step", SNAPSHOT)
def test_snapshot(server: Server, step: str) -> None:
    subject = Subject.of(server)
    crash(server, f"snapshot.{step}", subject.sandbox.snapshot)
    settles(server, subject.id, "running")
    (taken,) = server.roost.snapshots(sandbox=subject.id)
    eventually(lambda: check_sound(server))
    subject.check_memory()
    subject.check_usable()
    server.roost.delete_snapshot(taken.id)


@pytest.mark.parametrize("step", KILL)
def test_kill(server: Server, step: str) -> None:
    subject = Subject.of(server)
    crash(server, f"kill.{step}", subject.sandbox.kill)
    settles(server, subject.id, "dead")
    eventually(lambda: check_sound(server))
    back = server.roost.undelete(subject.id)
    assert said(back, "cat mark") == subject.id, "whatever was killed can come back"
    back.kill(keep=False)
    eventually(lambda: check_sound(server))


@pytest.mark.parametrize("step", ["snapshot.memory", "create.restore"])
def test_fork(server: Server, step: str) -> None:
    """The parent runs on. Children that were begun come to life; none is half-made."""
    parent = Subject.of(server)
    crash(server, step, lambda: parent.sandbox.fork(2))
    settles(server, parent.id, "running")
    children = [record.id for record in server.roost.sandboxes() if record.parent == parent.id and record.state != "dead"]
    assert len(children) == (0 if step.startswith("snapshot") else 2)
    for id in children:
        settles(server, id, "running")
        parent.child(id).check_usable()
    eventually(lambda: check_sound(server))
    parent.check_memory()
    parent.check_usable()


def test_a_claim_from_the_warm_pool(server: Server) -> None:
    """The clone was nobody's a moment ago and somebody's now: it is made again, and the half-claimed one is gone."""
    server.kill()
    server.start(warm_pool=1)
    eventually(lambda: _check_warm(server))
    server.die_at("create.claim")
    with suppress(Unavailable):
        server.roost.create(name="claimed")
    server.wait_until_dead()
    server.start(warm_pool=0)
    settles(server, "claimed", "running")
    eventually(lambda: check_sound(server))
    subject = Subject(server, server.roost.get("claimed").id)
    subject.equip()
    subject.check_usable()


def _check_warm(server: Server) -> None:
    assert sum(server.roost.run(calls.node())["warm"].values()) == 1
