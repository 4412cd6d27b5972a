"""Every verb of the desktop's API on a real desktop, through the edge, by the Python client."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from roost.client import AsyncRoost, Sandbox
from roost.domain.errors import Invalid, NotFound, TimedOut, Unavailable, Unsupported
from tests.real.desk import Board, board_on, closes, comes_to_the_front, editor_on, ends, saves, shows
from tests.real.server import Server, eventually, said, sandbox_of

TEXT = "Hello, żółć 漢字 🦜 ÄÖÜß € ~!@#{}\n\tand Ω, é"
PAGE = """
<meta charset="utf-8"><title>a page of ours</title>
<textarea style="position: fixed; inset: 0; width: 100%; height: 100%" onfocus="document.title = 'a page that listens'"
    oninput="document.title = 'typed ' + this.value"></textarea>
"""
SHIFT, CTRL = 1, 4


@pytest.fixture(scope="module")
def sandbox(desktops: Server) -> Iterator[Sandbox]:
    """One for all tests that leave it as usable as they found it."""
    with sandbox_of(desktops, template="desktop") as sandbox:
        yield sandbox


def size_of_png(data: bytes) -> tuple[int, int]:
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", data[16:24])


def test_a_screenshot_is_as_large_as_asked_and_says_so(sandbox: Sandbox) -> None:
    desktop = sandbox.desktop
    screen = desktop.screen()
    assert (screen.width, screen.height) == (1280, 800)
    whole = desktop.screenshot()
    assert size_of_png(whole.data) == (whole.width, whole.height) == (1280, 800)
    assert (whole.type, whole.scale) == ("image/png", 1.0)
    half = desktop.screenshot(scale=0.5)
    assert size_of_png(half.data) == (half.width, half.height) == (640, 400)
    small = desktop.screenshot(width=320, height=320)
    assert (size_of_png(small.data), small.scale) == ((320, 200), 0.25)
    part = desktop.screenshot(region=(100, 50, 300, 200))
    assert size_of_png(part.data) == (300, 200)
    assert desktop.screenshot(format="jpeg", quality=50).data.startswith(b"\xff\xd8")
    assert desktop.screenshot(format="webp").data[8:12] == b"WEBP"


def test_a_screenshot_that_cannot_be_is_refused_in_words(sandbox: Sandbox) -> None:
    with pytest.raises(Invalid, match="does not lie on the screen, which is 1280 × 800"):
        sandbox.desktop.screenshot(region=(1200, 0, 100, 100))
    with pytest.raises(Invalid, match="one of png, jpeg, webp"):
        sandbox.desktop.screenshot(format="gif")
    with pytest.raises(Invalid, match="either scale"):
        sandbox.desktop.screenshot(scale=0.5, width=100)


def test_the_pointer_is_drawn_unless_it_is_not_wanted(sandbox: Sandbox) -> None:
    with board_on(sandbox):
        place = {"region": (600, 300, 60, 60)}
        sandbox.desktop.move(620, 320)
        with_pointer, without = sandbox.desktop.screenshot(**place), sandbox.desktop.screenshot(**place, cursor=False)
        sandbox.desktop.move(100, 100)
        assert sandbox.desktop.screenshot(**place).data == without.data != with_pointer.data


def test_the_mouse_does_what_it_is_told_where_it_is_told(sandbox: Sandbox) -> None:
    desktop = sandbox.desktop
    with board_on(sandbox) as board:
        assert desktop.move(300, 200) == desktop.screen().cursor
        desktop.click(310, 210, button="right")
        assert _acts(board, 2) == [("press", 310, 210, 3, 0), ("release", 310, 210, 3, 1 << 10 & 0xFF)]
        desktop.double_click(modifiers=["ctrl", "shift"])
        assert _acts(board, 4) == [(kind, 310, 210, 1, SHIFT | CTRL) for kind in ("press", "release") * 2]
        desktop.scroll(2, -1, x=400, y=300)
        assert [(act[0], act[3]) for act in _acts(board, 6)] == [(k, b) for b in (5, 5, 6) for k in ("press", "release")]
        assert desktop.drag([(100, 100), (300, 100), (300, 250)]).x == 300
        acts = _acts(board, 2)
        assert [act[:4] for act in acts] == [("press", 100, 100, 1), ("release", 300, 250, 1)]
        with pytest.raises(Invalid, match="the screen is 1280 × 800 pixels"):
            desktop.click(1280, 0)


def _acts(board: Board, count: int) -> list[tuple[Any, ...]]:
    found = (board.next("press", "release") for _ in range(count))
    return [tuple(event[name] for name in ("kind", "x", "y", "button", "state")) for event in found]


def test_coordinates_of_a_scaled_picture_are_mapped_back(sandbox: Sandbox) -> None:
    desktop = sandbox.desktop
    with board_on(sandbox) as board:
        picture = desktop.screenshot(width=400)
        cursor = desktop.click(200, 125, scale=picture.scale)
        assert (cursor.x, cursor.y) == (200, 125)
        press = board.next("press")
        # The middle of the picture's pixel, 3.2 pixels wide on the screen.
        assert (press["x"], press["y"]) == (641, 401)
        with pytest.raises(Invalid, match="400 × 250"):
            desktop.click(400, 0, scale=picture.scale)


def test_what_is_pressed_stays_down_until_it_is_released(sandbox: Sandbox) -> None:
    desktop = sandbox.desktop
    with board_on(sandbox) as board:
        desktop.press(key="shift")
        desktop.press(button="left")
        assert board.next("press")["state"] == SHIFT
        desktop.release()
        board.next("release")
        desktop.click()
        assert board.next("press")["state"] == 0


def test_any_text_arrives_as_it_was_typed(sandbox: Sandbox) -> None:
    many = "".join(chr(0x4E00 + number * 13) for number in range(200))
    with editor_on(sandbox, "typed") as path:
        sandbox.desktop.type(TEXT)
        saves(sandbox, path, TEXT)
        sandbox.desktop.key("ctrl+A Delete")
        sandbox.desktop.type(many)
        saves(sandbox, path, many)
        sandbox.desktop.key("ctrl+a Delete")
        sandbox.desktop.key("capslock")
        sandbox.desktop.type("Caps Żółć")
        sandbox.desktop.key("capslock")
        saves(sandbox, path, "Caps Żółć")


def test_a_text_reaches_a_program_that_was_held_up_while_it_was_typed(sandbox: Sandbox) -> None:
    """For longer than keys that the layout lacks are lent to a program that keeps up."""
    hold = "pid=$(pgrep -x mousepad) && kill -STOP $pid && echo held && sleep 8 && kill -CONT $pid"
    with editor_on(sandbox, "late") as path:
        with sandbox.start(hold) as held:
            assert next(iter(held)).data == b"held\n"
            sandbox.desktop.type("żółć")
            assert held.wait().code == 0
        saves(sandbox, path, "żółć")


def test_a_key_that_there_is_not_is_refused_with_a_suggestion(sandbox: Sandbox) -> None:
    with pytest.raises(Invalid, match=r"no key named 'entr'\. Did you mean Return\?") as caught:
        sandbox.desktop.key("ctrl+entr")
    assert caught.value.facts["suggestions"] == ["Return"]


@pytest.mark.parametrize("text", [TEXT, "ü" * 400_000], ids=["of many scripts", "long"])
def test_the_clipboard_both_ways(sandbox: Sandbox, text: str) -> None:
    desktop, environment = sandbox.desktop, {"DISPLAY": ":0"}

    def holds(text: str) -> None:
        try:
            assert desktop.clipboard() == text
        except TimedOut as error:
            raise AssertionError("whoever has it is slow") from error

    desktop.set_clipboard(text)
    holds(text)
    assert sandbox.run("xclip -selection clipboard -o", env=environment).stdout == text
    sandbox.run("xclip -selection clipboard -i >/dev/null 2>&1", env=environment, input=(text + "!").encode())
    # xclip ends before the process that it leaves behind has told the X server that the clipboard is its own.
    eventually(lambda: holds(text + "!"))


def test_windows_are_listed_brought_to_the_front_and_closed(sandbox: Sandbox) -> None:
    desktop = sandbox.desktop
    with editor_on(sandbox, "first"), editor_on(sandbox, "second"):
        listed = desktop.windows()
        assert ["second" in window.title for window in listed if window.class_name == "Mousepad"] == [True, False]
        assert [window.title for window in listed if window.focused] == [shows(sandbox, "second").title]
        first = comes_to_the_front(sandbox, shows(sandbox, "first"))
        assert first.width > 100
        assert first.height > 100
    with pytest.raises(NotFound, match="no window"):
        desktop.focus(first.id)


def test_an_address_opens_in_the_browser(sandbox: Sandbox) -> None:
    sandbox.files.write("/home/user/page.html", PAGE)
    assert sandbox.desktop.open("file:///home/user/page.html") > 0
    opened = shows(sandbox, "a page of ours")

    def listens() -> None:
        (window,) = [each for each in sandbox.desktop.windows() if each.id == opened.id]
        sandbox.desktop.click(window.x + window.width // 2, window.y + window.height // 2)
        assert "a page that listens" in window.title

    eventually(listens)  # a browser leaves clicks aside until a page is painted
    sandbox.desktop.type("żółć 漢字 🦜")
    assert shows(sandbox, "typed żółć 漢字 🦜").id == opened.id
    closes(sandbox, opened)
    ends(sandbox, "chromium")
    with pytest.raises(Invalid, match="nothing-like-it cannot be started"):
        sandbox.desktop.launch("nothing-like-it")


@pytest.mark.parametrize(
    ("address", "title"), [("about:blank", "about:blank"), ("data:text/html,<title>written in place</title>", "written in place")]
)
def test_an_address_without_a_host_opens_in_the_browser(sandbox: Sandbox, address: str, title: str) -> None:
    sandbox.desktop.open(address)
    closes(sandbox, shows(sandbox, title))
    ends(sandbox, "chromium")


def test_frames_come_when_something_changed_and_only_then(sandbox: Sandbox) -> None:
    desktop = sandbox.desktop
    with board_on(sandbox):
        desktop.move(700, 500)
        assert desktop.wait_still(0.5)
        frames = desktop.frames(every_s=0.05, width=320)
        dark = next(frames)
        assert (dark.type, dark.width, dark.height) == ("image/jpeg", 320, 200)
        # A frame without a change would come long before the board is clicked, and look as the first one.
        assert desktop.wait_still(1.0)
        desktop.click()
        light = next(frames)
        assert light.data != dark.data
        frames.close()  # type: ignore[attr-defined]


def test_still_waits_for_the_end_of_changes_but_not_of_a_text_cursor(sandbox: Sandbox) -> None:
    desktop = sandbox.desktop
    with board_on(sandbox) as board:
        board.order(period=0.05, patch=[100, 100, 200, 100])
        # Twenty changes a second. Half a second without one comes to pass where many share a processor; five do not.
        assert not desktop.wait_still(5, timeout_s=6)
        board.order(period=0.05, patch=[100, 100, 2, 20])
        assert desktop.wait_still(0.5)
        board.order()
        assert desktop.wait_still(0.5)


def test_typing_stops_when_the_caller_hangs_up(desktops: Server, sandbox: Sandbox) -> None:
    length = 50_000
    body = json.dumps({"text": "x" * length}).encode()
    token = str(sandbox.tokens().access_token)
    headers = {"Host": "localhost", "Content-Length": str(len(body)), "X-Access-Token": token, **sandbox.access.headers()}
    head = "POST /desktop/type HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with board_on(sandbox) as board:
        with socket.create_connection(("127.0.0.1", desktops.port)) as wire:
            wire.sendall(head.encode() + b"\r\n" + body)
            board.next("key")
        sandbox.desktop.key("F12")
        heard = 1
        while board.next("key")["keysym"] == ord("x"):
            heard += 1
        assert heard < length


def test_another_size(sandbox: Sandbox) -> None:
    desktop = sandbox.desktop
    for width, height in ((1024, 768), (1111, 777), (1280, 800)):
        screen = desktop.resize(width, height)
        assert (screen.width, screen.height) == (width, height)
        assert size_of_png(desktop.screenshot().data) == (width, height)


def test_a_companion_that_died_is_started_again(sandbox: Sandbox) -> None:
    sandbox.desktop.screen()
    # Until its parent has heard of it: a call that meets its end is refused, since it may have been half done.
    said(sandbox, "pid=$(pgrep -f [d]esktop/companion); kill $pid; while kill -0 $pid; do sleep 0.01; done 2>/dev/null")
    assert sandbox.desktop.screen().width == 1280


def test_a_screen_that_died_comes_back(desktops: Server) -> None:
    with sandbox_of(desktops, template="desktop") as sandbox:
        sandbox.desktop.screen()
        said(sandbox, "pkill -x Xvnc")

        def look() -> None:
            try:
                assert sandbox.desktop.screen().width == 1280
            except (TimedOut, Unavailable, Unsupported) as error:
                raise AssertionError from error

        eventually(look, 60)


def test_the_desktop_goes_on_after_a_sleep_and_in_a_fork(desktops: Server) -> None:
    with sandbox_of(desktops, template="desktop") as sandbox, editor_on(sandbox, "slept") as path:
        sandbox.desktop.type("żółw ")
        companion = said(sandbox, "pgrep -f [d]esktop/companion")
        sandbox.pause()
        sandbox.desktop.type("漢字 ")
        children, failures = sandbox.fork(1)
        assert not failures
        try:
            children[0].desktop.type("child 🦜")
            saves(children[0], path, "żółw 漢字 child 🦜")
            assert size_of_png(children[0].desktop.screenshot().data) == (1280, 800)
        finally:
            children[0].kill()
        sandbox.desktop.type("parent")
        saves(sandbox, path, "żółw 漢字 parent")
        assert said(sandbox, "pgrep -f [d]esktop/companion") == companion, "it slept through"


def test_the_awaiting_client_speaks_the_same(desktops: Server, sandbox: Sandbox) -> None:
    async def use() -> None:
        async with AsyncRoost(desktops.url, desktops.key) as roost:
            desktop = (await roost.get(sandbox.id)).desktop
            assert (await desktop.screen()).width == 1280
            assert size_of_png((await desktop.screenshot(scale=0.25)).data) == (320, 200)
            cursor = await desktop.move(10, 20)
            assert (cursor.x, cursor.y) == (10, 20)
            await desktop.set_clipboard("both ways")
            assert await desktop.clipboard() == "both ways"
            frames = desktop.frames(width=100)
            assert (await anext(frames)).width == 100
            await frames.aclose()  # type: ignore[attr-defined]

    anyio.run(use)


def test_a_sandbox_without_a_desktop_says_so_and_the_way_out(desktops: Server) -> None:
    with sandbox_of(desktops) as plain, pytest.raises(Unsupported, match="roost create --template desktop") as caught:
        plain.desktop.screenshot()
    assert caught.value.code == "no_desktop"
