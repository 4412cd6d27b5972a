"""A desktop that is slept, forked and furnished like any other machine: what was half done on its screen goes on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest

from roost.client import Sandbox
from tests.real.server import Server, eventually, said, sandbox_of

SLEEPS = 3
# It is called what it is waited for once it has been painted: before that a browser leaves keys and clicks aside.
PAGE = """
<title>not yet</title>
<textarea autofocus style="position: fixed; inset: 0; width: 100%; height: 100%"
    oninput="document.title = 'typed:' + this.value"></textarea>
<script>requestAnimationFrame(() => requestAnimationFrame(() => document.title = "typed:"))</script>
"""
SCRIPTS = '<meta charset="utf-8"><title>scripts</title><p style="font-size: 200px; margin: 0">😀 漢字 한글</p>'
COUNT_YELLOW = """
from PIL import Image
picture = Image.open("/tmp/scripts.png").convert("RGB")
pixels = picture.tobytes()
print(sum(1 for at in range(0, len(pixels), 3) if pixels[at] > 220 and 150 < pixels[at + 1] < 240 and pixels[at + 2] < 110))
"""


@pytest.fixture(scope="module")
def desktop(desktops: Server) -> Iterator[Sandbox]:
    """One for all tests that leave it as usable as they found it."""
    with sandbox_of(desktops, template="desktop") as sandbox:
        yield sandbox


def launch(sandbox: Sandbox, command: str) -> None:
    """As a person does by the menu: nobody waits for it."""
    said(sandbox, f"setsid --fork {command} >/tmp/launched.log 2>&1 </dev/null")


def titles(sandbox: Sandbox) -> list[str]:
    return [line.split(maxsplit=3)[3] for line in said(sandbox, "wmctrl -l").splitlines() if len(line.split()) > 3]


def shows(sandbox: Sandbox, title: str, within_s: float = 60.0) -> None:
    """A window with that in its title is there, at the latest after so long."""

    def look() -> None:
        found = titles(sandbox)
        assert any(title in each for each in found), f"{found}\n{said(sandbox, 'tail -n 20 /tmp/launched.log || true')}"

    eventually(look, within_s)


def serve_pages(sandbox: Sandbox, **pages: str) -> None:
    for name, content in pages.items():
        sandbox.files.write(f"/home/user/pages/{name}.html", content)
    launch(sandbox, "python3 -m http.server --bind 127.0.0.1 --directory /home/user/pages 8000")
    said(sandbox, "curl -sf --retry 20 --retry-connrefused --retry-delay 1 -o /dev/null http://localhost:8000/")


def type_into(sandbox: Sandbox, title: str, text: str) -> None:
    """Brings the window to the front, and its keyboard focus to where a click in its middle leads."""
    quoted = shlex.quote(title)
    said(sandbox, f"wmctrl -a {quoted}")
    window = said(sandbox, f"xdotool search --onlyvisible --name {quoted} | head -n 1")
    said(sandbox, f"xdotool windowactivate --sync {window} && eval $(xdotool getwindowgeometry --shell {window})"
         " && xdotool mousemove $((X + WIDTH / 2)) $((Y + HEIGHT / 2)) click 1"
         f" && xdotool key ctrl+End && xdotool type -- {shlex.quote(text)}")  # fmt: skip


def test_a_desktop_is_up_the_moment_it_is_created(desktops: Server) -> None:
    with sandbox_of(desktops, template="desktop", name="of-its-own") as sandbox:
        said(sandbox, "/usr/lib/roost/desktop-ready")
        windows = said(sandbox, "wmctrl -lx")
        assert "xfce4-panel" in windows and "xfdesktop" in windows
        assert "1280x800" in said(sandbox, "xdpyinfo | grep dimensions")
        assert said(sandbox, "pgrep -xc Xvnc; pgrep -xc xfce4-session; pgrep -xc xfwm4").split() == ["1", "1", "1"]
        assert said(sandbox, "hostname") == "of-its-own"
        assert sandbox.record.raw["has_desktop"] is True
        launch(sandbox, "xfce4-terminal")
        shows(sandbox, "of-its-own")


def test_what_was_half_typed_is_finished_after_sleeps_and_in_a_fork(desktops: Server) -> None:
    with sandbox_of(desktops, template="desktop", name="writer") as writer:
        serve_pages(writer, index=PAGE, second="<title>the second page</title>")
        launch(writer, "chromium http://localhost:8000/")
        shows(writer, "typed:")
        type_into(writer, "typed:", "one ")
        shows(writer, "typed:one")
        launch(writer, "mousepad /home/user/note.txt")
        shows(writer, "note.txt")
        type_into(writer, "note.txt", "two ")
        for _ in range(SLEEPS):
            writer.pause()
            writer.resume()
            shows(writer, "typed:one")
        children, failures = writer.fork(1, names=["copy"])
        assert not failures
        try:
            for machine, word in ((writer, "original"), (children[0], "copy")):
                _finish(machine, word)
            # It has another host name than the one in its browser's lock, and its browser opens pages all the same.
            assert said(children[0], "hostname") == "copy"
            said(children[0], "timeout 60 chromium --new-window http://localhost:8000/second.html 2>/tmp/launched.log")
            shows(children[0], "the second page")
        finally:
            children[0].kill(keep=False)


def _finish(machine: Sandbox, word: str) -> None:
    type_into(machine, "typed:", word)
    shows(machine, f"typed:one {word}")
    type_into(machine, "note.txt", word)
    said(machine, "xdotool key ctrl+s")

    def saved() -> None:
        assert machine.files.read("/home/user/note.txt").decode().strip() == f"two {word}"

    eventually(saved)


def test_a_lock_that_another_machine_left_does_not_keep_the_browser_from_starting(desktops: Server) -> None:
    with sandbox_of(desktops, template="desktop") as sandbox:
        serve_pages(sandbox, index="<title>came up</title>")
        said(sandbox, "mkdir -p ~/.config/chromium && ln -s some-other-host-99999 ~/.config/chromium/SingletonLock")
        launch(sandbox, "xdg-open http://localhost:8000/")
        shows(sandbox, "came up")
        assert said(sandbox, "readlink ~/.config/chromium/SingletonLock").startswith(f"{said(sandbox, 'hostname')}-")
        assert "--no-sandbox" not in said(sandbox, "ps -eo args | grep [c]hromium"), "its own sandbox is on"


def test_a_desktop_that_boots_from_its_disk_or_dies_comes_up_by_itself(desktops: Server) -> None:
    with sandbox_of(desktops, template="desktop") as sandbox:
        said(sandbox, "xdotool mousemove 11 22")
        sandbox.pause(memory=False)
        assert sandbox.resume(cold=True).cold

        def up() -> None:
            assert sandbox.run("/usr/lib/roost/desktop-ready").code == 0

        eventually(up, 90)
        assert "x:11 y:22" not in said(sandbox, "xdotool getmouselocation"), "it is another screen"
        before = said(sandbox, "pgrep -x Xvnc")
        said(sandbox, "pkill -KILL -x Xvnc")

        def back() -> None:
            assert said(sandbox, "pgrep -x Xvnc || true") not in ("", before)
            up()

        eventually(back, 90)


def test_emoji_and_east_asian_scripts_are_drawn(desktop: Sandbox) -> None:
    assert "Noto Color Emoji" in said(desktop, "fc-match emoji")
    for language, family in {"ja": "CJK JP", "ko": "CJK KR", "zh-cn": "CJK SC", "zh-tw": "CJK TC"}.items():
        assert family in said(desktop, f"fc-match sans-serif:lang={language}")
    serve_pages(desktop, index=SCRIPTS)
    launch(desktop, "chromium http://localhost:8000/")
    shows(desktop, "scripts")

    def drawn() -> None:
        said(desktop, "scrot --overwrite /tmp/scripts.png")
        assert int(said(desktop, f"python3 -c {shlex.quote(COUNT_YELLOW)}")) > 5000, "a face of 200 pixels is mostly yellow"

    eventually(drawn)


def test_libreoffice_comes_by_apt_and_wakes_with_what_was_written(desktop: Sandbox) -> None:
    install = "sudo DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends libreoffice-writer"
    said(desktop, f"sudo apt-get -qq update && {install} 2>&1", timeout_s=900)
    launch(desktop, "libreoffice --writer --norestore --nologo")
    shows(desktop, "LibreOffice Writer", 180)
    hands = desktop.desktop

    def holds(text: str) -> None:
        hands.key("ctrl+a")
        hands.key("ctrl+c")
        assert hands.clipboard().strip() == text

    def is_begun() -> None:
        hands.key("ctrl+a")  # a window that is still being made may leave keys aside: written over until it does not
        hands.type("Half a let")
        holds("Half a let")

    eventually(is_begun)
    desktop.pause()
    desktop.resume()
    hands.key("ctrl+End")
    hands.type("ter")
    eventually(lambda: holds("Half a letter"))
    said(desktop, "pkill -x soffice.bin")
