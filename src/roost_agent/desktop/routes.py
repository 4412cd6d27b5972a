"""Which path is which verb of the desktop. Every one needs the sandbox's token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from roost_agent.desktop.clipboard import ReadClipboard, WriteClipboard
from roost_agent.desktop.frames import Frames
from roost_agent.desktop.keyboard import Key, Type
from roost_agent.desktop.link import Link
from roost_agent.desktop.open import Open
from roost_agent.desktop.pointer import Click, Drag, Move, Scroll
from roost_agent.desktop.press import Press, Release
from roost_agent.desktop.screen import Describe, Resize
from roost_agent.desktop.screenshot import Screenshot
from roost_agent.desktop.still import Still
from roost_agent.desktop.windows import CloseWindow, FocusWindow, ListWindows
from roost_agent.http.connection import Exchange
from roost_agent.processes.table import ProcessTable
from roost_agent.sandbox import Sandbox


def desktop_routes(
    link: Link, sandbox: Sandbox, processes: ProcessTable
) -> dict[tuple[str, str], Callable[[Exchange], Awaitable[None]]]:
    return {
        ("GET", "/desktop"): Describe(link),
        ("POST", "/desktop/size"): Resize(link),
        ("GET", "/desktop/screenshot"): Screenshot(link),
        ("GET", "/desktop/frames"): Frames(link),
        ("GET", "/desktop/still"): Still(link),
        ("POST", "/desktop/move"): Move(link),
        ("POST", "/desktop/click"): Click(link),
        ("POST", "/desktop/drag"): Drag(link),
        ("POST", "/desktop/scroll"): Scroll(link),
        ("POST", "/desktop/type"): Type(link),
        ("POST", "/desktop/key"): Key(link),
        ("POST", "/desktop/press"): Press(link),
        ("POST", "/desktop/release"): Release(link),
        ("GET", "/desktop/clipboard"): ReadClipboard(link),
        ("PUT", "/desktop/clipboard"): WriteClipboard(link),
        ("GET", "/desktop/windows"): ListWindows(link),
        ("POST", "/desktop/windows/focus"): FocusWindow(link),
        ("POST", "/desktop/windows/close"): CloseWindow(link),
        ("POST", "/desktop/open"): Open(link, sandbox, processes),
    }
