"""E2B's desktop clients, Python and JavaScript, as they are published, on the template that they ask for by name."""

from __future__ import annotations

import io
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from e2b import CommandExitException
from e2b_desktop import Sandbox as Desktop
from PIL import Image, ImageChops
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from roost.client import links
from tests.e2b.test_javascript import JS, NODE, PATIENCE_S, environment, modules
from tests.real.server import Server, eventually, template_is_made
from tests.real.viewer import watching

__all__ = ["environment", "modules"]

SIZE = (1024, 768)  # what E2B's desktops have unless told otherwise
REFUSED = 75  # how xdotool ends while a person drives
HANDS = "readlink /run/roost/hands"  # whose they are, as programs inside find it


@pytest.fixture(scope="module")
def desktops(server: Server) -> Server:
    template_is_made(server, "desktop")
    return server


@pytest.fixture(scope="module")
def desktop(desktops: Server, variables: dict[str, str]) -> Iterator[Any]:
    desktop = Desktop.create(timeout=900)
    eventually(lambda: _has_size(desktop, SIZE))
    yield desktop
    desktops.roost.get(desktop.sandbox_id).kill()


def _has_size(desktop: Any, size: tuple[int, int]) -> None:
    """The client waits for any screen to answer, and there is one before it has the size that was asked for."""
    assert (desktop.get_screen_size(), desktop.get_cursor_position()) == (size, (size[0] // 2, size[1] // 2))


def picture(desktop: Any) -> Image.Image:
    return Image.open(io.BytesIO(desktop.screenshot())).convert("RGB")


def windows(desktop: Any, application: str) -> list[str]:
    """Once there are any."""

    def look() -> list[str]:
        found = desktop.commands.run(f"xdotool search --onlyvisible --class {application} || true").stdout.split()
        assert found, desktop.commands.run("wmctrl -lx").stdout
        return found

    return eventually(look, 60)


def test_the_screen_has_the_size_and_the_pointer_that_they_expect(desktop: Any) -> None:
    assert desktop.get_screen_size() == SIZE
    assert desktop.get_cursor_position() == (512, 384)
    assert picture(desktop).size == SIZE
    assert desktop.commands.run("pgrep -c Xvfb || true").stdout.strip() == "0", "there is no second screen"
    assert desktop.commands.run("pgrep -xc xfce4-session").stdout.strip() == "1", "nor a second session"


def test_a_right_click_opens_a_menu_where_the_pointer_is(desktop: Any) -> None:
    desktop.move_mouse(300, 200)
    before, bare = picture(desktop), windows(desktop, "xfdesktop")
    desktop.right_click()

    def opened() -> None:
        area = (310, 210, 400, 300)
        assert set(windows(desktop, "xfdesktop")) > set(bare)
        assert ImageChops.difference(before.crop(area), picture(desktop).crop(area)).getbbox() is not None

    def closed() -> None:
        assert set(windows(desktop, "xfdesktop")) == set(bare)

    eventually(opened)
    desktop.press("esc")
    eventually(closed)  # As long as it is open, it gets every key.


def test_what_is_typed_arrives_in_the_program_that_was_launched(desktop: Any) -> None:
    desktop.files.write("note.txt", "")
    desktop.open("/home/user/note.txt")
    window = windows(desktop, "mousepad")[-1]
    eventually(lambda: _shows(desktop, window, "note.txt"), 30)
    desktop.commands.run(f"xdotool windowactivate --sync {window}")
    eventually(lambda: _has_keyboard(desktop, window))
    _types(desktop, "E2B types, and more than once: 42")
    # For a letter that the keyboard lacks, xdotool lends one to a spare key for a fraction of the delay, whether the program
    # has looked by then or not: one that gets no turn meanwhile misses it.
    eventually(lambda: _types(desktop, "äöü", delay_in_ms=1000), 90)


def _types(desktop: Any, text: str, **options: Any) -> None:
    """In the place of all that is there, and into the file."""
    desktop.press(["ctrl", "a"])
    desktop.write(text, **options)
    desktop.press(["ctrl", "s"])

    def saved() -> None:
        assert desktop.files.read("note.txt").strip() == text

    eventually(saved, 20)


def _has_keyboard(desktop: Any, window: str) -> None:
    assert desktop.get_current_window_id() == window


def _shows(desktop: Any, window: str, text: str) -> None:
    assert text in desktop.get_window_title(window)


def test_an_application_is_launched_by_name_and_its_windows_are_found(desktop: Any) -> None:
    desktop.launch("xfce4-terminal")
    found = windows(desktop, "xfce4-terminal")
    assert set(desktop.get_application_windows("xfce4-terminal")) == set(found)
    eventually(lambda: _shows(desktop, found[-1], "Terminal"))


@pytest.mark.parametrize("guarded", [False, True], ids=["open", "with a password"])
def test_the_stream_is_served_to_a_browser_through_the_edge(desktop: Any, desktops: Server, guarded: bool) -> None:
    desktop.stream.start(require_auth=guarded)
    try:
        url = urlsplit(desktop.stream.get_url(auth_key=desktop.stream.get_auth_key() if guarded else None))
        assert url.netloc == f"{desktops.host(desktops.roost.get(desktop.sandbox_id), 6080)}:{desktops.port}"
        page = httpx.get(f"{desktops.url}{url.path}?{url.query}", headers={"Host": url.netloc}, timeout=30)
        assert page.status_code == 200
        assert "noVNC" in page.text
        road = socket.create_connection(("127.0.0.1", desktops.port))  # a browser finds it by the name
        with connect(
            f"ws://{url.netloc}/websockify", sock=road, subprotocols=[Subprotocol("binary")], proxy=None, open_timeout=60
        ) as stream:
            assert stream.recv(30) == b"RFB 003.008\n"
            stream.send(b"RFB 003.008\n")
            kinds = stream.recv(30)
            assert isinstance(kinds, bytes)
            # 1: come in, 2: a password
            assert (2 in kinds[1:], 1 in kinds[1:]) == (guarded, not guarded)
    finally:
        desktop.stream.stop()
    eventually(lambda: _serves_nothing(desktop))


def _serves_nothing(desktop: Any) -> None:
    """The client asks them to end, and does not wait until they have."""
    assert desktop.commands.run("pgrep -x x11vnc || netstat -tln | grep ':6080 ' || echo none").stdout.strip() == "none"


def test_while_a_person_drives_input_is_refused_and_looking_is_not(desktop: Any, desktops: Server) -> None:
    sandbox = desktops.roost.get(desktop.sandbox_id)
    link = sandbox.link(control=True, label="anna")
    token, screen = link.token, link.websocket
    assert token is not None and screen is not None
    desktop.move_mouse(222, 111)
    with watching(screen):  # Who is before no screen drives for ten seconds only.
        _is_refused(desktop, desktops, token)
    eventually(lambda: _hands_are(desktop, "agent-drives"))
    desktop.move_mouse(223, 112)
    assert desktop.get_cursor_position() == (223, 112)


def _is_refused(desktop: Any, desktops: Server, token: str) -> None:
    took = desktops.roost.run(links.take_over(token))
    try:
        eventually(lambda: _hands_are(desktop, "person-drives"))  # A guest that is slow to hear it is told behind the answer.
        for attempt in (
            lambda: desktop.move_mouse(1, 1),
            lambda: desktop.left_click(),
            lambda: desktop.double_click(3, 3),
            lambda: desktop.scroll("down"),
            lambda: desktop.mouse_press(),
            lambda: desktop.drag((1, 1), (2, 2)),
            lambda: desktop.write("hello"),
            lambda: desktop.press(["ctrl", "s"]),
        ):
            with pytest.raises(CommandExitException, match=f"anna drives since {took['since']}") as refused:
                attempt()
            assert refused.value.exit_code == REFUSED
        assert desktop.get_cursor_position() == (222, 111)
        assert desktop.get_screen_size() == SIZE
        assert picture(desktop).size == SIZE
        assert desktop.get_current_window_id()
    finally:
        desktops.roost.run(links.hand_back(token))


def _hands_are(desktop: Any, folder: str) -> None:
    assert desktop.commands.run(HANDS).stdout.strip().endswith(folder)


def test_another_size_may_be_asked_for(desktops: Server, variables: dict[str, str]) -> None:
    desktop = Desktop.create(resolution=(1400, 900), timeout=900)
    try:
        eventually(lambda: _has_size(desktop, (1400, 900)))
        assert picture(desktop).size == (1400, 900)
    finally:
        desktops.roost.get(desktop.sandbox_id).kill()


def test_the_main_path_of_the_javascript_client(desktops: Server, modules: Path, environment: dict[str, str]) -> None:
    ran = subprocess.run(
        [NODE, "desktop.mjs"], cwd=JS, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1] == "done"
