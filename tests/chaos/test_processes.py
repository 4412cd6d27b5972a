"""One of the server's processes is killed with -9. The others go on, it is started again, and nobody lost anything: no sandbox,
no stream, no order. At which steps a crash is worse than at others is `test_crashes`' business."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.chaos.invariants import check_sound, sentry_of
from tests.chaos.subjects import Subject
from tests.real.server import Server, eventually, said, settles

# Says a number ten times a second, for as long as somebody listens.
_SERVICE = """
import http.server, itertools, time

class Service(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        for number in itertools.count():
            self.wfile.write(b"%d\\n" % number)
            self.wfile.flush()
            time.sleep(0.1)

http.server.ThreadingHTTPServer(("", 8000), Service).serve_forever()
"""
WHO_AM_I = "curl -sSf --retry 20 --retry-all-errors --retry-delay 1 http://169.254.7.1/"


@contextmanager
def numbers_of(server: Server, subject: Subject) -> Iterator[Iterator[int]]:
    """A stream through the edge, on one connection: whoever cuts it is noticed."""
    subject.sandbox.files.write("/tmp/service.py", _SERVICE)
    with subject.sandbox.start("exec python3 /tmp/service.py"):
        pass
    said(subject.sandbox, "until curl -s -m 1 -o /dev/null -r 0-1 localhost:8000; test $? = 28; do sleep 0.05; done")
    headers = {"Host": server.host(subject.sandbox, 8000)}
    with httpx.stream("GET", server.url, headers=headers, timeout=120, trust_env=False) as answer:
        assert answer.status_code == 200
        yield (int(line) for line in answer.iter_lines())


def outlived(server: Server, step: str, act: Callable[[], object]) -> None:
    """The node's process dies at the step; whoever asked is answered all the same, only later."""
    before, control = server.role("node"), server.role("control")
    server.node_dies_at(step)
    act()
    server.wait_for_next(before)
    assert server.role("control") == control
    eventually(lambda: check_sound(server))


def test_streams_and_sandboxes_go_on_when_the_node_dies(server: Server) -> None:
    subject = Subject.of(server)
    with numbers_of(server, subject) as numbers:
        first, before = next(numbers), server.role("node")
        server.kill_role("node")
        server.wait_for_next(before)
        last = first
        for _ in range(20):
            number = next(numbers)
            assert number == last + 1
            last = number
    subject.check_memory()
    assert json.loads(said(subject.sandbox, WHO_AM_I))["id"] == subject.id
    subject.check_usable()


@pytest.mark.parametrize("step", ["clone", "done"])
def test_create(server: Server, step: str) -> None:
    made: list[str] = []
    outlived(server, f"create.{step}", lambda: made.append(server.roost.create().id))
    subject = Subject(server, made[0])
    subject.equip()
    subject.check_usable()


@pytest.mark.parametrize("step", ["pause.memory", "pause.published", "kill.begin"])
def test_pause(server: Server, step: str) -> None:
    subject = Subject.of(server)
    outlived(server, step, subject.sandbox.pause)
    settles(server, subject.id, "paused")
    assert not subject.sandbox.resume().cold
    subject.check_memory()
    subject.check_usable()


@pytest.mark.parametrize("step", ["restore", "done"])
def test_resume(server: Server, step: str) -> None:
    subject = Subject.of(server)
    subject.sandbox.pause()
    outlived(server, f"resume.{step}", subject.sandbox.resume)
    subject.check_memory()
    subject.check_usable()


def test_snapshot(server: Server) -> None:
    subject = Subject.of(server)
    outlived(server, "snapshot.memory", subject.sandbox.snapshot)
    (taken,) = server.roost.snapshots(sandbox=subject.id)
    subject.check_memory()
    subject.check_usable()
    server.roost.delete_snapshot(taken.id)


def test_kill(server: Server) -> None:
    subject = Subject.of(server)
    outlived(server, "kill.written", subject.sandbox.kill)
    assert subject.sandbox.refresh().state == "dead"
    back = server.roost.undelete(subject.id)
    assert said(back, "cat mark") == subject.id, "what was to be kept is kept"
    back.kill()


def test_the_node_and_its_sandboxes_go_on_when_control_dies(server: Server) -> None:
    subject = Subject.of(server)
    node, before = server.role("node"), server.role("control")
    server.kill_role("control")
    subject.check_memory()  # whoever connects meanwhile waits, and is answered
    server.wait_for_next(before)
    assert server.role("node") == node
    subject.check_memory()
    assert json.loads(said(subject.sandbox, WHO_AM_I))["id"] == subject.id
    subject.check_usable()
    eventually(lambda: check_sound(server))


def test_an_end_that_nobody_heard_of_is_found(server: Server) -> None:
    """A sandbox's process ends while the node's is being replaced."""
    subject, before = Subject.of(server), server.role("node")
    sentry = sentry_of(server, subject.id)
    server.kill_role("node")
    os.kill(sentry, signal.SIGKILL)
    server.wait_for_next(before)

    def rewound() -> None:
        assert subject.sandbox.refresh().incarnation > 1, server.log_tail()

    eventually(rewound)
    settles(server, subject.id, "running")
    subject.check_disk()
    subject.sandbox.kill()
    eventually(lambda: check_sound(server))
