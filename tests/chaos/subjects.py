"""Sandboxes with something to lose, on disk and in memory, and what it takes to see that they lost nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from roost.client import Sandbox
from tests.real.server import Server, said, settles

# A process that counts in memory; its count is seen in a file that is memory too.
_COUNTER = """
import itertools, os, pathlib, time
mark = pathlib.Path("/dev/shm/count")
for number in itertools.count(1):
    mark.with_suffix(".new").write_text(f"{os.getpid()} {number}")
    mark.with_suffix(".new").rename(mark)
    time.sleep(0.01)
"""


@dataclass(slots=True)
class Subject:
    """A sandbox whose disk bears a mark and whose memory counts."""

    server: Server
    id: str
    pid: int = 0
    count: int = 0
    parent: str | None = None  # whose disk and memory it began with

    @staticmethod
    def of(server: Server, **request: Any) -> Subject:
        subject = Subject(server, server.roost.create(**request).id)
        subject.equip()
        return subject

    def child(self, id: str) -> Subject:
        return Subject(self.server, id, self.pid, self.count, self.id)

    @property
    def sandbox(self) -> Sandbox:
        return self.server.roost.get(self.id)

    def equip(self) -> None:
        sandbox = self.sandbox
        said(sandbox, f"echo {self.id} > mark; sync")
        sandbox.files.write("/tmp/counter.py", _COUNTER)
        with sandbox.start("exec python3 /tmp/counter.py"):
            pass
        said(sandbox, "until test -s /dev/shm/count; do sleep 0.01; done")
        self.pid, self.count = self._look()

    def check_memory(self) -> None:
        """The same process counts on from where it was, and the disk bears its mark."""
        self.check_disk()
        pid, count = self._look()
        assert pid == self.pid and count >= self.count
        said(self.sandbox, f'until test "$(cut -d" " -f2 /dev/shm/count)" -gt {count}; do sleep 0.01; done', timeout_s=120)
        self.count = count

    def check_disk(self) -> None:
        assert said(self.sandbox, "cat mark") == (self.parent or self.id)

    def check_usable(self) -> None:
        """It does all that a sandbox does, and then dies."""
        sandbox = self.sandbox
        assert said(sandbox, "echo $((6 * 7))") == "42"
        assert sandbox.pause().state == "paused"
        assert not sandbox.resume().cold
        self.check_memory()
        sandbox.kill()
        assert sandbox.refresh().state == "dead"

    def _look(self) -> tuple[int, int]:
        pid, count = said(self.sandbox, "cat /dev/shm/count").split()
        return int(pid), int(count)


@dataclass(slots=True)
class Bystanders:
    runner: Subject
    sleeper: Subject

    @staticmethod
    def of(server: Server) -> Bystanders:
        both = Bystanders(Subject.of(server), Subject.of(server))
        both.sleeper.sandbox.pause()
        return both

    def check(self) -> None:
        settles(self.runner.server, self.runner.id, "running")
        self.runner.check_memory()
        settles(self.sleeper.server, self.sleeper.id, "paused")

    def kill_others(self) -> None:
        """What a test that failed left behind is not for the next one to find."""
        for record in self.runner.server.roost.sandboxes():
            if record.state != "dead" and record.id not in (self.runner.id, self.sleeper.id):
                self.runner.server.roost.get(record.id).kill()

    def wake_the_sleeper(self) -> None:
        self.sleeper.sandbox.resume()
        self.sleeper.check_memory()
