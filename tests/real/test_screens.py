"""Screens of real desktops: seen, driven, handed back, lost, revoked, slept through."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from roost.client import LinkRecord, Sandbox, links
from roost.client.agent import AGENT_PORT
from roost.domain.errors import Conflict, Forbidden
from tests.real.server import Server, eventually, said, sandbox_of
from tests.real.viewer import opened, watching

# Writes down every key that is pressed on the screen, whoever has the focus.
_LISTENER = """
from Xlib import X, XK, display
screen = display.Display(":0")
root = screen.screen().root
assert root.grab_keyboard(True, X.GrabModeAsync, X.GrabModeAsync, X.CurrentTime) == 0
print("ready", flush=True)
while True:
    event = screen.next_event()
    if event.type in (X.KeyPress, X.KeyRelease):
        letter = XK.keysym_to_string(screen.keycode_to_keysym(event.detail, 0)) or "?"
        with open("/tmp/keys", "a") as kept:
            kept.write(letter if event.type == X.KeyPress else letter.upper())
"""


@pytest.fixture(scope="module")
def server(desktops: Server) -> Server:
    return desktops


@pytest.fixture(scope="module")
def desktop(server: Server) -> Iterator[Sandbox]:
    with sandbox_of(server, template="desktop") as sandbox:
        sandbox.files.write("/tmp/listener.py", _LISTENER)
        with sandbox.start("touch /tmp/keys; exec python3 /tmp/listener.py") as process:
            first = next(iter(process)).data
            assert first == b"ready\n", (first, *process)
        yield sandbox


@pytest.fixture(autouse=True)
def silence(desktop: Sandbox) -> None:
    said(desktop, "truncate -s 0 /tmp/keys", user="root")


def typed(desktop: Sandbox) -> str:
    return said(desktop, "cat /tmp/keys")


def hears(desktop: Sandbox, keys: str) -> None:
    def look() -> None:
        assert typed(desktop) == keys

    eventually(look)


def control(desktop: Sandbox, **wish: Any) -> LinkRecord:
    return desktop.link(control=True, label="anna", **wish)


def screen_of(link: LinkRecord) -> str:
    assert link.websocket is not None
    return link.websocket


def token_of(link: LinkRecord) -> str:
    assert link.token is not None
    return link.token


def ask(server: Server, desktop: Sandbox, method: str, path: str, **request: Any) -> httpx.Response:
    headers = {"Host": server.host(desktop, AGENT_PORT), "X-Access-Token": desktop.tokens().access_token}
    return httpx.request(method, server.url + path, headers=headers, timeout=60, trust_env=False, **request)


def gave(server: Server, desktop: Sandbox) -> list[str]:
    return [event.facts["why"] for event in server.roost.events(sandbox=desktop.id, kind=["driver.gave"])]


def test_a_viewer_sees_the_screen_and_moves_nothing(desktop: Sandbox) -> None:
    with watching(screen_of(desktop.link())) as viewer:
        assert (viewer.width, viewer.height) == (1280, 800)
        assert len(set(viewer.picture())) > 16, "more than a blank"
        viewer.key("a")
        viewer.picture()  # after the key on the same connection: it was looked at
        assert typed(desktop) == ""


def test_a_person_takes_over_and_hands_back(server: Server, desktop: Sandbox) -> None:
    roost = server.roost
    link = control(desktop)
    click = {"x": 5, "y": 5}
    with watching(screen_of(link)) as viewer:
        viewer.key("a")
        viewer.picture()
        assert typed(desktop) == "", "nobody drives before they took over"
        took = roost.run(links.take_over(token_of(link)))
        assert desktop.refresh().raw["driver"] == took
        viewer.key("b")
        hears(desktop, "bB")
        refused = ask(server, desktop, "POST", "/desktop/click", json=click)
        assert refused.status_code == 409
        assert refused.json()["error"] | {"message": ""} == {
            "code": "person_drives", "message": "", "sandbox": desktop.id, "who": "anna", "since": took["since"]
        }  # fmt: skip
        viewer.press("c")
        hears(desktop, "bBc")
        roost.run(links.hand_back(token_of(link)))
        hears(desktop, "bBcC")
        viewer.key("d")
        viewer.picture()
        assert typed(desktop) == "bBcC"
        assert ask(server, desktop, "POST", "/desktop/click", json=click).status_code != 409
    assert gave(server, desktop)[-1] == "handed back"


def test_one_drives_many_watch(server: Server, desktop: Sandbox) -> None:
    first, second, third = control(desktop), control(desktop), desktop.link()
    with watching(screen_of(first)) as anna, watching(screen_of(second)) as ben, watching(screen_of(third)) as carol:
        server.roost.run(links.take_over(token_of(first)))
        with pytest.raises(Conflict) as refused:
            server.roost.run(links.take_over(token_of(second)))
        assert refused.value.code == "somebody_drives"
        with pytest.raises(Forbidden):
            server.roost.run(links.take_over(token_of(third)))
        ben.key("b")
        carol.key("c")
        anna.key("a")
        hears(desktop, "aA")
        server.roost.run(links.take_over(token_of(second), force=True))
        anna.key("a")
        ben.key("b")
        hears(desktop, "aAbB")

        def see_the_same() -> None:
            assert anna.picture() == carol.picture()

        eventually(see_the_same)  # the panel's clock may move on between the two
        server.roost.run(links.hand_back(token_of(second)))


def test_a_browser_that_goes_away_gives_the_seat_up_after_ten_seconds(server: Server, desktop: Sandbox) -> None:
    link = control(desktop)
    with watching(screen_of(link)):
        server.roost.run(links.take_over(token_of(link)))
        still_there = time.monotonic()

    def handed_back() -> None:
        assert desktop.refresh().raw["driver"] is None

    eventually(handed_back)
    assert time.monotonic() - still_there > 9.5  # and not long after: `tests/flows` has a clock that says it to the second
    assert gave(server, desktop)[-1] == "the browser went away"


def test_a_revoked_link_is_cut(server: Server, desktop: Sandbox) -> None:
    link, stays = control(desktop), desktop.link()
    with watching(screen_of(link)) as viewer, watching(screen_of(stays)) as other:
        server.roost.run(links.take_over(token_of(link)))
        desktop.unlink(link.id)
        assert viewer.closed()[0] == 4001
        assert desktop.refresh().raw["driver"] is None
        other.picture()
    with opened(screen_of(link)) as late:
        assert late.closed()[0] == 4001
    assert gave(server, desktop)[-1] == "the link ended"


def test_an_expired_link_is_cut(desktop: Sandbox) -> None:
    link = control(desktop, seconds=10)  # long enough to be before the screen by then
    with watching(screen_of(link)) as viewer:
        assert viewer.closed()[0] == 4003
    with opened(screen_of(link)) as late:
        assert late.closed()[0] == 4003


def test_opening_the_screen_wakes_and_shows_what_was_there(server: Server, desktop: Sandbox) -> None:
    link = control(desktop)
    with watching(screen_of(link)) as viewer:
        before = viewer.picture()
    desktop.pause()
    assert ask(server, desktop, "GET", "/health?quiet=1").status_code == 409
    with watching(screen_of(link)) as viewer:
        after = viewer.picture()
    assert desktop.refresh().state == "running"
    assert _alike(before, after) > 0.95
    woke = list(server.roost.events(sandbox=desktop.id, kind=["sandbox.woke"]))[-1]
    assert woke.facts["why"] == "somebody opened its screen"


def test_an_open_screen_goes_on_after_sleep(server: Server, desktop: Sandbox) -> None:
    link = control(desktop)
    with watching(screen_of(link)) as viewer:
        server.roost.run(links.take_over(token_of(link)))
        viewer.picture()
        desktop.pause()
        viewer.key("w")
        hears(desktop, "wW")
        assert desktop.refresh().state == "running"
        assert len(viewer.picture()) == 4 * viewer.width * viewer.height
        server.roost.run(links.hand_back(token_of(link)))


def test_a_link_opens_screenshots_and_no_more(server: Server, desktop: Sandbox) -> None:
    link = desktop.link()
    host = {"Host": server.host(desktop, AGENT_PORT)}
    url = f"{server.url}/desktop/screenshot?format=png&link={token_of(link)}"
    seen = httpx.get(url, headers=host, timeout=60, trust_env=False)
    assert (seen.status_code, seen.content[:8]) == (200, b"\x89PNG\r\n\x1a\n")
    inside = httpx.get(f"{server.url}/desktop?link={token_of(link)}", headers=host, timeout=60, trust_env=False)
    assert inside.status_code == 401


def test_a_sandbox_without_a_desktop_says_so(server: Server) -> None:
    with sandbox_of(server) as plain, opened(screen_of(plain.link())) as viewer:
        assert viewer.closed()[0] == 4005


def test_a_driver_is_let_go_by_a_new_server_too(server: Server, desktop: Sandbox) -> None:
    link = control(desktop)
    with watching(screen_of(link)):
        server.roost.run(links.take_over(token_of(link)))
        server.restart()
    back = server.roost.get(desktop.id)
    assert back.record.raw["driver"] is not None, "who comes back in time drives on"
    port = server.port
    url = screen_of(link).replace(f":{screen_of(link).rpartition(':')[2].partition('/')[0]}/", f":{port}/")
    with watching(url) as viewer:
        viewer.key("r")
        hears(back, "rR")

    def handed_back() -> None:
        assert back.refresh().raw["driver"] is None

    eventually(handed_back)


def _alike(one: bytes, other: bytes) -> float:
    """The share of bytes that are the same: a clock may have moved on."""
    return sum(a == b for a, b in zip(one, other, strict=True)) / len(one)
