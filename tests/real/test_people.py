"""What people can count on: what was killed comes back, what went wrong is taken back, an answer finds who asked for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from roost.client import Roost, Sandbox, calls, questions
from roost.client.questions import QuestionRecord
from roost.domain.errors import NotFound, NothingKept
from tests.real.server import Server, eventually, said, sandbox_of, serving

# A process whose count is in its memory alone; it counts on when it is told to, and says how far it is.
COUNTER = """
import itertools, pathlib, signal
mark = pathlib.Path("/dev/shm/count")
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
for number in itertools.count():
    mark.with_suffix(".new").write_text(str(number))
    mark.with_suffix(".new").rename(mark)
    signal.sigwait([signal.SIGUSR1])
"""
COUNT_ON = """
before=$(cat /dev/shm/count)
pkill -USR1 -f '[c]ounter.py'
until test $(cat /dev/shm/count) -gt $before; do sleep 0.01; done
cat /dev/shm/count
"""
WAITS_S = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def begin_to_count(sandbox: Sandbox) -> None:
    sandbox.files.write("/tmp/counter.py", COUNTER)
    with sandbox.start("exec python3 /tmp/counter.py"):
        pass
    said(sandbox, "until test -e /dev/shm/count; do sleep 0.01; done", timeout_s=WAITS_S)


def count_on(sandbox: Sandbox) -> int:
    return int(said(sandbox, COUNT_ON, timeout_s=WAITS_S))


def undelete(server: Server, sandbox: Sandbox) -> Sandbox:
    back = server.roost.undelete(sandbox.id)
    assert back.id != sandbox.id
    return back


def test_what_was_killed_comes_back_with_its_disk(server: Server) -> None:
    sandbox = server.roost.create(name="worker", metadata={"for": "anna"}, env={"COLOUR": "blue"})
    said(sandbox, "echo 'weeks of work' > result && mkdir -p deep/er && head -c 3000000 /dev/urandom > deep/er/bytes")
    digest = said(sandbox, "sha256sum deep/er/bytes")
    sandbox.kill()
    dead = sandbox.refresh()
    assert dead.state == "dead" and dead.raw["undelete_until"]
    with pytest.raises(NotFound):
        server.roost.get("worker")
    back = undelete(server, sandbox)
    try:
        assert (back.record.name, back.record.metadata) == ("worker", {"for": "anna"})
        assert said(back, "cat result && sha256sum deep/er/bytes && hostname && echo $COLOUR").splitlines() == [
            "weeks of work",
            digest,
            "worker",
            "blue",
        ]
        assert back.pause().state == "paused" and not back.resume().cold, "it is a sandbox like any other"
        with pytest.raises(NothingKept):
            server.roost.undelete(sandbox.id)
    finally:
        back.kill(keep=False)
    eventually(lambda: _check_nothing_kept(server))


def test_what_was_killed_in_its_sleep_comes_back_with_its_memory(server: Server) -> None:
    sandbox = server.roost.create()
    begin_to_count(sandbox)
    assert count_on(sandbox) == 1
    sandbox.pause()
    sandbox.kill()
    back = undelete(server, sandbox)
    try:
        assert count_on(back) == 2
    finally:
        back.kill(keep=False)


def test_killed_at_once_nothing_is_left(server: Server) -> None:
    sandbox = server.roost.create()
    sandbox.kill(keep=False)
    with pytest.raises(NothingKept):
        server.roost.undelete(sandbox.id)
    eventually(lambda: _check_nothing_kept(server))


def test_back_to_a_snapshot_and_forward_again(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        begin_to_count(sandbox)
        said(sandbox, "echo then > state && sync")
        kept = sandbox.snapshot(name="good")
        assert [count_on(sandbox) for _ in range(3)] == [1, 2, 3]
        said(sandbox, "echo now > state")
        assert sandbox.roll_back("good").state == "running"
        assert said(sandbox, "cat state") == "then"
        assert count_on(sandbox) == 1, "its memory went back too"
        (left,) = [each for each in server.roost.snapshots(sandbox=sandbox.id) if each.id != kept.id]
        assert left.name is not None and left.name.startswith("before-rollback-")
        assert sandbox.roll_back(left.name).state == "running"
        assert said(sandbox, "cat state") == "now"
        assert count_on(sandbox) == 4
        kinds = [event.kind for event in server.roost.events(sandbox=sandbox.id)]
        assert kinds.count("sandbox.rolled_back") == 2
        snapshots = list(server.roost.snapshots(sandbox=sandbox.id))
        sandbox.kill(keep=False)
        for each in snapshots:
            server.roost.delete_snapshot(each.id)


def test_an_answer_wakes_who_asked_and_reaches_who_waits(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        asked = sandbox.ask("Which way?", choices=["left", "right"], wait=False)
        sandbox.pause()
        heard: list[QuestionRecord] = []

        def wait() -> None:
            with Roost(server.url, server.key) as roost:
                heard.append(roost.run(questions.get(asked.id, wait_s=WAITS_S)))

        waiter = threading.Thread(target=wait)
        waiter.start()
        try:
            server.roost.answer(asked.id, choice="left", text="the bridge is closed")
        finally:
            waiter.join(WAITS_S)
        assert [(each.state, each.choice, each.answer) for each in heard] == [("answered", "left", "the bridge is closed")]
        eventually(lambda: _check_awake(sandbox))  # it wakes behind the answer
        woke = server.roost.events(sandbox=sandbox.id, kind="sandbox.woke")[-1]
        assert woke.facts["why"] == "an answer to its question"


def test_a_snapshot_is_looked_into_and_no_link_leads_out(server: Server) -> None:
    with sandbox_of(server) as sandbox, httpx.Client(base_url=server.url, trust_env=False, timeout=WAITS_S) as http:
        http.headers["X-API-Key"] = server.key
        said(sandbox, "echo then > note && ln -s /etc/hostname name && ln -s ../../../../../../etc/shadow out; sync")
        kept = sandbox.snapshot()
        said(sandbox, "echo now > note")
        listed = http.get(f"/v1/snapshots/{kept.id}/files", params={"path": "/home/user"}).json()["entries"]
        assert {"note": "file", "name": "symlink", "out": "symlink"}.items() <= {
            each["name"]: each["type"] for each in listed
        }.items()

        def read(path: str) -> httpx.Response:
            return http.get(f"/v1/snapshots/{kept.id}/file", params={"path": path})

        assert read("/home/user/note").content == b"then\n"
        shadow = Path("/etc/shadow").read_bytes()
        assert read("/home/user/out").content not in (shadow, b""), "the guest's own, not the machine's"
        assert read("/home/user").status_code == 400
        server.roost.delete_snapshot(kept.id)


def test_a_browser_signs_in_and_sees_the_fleet_live(server: Server) -> None:
    with httpx.Client(base_url=server.url, trust_env=False, timeout=WAITS_S) as browser, sandbox_of(server) as sandbox:
        assert browser.get("/v1/fleet").status_code == 401
        assert browser.post("/v1/session", json={"key": server.key}).status_code == 204
        fleet = browser.get("/v1/fleet").json()
        assert [member["sandbox"]["id"] for member in fleet["sandboxes"]] == [sandbox.id]
        with browser.stream("GET", "/v1/live", params={"after": fleet["cursor"]}) as live:
            lines = live.iter_lines()
            assert next(lines) == ": begun"
            changed = browser.patch(f"/v1/sandboxes/{sandbox.id}", json={"name": "seen"}, headers={"Roost-Request": "1"})
            assert changed.status_code == 200
            told = next(line for line in lines if line.startswith("data: ") and '"name":"seen"' in line)
            assert sandbox.id in told
        assert browser.patch(f"/v1/sandboxes/{sandbox.id}", json={"name": "evil"}).status_code == 403


def test_a_machine_says_how_it_is(server: Server) -> None:
    node = server.roost.run(calls.node())
    assert node["cpus"] >= 1 and len(node["load"]) == 3 and node["uptime_s"] > 0
    assert node["memory_total_bytes"] >= node["memory_free_bytes"] > 0
    assert node["slots"]["most"] > node["slots"]["held"]
    assert {check["name"] for check in node["checks"]} >= {"disk", "memory", "load", "network"}
    (template,) = server.roost.templates()
    assert template.raw["packages"] and template.raw["memory_bytes"] > 0


def _check_awake(sandbox: Sandbox) -> None:
    assert sandbox.refresh().state == "running"


def _check_nothing_kept(server: Server) -> None:
    """On the volume there is no snapshot but the template's."""
    assert len(list((server.volume / "snapshots").iterdir())) == 1
