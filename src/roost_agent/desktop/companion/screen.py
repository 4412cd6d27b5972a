"""The connection to the X server: requests go out in order, what comes back is handed to whoever waits for it.

python-xlib blocks while it waits for a reply and keeps the events that arrive meanwhile. So whoever makes requests calls
`pump` afterwards (the dispatcher does, after every message): nothing is ever left lying in the queue.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from Xlib import X, error
from Xlib.display import Display

from roost_agent.desktop.companion.refusals import Refusal
from roost_agent.desktop.companion.scale import Size

_NEEDED = ("XTEST", "XFIXES", "DAMAGE")
# What we hear of the root window all the time: little, since every event wakes this process.
WATCHED = X.PropertyChangeMask

Event = Any


class Screen:
    def __init__(self, name: str) -> None:
        """Raises Refusal when there is no X server, or one that lacks what is needed."""
        try:
            self.display = Display(name)
        except (error.DisplayError, OSError) as failure:
            raise Refusal(501, "no_desktop", f"the X server on display {name} does not answer ({failure})") from failure
        lacking = [extension for extension in _NEEDED if not self.display.has_extension(extension)]
        if lacking:
            raise Refusal(501, "no_desktop", f"the X server on display {name} lacks {', '.join(lacking)}")
        self.display.set_error_handler(_note_error)
        self.display.xfixes_query_version()
        self.display.damage_query_version()
        self.root = self.display.screen().root
        # An unseen window of ours: owner of the clipboard, place for answers.
        self.window = self.root.create_window(-10, -10, 1, 1, 0, X.CopyFromParent, event_mask=X.PropertyChangeMask)
        self.root.change_attributes(event_mask=WATCHED)
        self._listeners: dict[int, list[Callable[[Event], None]]] = {}
        self._expected: list[tuple[Callable[[Event], bool], asyncio.Future[Event]]] = []
        self._atoms: dict[str, int] = {}

    @property
    def size(self) -> Size:
        geometry = self.root.get_geometry()
        return Size(geometry.width, geometry.height)

    @property
    def pointer(self) -> tuple[int, int]:
        found = self.root.query_pointer()
        return found.root_x, found.root_y

    def atom(self, name: str) -> int:
        if name not in self._atoms:
            self._atoms[name] = self.display.intern_atom(name)
        return self._atoms[name]

    def atom_name(self, atom: int) -> str:
        return self.display.get_atom_name(atom)

    def listen(self, kind: int, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event of a kind, from now on."""
        self._listeners.setdefault(kind, []).append(listener)

    def expect(self, matches: Callable[[Event], bool]) -> asyncio.Future[Event]:
        """The next event that matches. Ask before the request that causes it."""
        future: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        self._expected.append((matches, future))
        return future

    async def arrival(self, future: asyncio.Future[Event], within_s: float) -> Event | None:
        """What was expected, or None after so long."""
        self.pump()
        try:
            await asyncio.wait((future,), timeout=within_s)
            if not future.done():
                self.pump()  # it may be us who were late
            return future.result() if future.done() else None
        finally:
            future.cancel()

    def pump(self) -> None:
        """Send what is queued and hand out the events that have arrived. Raises ConnectionClosedError."""
        self.display.flush()
        while self.display.pending_events():
            self._hand_out(self.display.next_event())
            # It reads as well as it writes: what came meanwhile would lie in the queue until something else comes, if the last
            # look were before it.
            self.display.flush()

    def _hand_out(self, event: Event) -> None:
        for listener in self._listeners.get(event.type, ()):
            listener(event)
        still_expected: list[tuple[Callable[[Event], bool], asyncio.Future[Event]]] = []
        for matches, future in self._expected:
            if future.done():
                continue
            if matches(event):
                future.set_result(event)
            else:
                still_expected.append((matches, future))
        self._expected = still_expected


def _note_error(failure: Exception, _request: object) -> None:
    """Errors nobody waits for: a window that closed while we spoke to it. Worth a line in the log, no more."""
    sys.stderr.write(f"X: {failure}\n")
