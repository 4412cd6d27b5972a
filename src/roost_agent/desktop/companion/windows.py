"""The windows of the desktop, as its window manager lists them (EWMH)."""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

from typing import Any

from Xlib import X, Xatom
from Xlib.error import XError
from Xlib.protocol import event as events

from roost_agent.desktop.companion.refusals import Refusal
from roost_agent.desktop.companion.screen import WATCHED, Screen

# Whoever asks for focus or closing is a person's tool, not the program itself: window managers do not second-guess it.
_FROM_PAGER = 2
_FOCUSES_WITHIN_S = 2.0
_CLOSES_WITHIN_S = 2.0
_MOST_WORDS = 1 << 20
_FURNITURE = ("_NET_WM_WINDOW_TYPE_DESKTOP", "_NET_WM_WINDOW_TYPE_DOCK")

Fields = dict[str, Any]


class Windows:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._pings = 0  # that wait for an answer

    def list(self) -> list[Fields]:
        """The topmost first, without the desktop itself and its panels."""
        root = self._screen.root
        order = self._numbers(root, "_NET_CLIENT_LIST_STACKING") or self._numbers(root, "_NET_CLIENT_LIST")
        active = self._active()
        found = (self._describe(id, active) for id in reversed(order))
        return [window for window in found if window is not None]

    async def focus(self, id: int) -> Fields:
        """In front, with the keyboard. Raises Refusal."""
        self._require(id)
        screen, active_atom = self._screen, self._screen.atom("_NET_ACTIVE_WINDOW")
        while self._active() != id:
            changed = screen.expect(lambda event: event.type == X.PropertyNotify and event.atom == active_atom)
            self._tell(id, "_NET_ACTIVE_WINDOW", [_FROM_PAGER, X.CurrentTime, 0, 0, 0])
            if await screen.arrival(changed, _FOCUSES_WITHIN_S) is None:
                break
        found = self._describe(id, self._active())
        if found is None:
            raise _no_window(id)
        return found

    async def close(self, id: int) -> bool:
        """Whether it is gone: it may ask first. Raises Refusal."""
        self._require(id)
        window = self._screen.display.create_resource_object("window", id)
        window.change_attributes(event_mask=X.StructureNotifyMask)
        gone = self._screen.expect(lambda event: event.type in (X.DestroyNotify, X.UnmapNotify) and event.window == window)
        self._tell(id, "_NET_CLOSE_WINDOW", [X.CurrentTime, _FROM_PAGER, 0, 0, 0])
        is_gone = await self._screen.arrival(gone, _CLOSES_WITHIN_S) is not None
        if not is_gone:
            window.change_attributes(event_mask=X.NoEventMask)
        return is_gone

    async def caught_up(self, within_s: float) -> bool:
        """Whether the program with the keyboard has got to everything that was typed: it answers a ping, in order, after
        that. False when it does not answer pings, or not in time."""
        screen, id = self._screen, self._active()
        if id is None or not self._answers_pings(id):
            return False
        ping = screen.atom("_NET_WM_PING")
        screen.root.change_attributes(event_mask=WATCHED | X.SubstructureNotifyMask)
        self._pings += 1
        try:
            answer = screen.expect(lambda event: event.type == X.ClientMessage and list(event.data[1])[:3:2] == [ping, id])
            window = screen.display.create_resource_object("window", id)
            window.send_event(
                events.ClientMessage(window=window, client_type=screen.atom("WM_PROTOCOLS"), data=(32, [ping, 0, id, 0, 0]))
            )
            return await screen.arrival(answer, within_s) is not None
        finally:
            self._pings -= 1
            if not self._pings:
                screen.root.change_attributes(event_mask=WATCHED)

    def _answers_pings(self, id: int) -> bool:
        window = self._screen.display.create_resource_object("window", id)
        try:
            return self._screen.atom("_NET_WM_PING") in self._numbers(window, "WM_PROTOCOLS")
        except XError:
            return False

    def manager_pid(self) -> int | None:
        """The process of the window manager: the desktop's session is known by it."""
        checks = self._numbers(self._screen.root, "_NET_SUPPORTING_WM_CHECK")
        if not checks:
            return None
        check = self._screen.display.create_resource_object("window", checks[0])
        try:
            named = self._numbers(check, "_NET_WM_PID")
            return named[0] if named else self._pid_of_connection(checks[0])
        except XError:
            return None

    def _pid_of_connection(self, id: int) -> int | None:
        """What the X server knows of who is at the other end."""
        display = self._screen.display
        if not display.has_extension("X-Resource"):
            return None
        answer = display.res_query_client_ids([{"client": id, "mask": 2}])
        return next((int(found.value[0]) for found in answer.ids if found.value), None)

    def _describe(self, id: int, active: int | None) -> Fields | None:
        """None for one that closed meanwhile, or is part of the furniture."""
        window = self._screen.display.create_resource_object("window", id)
        try:
            if any(self._screen.atom(name) in self._numbers(window, "_NET_WM_WINDOW_TYPE") for name in _FURNITURE):
                return None
            geometry = window.get_geometry()
            place = self._screen.root.translate_coords(window, 0, 0)
            states = self._numbers(window, "_NET_WM_STATE")
            names = window.get_wm_class()
            return {
                "id": f"0x{id:08x}",
                "title": self._title(window),
                "class": names[1] if names else "",
                "x": place.x,
                "y": place.y,
                "width": geometry.width,
                "height": geometry.height,
                "focused": id == active,
                "minimized": self._screen.atom("_NET_WM_STATE_HIDDEN") in states,
            }
        except XError:
            return None

    def _title(self, window: Any) -> str:
        for name in ("_NET_WM_NAME", "WM_NAME"):
            found = window.get_full_property(self._screen.atom(name), X.AnyPropertyType)
            if found is not None and found.value:
                raw = found.value if isinstance(found.value, bytes) else str(found.value).encode("utf-8", "replace")
                coding = "latin-1" if found.property_type == Xatom.STRING else "utf-8"
                return raw.decode(coding, "replace")
        return ""

    def _active(self) -> int | None:
        found = self._numbers(self._screen.root, "_NET_ACTIVE_WINDOW")
        return found[0] if found and found[0] else None

    def _numbers(self, window: Any, name: str) -> list[int]:
        found = window.get_property(self._screen.atom(name), X.AnyPropertyType, 0, _MOST_WORDS)
        return list(found.value) if found is not None and found.format == 32 else []

    def _require(self, id: int) -> None:
        if id not in self._numbers(self._screen.root, "_NET_CLIENT_LIST"):
            raise _no_window(id)

    def _tell(self, id: int, kind: str, data: list[int]) -> None:
        """A request to the window manager."""
        window = self._screen.display.create_resource_object("window", id)
        message = events.ClientMessage(window=window, client_type=self._screen.atom(kind), data=(32, data))
        mask = X.SubstructureRedirectMask | X.SubstructureNotifyMask
        self._screen.root.send_event(message, event_mask=mask)
        self._screen.display.flush()


def _no_window(id: int) -> Refusal:
    return Refusal(
        404, "window_not_found", f"There is no window 0x{id:08x} any more. `GET /desktop/windows` lists those there are."
    )
