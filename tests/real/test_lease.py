"""The lease holds inside too: xdotool and wmctrl are refused while a person drives, over sleep, fork and a server's death."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from roost.client import LinkRecord, Sandbox, links
from roost.client.agent import AGENT_PORT
from tests.real.server import Server, eventually, said, sandbox_of
from tests.real.test_survival import slot_address
from tests.real.viewer import watching

REFUSED = 75
KEYS_DOWN = """
from Xlib import display
screen = display.Display(":0")
keys = screen.query_keymap()
print([code for code in range(256) if keys[code // 8] & 1 << code % 8], screen.screen().root.query_pointer().mask)
"""


@pytest.fixture(scope="module")
def shared(desktops: Server) -> Iterator[str]:
    with sandbox_of(desktops, template="desktop") as sandbox:
        yield sandbox.id


@pytest.fixture
def desktop(desktops: Server, shared: str) -> Sandbox:
    """By whatever server lives now."""
    return desktops.roost.get(shared)


class Seat:
    """A person's: taken over, and before the screen."""

    def __init__(self, server: Server, link: LinkRecord) -> None:
        assert link.token is not None
        self._server = server
        self._token = link.token
        self.took: dict[str, Any] = server.roost.run(links.take_over(self._token))

    def give(self) -> None:
        self._server.roost.run(links.hand_back(self._token))


@contextmanager
def driving(server: Server, desktop: Sandbox) -> Iterator[Seat]:
    link = desktop.link(control=True, label="anna")
    assert link.websocket is not None
    with watching(link.websocket):
        seat = Seat(server, link)
        knows(server, desktop, ["/usr/lib/roost/person-drives", "there"])
        yield seat
        seat.give()
        knows(server, desktop, ["/usr/lib/roost/agent-drives"])


def knows(server: Server, desktop: Sandbox, told: list[str]) -> None:
    """Programs inside know who drives. Whoever takes over or hands back waits for that, but for two seconds at most."""

    def look() -> None:
        inside = server.roost.get(desktop.id)
        assert said(inside, "readlink /run/roost/hands; test ! -e /run/roost/driver || echo there").split() == told

    eventually(look)


def refuses(desktop: Sandbox, command: str, since: str, **options: Any) -> None:
    result = desktop.run(command, **options)
    assert (result.code, result.stdout) == (REFUSED, ""), result
    program = command.split()[0]
    assert result.stderr.startswith(f"{program}: anna drives since {since}. Nothing was done. Wait until they hand back"), result


def works(desktop: Sandbox, x: int) -> None:
    assert said(desktop, f"xdotool mousemove {x} 300 getmouselocation").startswith(f"x:{x} y:300")


def test_nothing_stands_in_the_way_while_the_agent_drives(desktop: Sandbox) -> None:
    assert said(desktop, "readlink -f $(command -v xdotool) $(command -v wmctrl)").split() == [
        "/usr/bin/xdotool",
        "/usr/bin/wmctrl",
    ]
    works(desktop, 301)


def test_input_is_refused_in_words_while_a_person_drives(desktops: Server, desktop: Sandbox) -> None:
    works(desktop, 310)
    with driving(desktops, desktop) as seat:
        since = seat.took["since"]
        for command in (
            "xdotool mousemove 1 1",
            "xdotool click 1",
            "xdotool type hello",
            "xdotool key ctrl+s",
            "xdotool search --onlyvisible --class . windowactivate",
            "xdotool getmouselocation MouseMove 1 1",
            "xdotool - <<<'key a'",
            "xdotool some-script",
            "wmctrl -c Desktop",
            "wmctrl -r :ACTIVE: -b add,fullscreen",
        ):
            refuses(desktop, command, since)
        refuses(desktop, "xdotool key a", since, user="root")
        assert said(desktop, "xdotool getmouselocation").startswith("x:310 y:300"), "looking is free, and nothing moved"
        assert said(desktop, "xdotool search --onlyvisible --class xfdesktop")
        assert said(desktop, "xdotool getdisplaygeometry") == "1280 800"
        assert "Xfwm4" in said(desktop, "wmctrl -m")
    works(desktop, 311)
    assert desktop.run("test -e /run/roost/driver").code == 1


def test_a_terminal_and_a_program_of_the_session_are_refused_too(desktops: Server, desktop: Sandbox) -> None:
    script = "bash -lc 'xdotool click 1; echo $?' >/tmp/from-session 2>&1; mv /tmp/from-session /tmp/told-by-session"
    with driving(desktops, desktop):
        assert f"{REFUSED}" in said(desktop, "script -qec 'bash -lic \"xdotool click 1; echo \\$?\"' /dev/null")
        said(desktop, f"cat >/tmp/clicker <<'END'\n#!/bin/sh\n{script}\nEND\nchmod +x /tmp/clicker; rm -f /tmp/told-by-session")
        manager = said(desktop, "pgrep -x xfwm4")
        said(desktop, f"env -i $(tr '\\0' '\\n' </proc/{manager}/environ | grep -E '^(PATH|DISPLAY|HOME)=' | xargs) /tmp/clicker")
        assert "anna drives" in said(desktop, "cat /tmp/told-by-session")


def test_what_is_under_way_is_cut_and_no_key_stays_down(desktops: Server, desktop: Sandbox) -> None:
    desktop.files.write("/tmp/keys_down.py", KEYS_DOWN)
    with desktop.start("xdotool keydown shift keydown a mousedown 2 sleep 600") as typing:

        def holds() -> None:
            assert said(desktop, "python3 /tmp/keys_down.py") != "[] 0"

        eventually(holds)
        with driving(desktops, desktop):
            assert typing.wait().code not in (0, None)

            def let_go() -> None:
                assert said(desktop, "python3 /tmp/keys_down.py") == "[] 0"

            eventually(let_go)


def test_keys_are_let_go_of_also_when_the_first_word_of_it_was_not_waited_for(desktops: Server, desktop: Sandbox) -> None:
    """The node asks again when an answer takes long, as one does while the agent's own hands have to be started first."""
    desktop.files.write("/tmp/keys_down.py", KEYS_DOWN)
    address, told = slot_address(desktops, desktop.id), {"driver": {"who": "anna", "since": "now"}}
    body, url = json.dumps(told).encode(), f"http://{address}:{AGENT_PORT}/roost/driver"

    def tell(told: dict[str, Any]) -> None:
        assert httpx.post(url, json=told, timeout=60, trust_env=False).status_code == 204

    def holds() -> None:
        assert said(desktop, "python3 /tmp/keys_down.py") != "[] 0"

    with desktop.start("xdotool keydown a sleep 600"):
        eventually(holds)
        said(desktop, "for pid in $(pgrep -f [d]esktop/companion); do kill $pid; while kill -0 $pid 2>&-; do :; done; done")
        with socket.create_connection((address, AGENT_PORT), timeout=60) as impatient:
            impatient.sendall(b"POST /roost/driver HTTP/1.1\r\nHost: it\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        tell(told)
        assert said(desktop, "python3 /tmp/keys_down.py") == "[] 0"
    tell({"driver": None})
    works(desktop, 315)


def test_a_sleeper_wakes_with_the_truth(desktops: Server, desktop: Sandbox) -> None:
    with driving(desktops, desktop) as seat:
        desktop.pause()
        desktop.resume()
        refuses(desktop, "xdotool click 1", seat.took["since"])
        desktop.pause()
        seat.give()
        desktop.resume()
        works(desktop, 320)


def test_a_forks_hands_are_its_agents(desktops: Server, desktop: Sandbox) -> None:
    with driving(desktops, desktop) as seat:
        (child,), failures = desktop.fork(1)
        try:
            assert not failures
            works(child, 330)
            refuses(desktop, "xdotool click 1", seat.took["since"])
        finally:
            child.kill()


def test_a_boot_from_the_disk_finds_the_agent_at_the_wheel(desktops: Server, desktop: Sandbox) -> None:
    with driving(desktops, desktop):
        kept = desktop.snapshot(memory=False)
    with sandbox_of(desktops, template=kept.id) as other:
        assert other.run("test -e /run/roost/driver").code == 1
        assert said(other, "readlink /run/roost/hands") == "/usr/lib/roost/agent-drives"


def test_a_server_that_dies_does_not_leave_the_agent_locked_out(desktops: Server, desktop: Sandbox) -> None:
    with driving(desktops, desktop) as seat:
        desktops.kill()
        desktops.start()
        back = desktops.roost.get(desktop.id)
        try:
            refuses(back, "xdotool click 1", seat.took["since"])
        except AssertionError:
            assert gave(desktops, desktop) == "the browser went away", "then the machine took ten seconds for that"
        eventually(lambda: works(back, 340))  # nobody came back to the screen
        assert gave(desktops, desktop) == "the browser went away"


def gave(server: Server, desktop: Sandbox) -> str:
    return server.roost.events(sandbox=desktop.id, kind=["driver.gave"])[-1].facts["why"]
