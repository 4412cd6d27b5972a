from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from .server import Server


@pytest.fixture
def screenless(server: Server) -> Iterator[Server]:
    """Its sandboxes have no screen, whatever the machine has that the tests run on."""
    httpx.post(f"{server.router.agent_url}/init", json={"envVars": {"DISPLAY": ":29998"}}, timeout=60, trust_env=False)
    yield server
    httpx.post(f"{server.router.agent_url}/init", json={"envVars": {}}, timeout=60, trust_env=False)


@pytest.mark.parametrize(
    "words",
    [
        ("screenshot", "ada", "-o", "-"),
        ("wait", "ada"),
        ("size", "ada"),
        ("size", "ada", "1024x768"),
        ("move", "ada", "1", "2"),
        ("click", "ada"),
        ("click", "ada", "1", "2", "--double", "--with", "ctrl", "--scale", "0.5"),
        ("drag", "ada", "1,2", "3,4"),
        ("scroll", "ada", "down"),
        ("scroll", "ada", "up", "5", "--at", "1,2"),
        ("type", "ada", "hello"),
        ("key", "ada", "ctrl+a", "Delete"),
        ("clipboard", "get", "ada"),
        ("clipboard", "set", "ada", "text"),
        ("windows", "ada"),
        ("focus", "ada", "0x1"),
        ("close", "ada", "0x1"),
        ("open", "ada", "https://example.org"),
        ("open", "ada", "--", "ls", "-l"),
    ],
)
def test_every_verb_reaches_the_sandbox(screenless: Server, sandbox: str, words: tuple[str, ...]) -> None:
    ran = screenless.verb("desktop", *words)
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert b"This sandbox has no desktop" in ran.stderr
    assert screenless.router.requests[-1].startswith("/desktop")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("size", "ada", "large"), b"'large' is no size. Write for example 1280x800."),
        (("drag", "ada", "1,2", "3"), b"'3' is no point. Write X,Y."),
        (("scroll", "ada", "sideways"), b"There are down, up, right, left."),
        (("screenshot", "ada", "--region", "1,2"), b"'1,2' is no region. Write X,Y,W,H."),
    ],
)
def test_words_that_make_no_sense_are_refused_before_anything_is_asked(
    screenless: Server, sandbox: str, words: tuple[str, ...], says: bytes
) -> None:
    asked = len(screenless.router.requests)
    ran = screenless.verb("desktop", *words)
    assert ran.returncode == 1
    assert says in ran.stderr
    assert len(screenless.router.requests) == asked


def test_its_verbs_are_listed(server: Server) -> None:
    listed = server.verb("desktop", "--help")
    assert listed.returncode == 0
    for word in (b"screenshot", b"click", b"clipboard", b"windows", b"open", b"wait"):
        assert word in listed.stdout
