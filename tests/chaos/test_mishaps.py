"""What happens to machines: processes die, disks fill up, bits flip. Said loudly, and nothing is lost that was safe."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roost.domain.errors import NodeFull, NotFound, SnapshotDamaged
from tests.chaos.invariants import check_sound, sentry_of
from tests.chaos.subjects import Subject
from tests.real.server import Server, bounded, eventually, said, settles

LEFT_BYTES = 100 << 20


def kill_sentry(server: Server, subject: Subject) -> None:
    """As the kernel would for want of memory."""
    os.kill(sentry_of(server, subject.id), signal.SIGKILL)


def wait_for(server: Server, subject: Subject, kind: str) -> dict[str, object]:
    """The facts of the first event of this kind."""
    with bounded(120):
        for event in server.roost.follow_events(after=0, sandbox=subject.id):
            if event.kind == kind:
                return dict(event.facts)
    raise AssertionError("the event stream ended")


def test_a_process_that_is_killed_boots_again_from_its_disk(server: Server) -> None:
    """It never slept, so there is no memory to go back to. Its disk survives; that its memory did not is said."""
    subject = Subject.of(server)
    kill_sentry(server, subject)
    wait_for(server, subject, "sandbox.rewound")
    settles(server, subject.id, "running")
    subject.check_disk()
    assert said(subject.sandbox, "test -e /dev/shm/count && echo there || echo lost") == "lost"
    subject.sandbox.kill()
    eventually(lambda: check_sound(server))


def test_a_process_that_is_killed_falls_back_to_its_last_snapshot(server: Server) -> None:
    subject = Subject.of(server)
    snapshot = subject.sandbox.snapshot()
    said(subject.sandbox, "echo later > mark; sync")
    kill_sentry(server, subject)
    wait_for(server, subject, "sandbox.rewound")
    record = settles(server, subject.id, "paused")
    assert record.snapshot == snapshot.id and record.reason
    assert not subject.sandbox.resume().cold
    subject.check_memory()  # its mark is the one of the snapshot: what came later is gone, as the event said
    subject.check_usable()
    server.roost.delete_snapshot(snapshot.id)
    eventually(lambda: check_sound(server))


def test_whoever_follows_a_command_is_told_when_it_is_gone_with_its_sandbox(server: Server) -> None:
    """The sandbox sleeps at its last snapshot, which does not know the connection: waiting for it would never end."""
    subject = Subject.of(server)
    snapshot = subject.sandbox.snapshot()
    command = subject.sandbox.start("sleep infinity")
    kill_sentry(server, subject)
    with bounded(60), pytest.raises(NotFound) as told:
        command.wait()
    assert told.value.code == "process_gone"
    server.roost.delete_snapshot(snapshot.id)
    subject.sandbox.kill()
    eventually(lambda: check_sound(server))


def test_a_process_that_ends_while_there_is_no_server_is_found_missing(server: Server) -> None:
    subject = Subject.of(server)
    pid = sentry_of(server, subject.id)
    server.kill()
    os.kill(pid, signal.SIGKILL)
    server.start()
    wait_for(server, subject, "sandbox.rewound")
    settles(server, subject.id, "running")
    subject.check_disk()
    subject.sandbox.kill()
    eventually(lambda: check_sound(server))


def test_a_full_disk_refuses_a_pause_and_leaves_the_sandbox_running(server: Server) -> None:
    subject = Subject.of(server)
    with filled(server.volume):
        with pytest.raises(NodeFull):
            subject.sandbox.pause()
        settles(server, subject.id, "running")
        subject.check_memory()
        with pytest.raises(NodeFull):
            subject.sandbox.snapshot()
        with pytest.raises(NodeFull):
            subject.sandbox.fork(2)
    eventually(lambda: check_sound(server))
    subject.check_usable()


@pytest.mark.parametrize("file", ["memory/pages.img", "memory/checkpoint.img"])
def test_a_flipped_bit_is_refused_and_the_disk_still_boots(server: Server, file: str) -> None:
    subject = Subject.of(server)
    snapshot = subject.sandbox.pause().snapshot
    assert snapshot is not None
    flip(server.volume / "snapshots" / snapshot / file)
    for _ in range(2):  # refused is refused, however often it is asked
        with pytest.raises(SnapshotDamaged) as refusal:
            subject.sandbox.resume()
        assert refusal.value.facts["file"] == file
        settles(server, subject.id, "paused")
    resumed = subject.sandbox.resume(cold=True)
    assert resumed.cold and any("counter.py" in command for command in resumed.lost)
    assert not any("/.roost/" in command for command in resumed.lost), "the agent runs again: it is not lost"
    subject.check_disk()
    subject.sandbox.kill()
    eventually(lambda: check_sound(server))


def test_a_half_written_snapshot_is_none(server: Server) -> None:
    """Without its manifest a snapshot does not exist, whatever else lies there: the next server sweeps it away."""
    server.kill()
    stray = server.volume / "snapshots" / ("s" + "z" * 20)
    (stray / "memory").mkdir(parents=True)
    (stray / "memory" / "pages.img").write_bytes(b"half of it")
    server.start()
    eventually(lambda: check_sound(server))
    assert not stray.exists()


@contextmanager
def filled(volume: Path) -> Iterator[None]:
    """Somebody else's file takes all of the volume but a little. It is reserved, not written: that takes no time."""
    ballast = volume / "ballast"
    btrfs("subvolume", "sync", volume)  # what was deleted gives its room back behind the answer: not in the middle of this
    try:
        with ballast.open("wb") as file:
            taken = 0
            while (more := free_bytes(volume) - LEFT_BYTES) > 1 << 20:
                os.posix_fallocate(file.fileno(), taken, more)
                taken += more
        yield
    finally:
        ballast.unlink(missing_ok=True)
        btrfs("filesystem", "sync", volume)


def free_bytes(volume: Path) -> int:
    btrfs("filesystem", "sync", volume)  # until then what was just taken counts as free, and what was just deleted does not
    space = os.statvfs(volume)
    return space.f_bavail * space.f_frsize


def btrfs(*words: str | Path) -> None:
    subprocess.run(("btrfs", *words), check=True, capture_output=True)


def flip(image: Path) -> None:
    with image.open("r+b") as content:
        content.seek(image.stat().st_size // 2)
        (byte,) = content.read(1)
        content.seek(-1, os.SEEK_CUR)
        content.write(bytes([byte ^ 1]))
