from __future__ import annotations

import pytest

from roost_agent.errors import RpcError
from roost_agent.processes import shells

LINE = ["-l", "-c", "ls -l"]


@pytest.fixture
def image() -> set[str]:
    """The programs that there are."""
    return set()


def test_what_is_there_is_used(image: set[str]) -> None:
    image |= {"/bin/bash", "/bin/sh"}
    assert shells.fitted("/bin/bash", LINE, image.__contains__) == ("/bin/bash", LINE)
    assert shells.fitted("/usr/bin/python3", ["-c", "1"], image.__contains__) == ("/usr/bin/python3", ["-c", "1"])


@pytest.mark.parametrize("shell", ["/usr/bin/bash", "/usr/local/bin/bash"])
def test_bash_may_be_elsewhere(image: set[str], shell: str) -> None:
    image |= {shell, "/bin/sh"}
    assert shells.fitted("/bin/bash", LINE, image.__contains__) == (shell, LINE)


@pytest.mark.parametrize("shell", ["/bin/sh", "/usr/bin/sh", "/bin/ash", "/busybox/sh"])
def test_a_plain_shell_is_told_nothing_that_it_does_not_know(image: set[str], shell: str) -> None:
    image.add(shell)
    assert shells.fitted("/bin/bash", LINE, image.__contains__) == (shell, ["-c", "ls -l"])
    assert shells.fitted("/bin/bash", ["-i", "-l"], image.__contains__) == (shell, ["-i"])


def test_words_need_no_shell(image: set[str]) -> None:
    assert shells.fitted("/bin/bash", ["-l", "-c", "/app --name 'a b' x=1"], image.__contains__) == (
        "/app",
        ["--name", "a b", "x=1"],
    )
    assert shells.fitted("/bin/sh", ["-c", "/app"], image.__contains__) == ("/app", [])


@pytest.mark.parametrize(
    "line", ["a | b", "a && b", "a; b", "echo $HOME", "echo `id`", "ls *", "A=1 a", "a > b", "cd ~", "'open", "", "a\nb"]
)
def test_what_needs_a_shell_is_refused_without_one(image: set[str], line: str) -> None:
    with pytest.raises(RpcError, match="no shell"):
        shells.fitted("/bin/bash", ["-l", "-c", line], image.__contains__)


def test_a_terminal_needs_a_shell(image: set[str]) -> None:
    with pytest.raises(RpcError, match="roost exec"):
        shells.fitted("/bin/bash", ["-i", "-l"], image.__contains__)


def test_a_program_that_is_missing_stays_missing(image: set[str]) -> None:
    assert shells.fitted("/usr/bin/zsh", ["-c", "ls"], image.__contains__) == ("/usr/bin/zsh", ["-c", "ls"])
