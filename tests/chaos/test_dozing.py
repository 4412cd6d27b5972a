"""The server is killed with -9 at every step of falling into a doze and waking from it; and dozers meet what sleepers meet."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from roost.client import calls
from tests.chaos.invariants import check_sound, sentry_of
from tests.chaos.subjects import Subject
from tests.chaos.test_crashes import crash
from tests.real.server import Server, eventually, settles


@pytest.fixture
def drowsy(server: Server) -> Iterator[Server]:
    """The server, with memory for those that sleep."""
    server.kill()
    server.start(doze_memory_share=0.25)
    yield server
    server.kill()
    server.start(doze_memory_share=0)
    eventually(lambda: check_sound(server))


def dozes(server: Server, subject: Subject) -> None:
    assert server.roost.run(calls.activity(subject.id))["dozing"]


@pytest.mark.parametrize("step", ["pause.frozen", "kill.begin", "kill.noted", "kill.dozing", "kill.done"])
def test_falling_into_it(drowsy: Server, step: str) -> None:
    subject = Subject.of(drowsy)
    crash(drowsy, step, subject.sandbox.pause)
    settles(drowsy, subject.id, "paused")
    eventually(lambda: check_sound(drowsy))
    eventually(lambda: dozes(drowsy, subject))
    assert not subject.sandbox.resume().cold
    subject.check_memory()
    subject.check_usable()


@pytest.mark.parametrize("step", ["begin", "thawing", "thawed"])
def test_waking_from_it(drowsy: Server, step: str) -> None:
    subject = Subject.of(drowsy)
    subject.sandbox.pause()
    eventually(lambda: dozes(drowsy, subject))
    pid = sentry_of(drowsy, subject.id)
    crash(drowsy, f"resume.{step}", subject.sandbox.resume)
    settles(drowsy, subject.id, "running")
    eventually(lambda: check_sound(drowsy))
    assert sentry_of(drowsy, subject.id) == pid, "the same process woke"
    subject.check_memory()
    subject.check_usable()


def test_its_process_dies_and_nobody_notices(drowsy: Server) -> None:
    subject = Subject.of(drowsy)
    subject.sandbox.pause()
    eventually(lambda: dozes(drowsy, subject))
    os.kill(sentry_of(drowsy, subject.id), signal.SIGKILL)
    eventually(lambda: check_sound(drowsy))
    assert not subject.sandbox.resume().cold
    subject.check_memory()
    subject.check_usable()


def test_it_is_killed_and_comes_back(drowsy: Server) -> None:
    subject = Subject.of(drowsy)
    subject.sandbox.pause()
    eventually(lambda: dozes(drowsy, subject))
    crash(drowsy, "kill.begin", subject.sandbox.kill)
    settles(drowsy, subject.id, "dead")
    eventually(lambda: check_sound(drowsy))
    back = drowsy.roost.undelete(subject.id)
    subject.child(back.id).check_usable()
