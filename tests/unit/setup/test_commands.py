from __future__ import annotations

import threading

import pytest

from roost.domain.errors import NotFound
from roost.setup.commands import SYSTEM_PATH, CommandFailed, Commands, Stopped, search_path


def test_output_comes_line_by_line_and_as_a_whole() -> None:
    lines: list[str] = []
    said = Commands().run(["sh", "-c", "echo one; echo two >&2; echo; echo $WHAT"], env={"WHAT": "three"}, on_line=lines.append)
    assert lines == ["one", "two", "three"]
    assert said.splitlines() == ["one", "two", "", "three"]


def test_a_failure_carries_the_last_words() -> None:
    with pytest.raises(CommandFailed) as failed:
        Commands().run(["sh", "-c", "seq 100; exit 7"], name="counting")
    assert failed.value.facts["exit_code"] == 7
    assert failed.value.message.startswith("counting failed with exit code 7")
    assert failed.value.message.endswith("\n100")
    assert "\n3\n" not in failed.value.message


def test_a_missing_program_is_named() -> None:
    with pytest.raises(NotFound, match="no-such-program is not installed"):
        Commands().run(["no-such-program"])


def test_stop_ends_children_of_children_too() -> None:
    commands, started = Commands(), threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            commands.run(["sh", "-c", "sleep 1000 & echo up; wait"], on_line=lambda _: started.set())
        except Stopped as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(20)
    commands.stop()
    # It returns once the pipe is closed by everyone who held it: the grandchild has ended as well.
    thread.join(20)
    assert not thread.is_alive()
    assert len(errors) == 1


def test_the_systems_directories_are_always_searched() -> None:
    assert search_path({"PATH": "/mine:/usr/bin"}).split(":")[:2] == ["/mine", "/usr/bin"]
    assert set(SYSTEM_PATH) <= set(search_path({}).split(":"))
    assert "" not in search_path({"PATH": ""}).split(":")
