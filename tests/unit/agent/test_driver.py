"""Who drives, as programs inside find it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .guest import Guest

ANNA = {"who": "anna", "since": "2026-01-31T12:00:00.250Z"}


class Inside:
    """An agent that writes below a directory, of an image with programs that ask."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("agent-drives", "person-drives"):
            (root / "usr/lib/roost" / folder).mkdir(parents=True)
        self.guest = Guest("--trust-local", "--system-root", str(root))

    def tell(self, **message: Any) -> int:
        return self.guest.http.post("/roost/driver", json=message).status_code

    @property
    def hands(self) -> str:
        return os.readlink(self.root / "run/roost/hands")

    @property
    def driver(self) -> str | None:
        file = self.root / "run/roost/driver"
        return file.read_text() if file.exists() else None

    def check(self, *, driver: str | None) -> None:
        assert self.driver == driver
        assert self.hands == f"/usr/lib/roost/{'agent' if driver is None else 'person'}-drives"
        assert {path.name for path in (self.root / "run/roost").iterdir()} <= {"driver", "hands"}, "nothing half-made is left"


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Inside]:
    inside = Inside(tmp_path)
    yield inside
    inside.guest.close()


def test_a_person_takes_over_and_hands_back(inside: Inside) -> None:
    inside.guest.init(driver=None)
    inside.check(driver=None)
    for _ in range(2):
        assert inside.tell(driver=ANNA) == 204
        inside.check(driver="2026-01-31T12:00:00.250Z\nanna\n")
    assert inside.tell(driver=ANNA | {"who": "ben"}) == 204
    inside.check(driver="2026-01-31T12:00:00.250Z\nben\n")
    for _ in range(2):
        assert inside.tell(driver=None) == 204
        inside.check(driver=None)


def test_what_is_not_said_changes_nothing(inside: Inside) -> None:
    inside.tell(driver=ANNA)
    inside.guest.init(hostname="fox")
    assert inside.guest.http.post("/roost/after-restore", json={"wallClock": 1.5e9}).status_code == 204
    inside.check(driver="2026-01-31T12:00:00.250Z\nanna\n")


def test_a_fork_and_one_that_wakes_are_told(inside: Inside) -> None:
    inside.tell(driver=ANNA)
    assert inside.guest.http.post("/roost/after-restore", json={"newIdentity": True, "driver": None}).status_code == 204
    inside.check(driver=None)
    assert inside.guest.http.post("/roost/after-restore", json={"driver": ANNA}).status_code == 204
    inside.check(driver="2026-01-31T12:00:00.250Z\nanna\n")


def test_what_an_earlier_life_of_the_disk_left_is_not_believed(inside: Inside) -> None:
    (inside.root / "run/roost").mkdir(parents=True)
    (inside.root / "run/roost/driver").write_text("long ago\nsomebody\n")
    (inside.root / "run/roost/hands").symlink_to("/usr/lib/roost/person-drives")
    (inside.root / "run/roost/hands.new").symlink_to("/nowhere")
    inside.guest.init(driver=None)
    inside.check(driver=None)


def test_a_name_stays_on_its_line(inside: Inside) -> None:
    assert inside.tell(driver={"who": " an\nna\t", "since": "now"}) == 204
    inside.check(driver="now\nan na\n")


@pytest.mark.parametrize("wrong", [{}, {"who": "anna"}, {"who": "", "since": "now"}, {"who": 5, "since": "now"}, [], "anna"])
def test_nonsense_changes_nothing(inside: Inside, wrong: object) -> None:
    inside.guest.init(driver=None)
    assert inside.tell(driver=wrong) == 400
    assert inside.guest.http.post("/init", json={"driver": wrong}).status_code == 400
    inside.check(driver=None)


def test_an_image_without_programs_that_ask_has_the_file_alone(inside: Inside) -> None:
    shutil.rmtree(inside.root / "usr")
    assert inside.tell(driver=ANNA) == 204
    assert inside.driver == "2026-01-31T12:00:00.250Z\nanna\n"
    assert not (inside.root / "run/roost/hands").is_symlink()


def test_what_puts_in_input_for_the_agent_is_ended(inside: Inside) -> None:
    typist = inside.root / "typist"
    shutil.copy(shutil.which("sleep") or "", typist)
    (inside.root / "usr/lib/roost/agent-drives/typist").symlink_to(typist)
    inside.guest.init(driver=None)
    with inside.guest.start(str(typist), "1000") as typing, inside.guest.start("/bin/sleep", "1000") as other:
        assert inside.tell(driver=ANNA) == 204
        assert not is_running(typing.pid), "it presses no other key once the answer is there"
        ended = typing.finish().end
        assert "terminated" in ended["status"], ended
        inside.guest.call("process.Process/SendSignal", {"process": {"pid": other.pid}, "signal": "SIGNAL_SIGKILL"})
        assert "killed" in other.finish().end["status"], "nobody else was"


def is_running(pid: int) -> bool:
    try:
        return bool(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False


def test_a_disk_that_cannot_be_written_is_told_and_keeps_nobody_asleep(inside: Inside) -> None:
    (inside.root / "run").write_text("in the way")
    assert inside.tell(driver=ANNA) == 500
    assert inside.guest.http.post("/roost/after-restore", json={"driver": ANNA}).status_code == 204
    (inside.root / "run").unlink()
    assert inside.tell(driver=ANNA) == 204
    inside.check(driver="2026-01-31T12:00:00.250Z\nanna\n")
