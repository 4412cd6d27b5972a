"""The clipboard: asked for as any program would, and offered to any program that asks (ICCCM, with INCR for long texts)."""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
from typing import Any

from Xlib import X, Xatom
from Xlib.protocol import event as events

from roost_agent.desktop.companion.refusals import Refusal
from roost_agent.desktop.companion.screen import Screen

_TEXTS = ("UTF8_STRING", "text/plain;charset=utf-8", "text/plain")
# A request of X holds a quarter of a megabyte; beyond this a text is handed over in pieces.
_PIECE_BYTES = 128 * 1024
_ANSWERS_WITHIN_S = 5.0
_PLACE = "ROOST_CLIPBOARD"

_Transfer = tuple[int, int]


class Clipboard:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._selection = screen.atom("CLIPBOARD")
        self._reading = asyncio.Lock()
        self._content: bytes | None = None
        # What is still to be handed over, by requestor and property.
        self._transfers: dict[_Transfer, tuple[int, bytes]] = {}
        screen.listen(X.SelectionRequest, self._offer)
        screen.listen(X.SelectionClear, self._lost)
        screen.listen(X.PropertyNotify, self._hand_over)

    def set(self, content: bytes) -> None:
        window = self._screen.window
        window.set_selection_owner(self._selection, X.CurrentTime)
        if self._screen.display.get_selection_owner(self._selection) != window:
            raise Refusal(409, "clipboard_busy", "Another program took the clipboard at the same moment. Try again.")
        self._content = content

    async def get(self, most_bytes: int) -> bytes:
        """The text, as UTF-8; empty when there is none. Raises Refusal."""
        if self._content is not None:
            return self._content
        async with self._reading:
            for name in ("UTF8_STRING", "STRING"):
                found = await self._ask(self._screen.atom(name), most_bytes)
                if found is not None:
                    return found if name == "UTF8_STRING" else found.decode("latin-1").encode()
        return b""

    async def _ask(self, target: int, most_bytes: int) -> bytes | None:
        """None when nobody offers it so."""
        screen, place = self._screen, self._screen.atom(_PLACE)
        if screen.display.get_selection_owner(self._selection) == X.NONE:
            return None
        answer = screen.expect(lambda event: event.type == X.SelectionNotify and event.selection == self._selection)
        screen.window.delete_property(place)
        screen.window.convert_selection(self._selection, target, place, X.CurrentTime)
        answered = await screen.arrival(answer, _ANSWERS_WITHIN_S)
        if answered is None:
            raise _slow_owner()
        if answered.property == X.NONE:
            return None
        more = self._next_piece()
        value = screen.window.get_full_property(place, X.AnyPropertyType)
        if value is None:
            return None
        if value.property_type != screen.atom("INCR"):
            return _as_bytes(value.value)
        return await self._collect(more, most_bytes)

    async def _collect(self, more: Any, most_bytes: int) -> bytes:
        """A long text, piece by piece: each is read and removed, which asks for the next."""
        screen, place = self._screen, self._screen.atom(_PLACE)
        found = bytearray()
        while True:
            screen.window.delete_property(place)
            if await screen.arrival(more, _ANSWERS_WITHIN_S) is None:
                raise _slow_owner()
            more = self._next_piece()
            value = screen.window.get_full_property(place, X.AnyPropertyType)
            piece = _as_bytes(value.value) if value is not None else b""
            if not piece:
                return bytes(found)
            found += piece
            if len(found) > most_bytes:
                raise Refusal(413, "clipboard_too_large", f"The clipboard holds more than {most_bytes} bytes of text.")

    def _next_piece(self) -> Any:
        place, window = self._screen.atom(_PLACE), self._screen.window
        return self._screen.expect(
            lambda event: (
                event.type == X.PropertyNotify
                and event.window == window
                and event.atom == place
                and event.state == X.PropertyNewValue
            )
        )

    # The other side: we own the clipboard and somebody asks for it.

    def _offer(self, event: Any) -> None:
        # Old programs leave the place to us.
        place = event.property or event.target
        given = event.selection == self._selection and self._content is not None and self._give(event, place)
        answer = events.SelectionNotify(
            time=event.time,
            requestor=event.requestor,
            selection=event.selection,
            target=event.target,
            property=place if given else X.NONE,
        )
        event.requestor.send_event(answer)
        self._screen.display.flush()

    def _give(self, event: Any, place: int) -> bool:
        screen, content = self._screen, self._content
        assert content is not None
        text_targets = [screen.atom(name) for name in _TEXTS]
        if event.target == screen.atom("TARGETS"):
            offered = [screen.atom("TARGETS"), *text_targets, Xatom.STRING, screen.atom("TEXT")]
            event.requestor.change_property(place, Xatom.ATOM, 32, offered)
            return True
        if event.target == Xatom.STRING:
            content, kind = content.decode("utf-8", "replace").encode("latin-1", "replace"), Xatom.STRING
        elif event.target in text_targets:
            kind = event.target
        elif event.target == screen.atom("TEXT"):
            kind = screen.atom("UTF8_STRING")
        else:
            return False
        if len(content) <= _PIECE_BYTES:
            event.requestor.change_property(place, kind, 8, content)
        else:
            event.requestor.change_attributes(event_mask=X.PropertyChangeMask)
            self._transfers[event.requestor.id, place] = (kind, content)
            event.requestor.change_property(place, screen.atom("INCR"), 32, [len(content)])
        return True

    def _hand_over(self, event: Any) -> None:
        """The requestor has removed the last piece: here is the next, and in the end an empty one."""
        key = (event.window.id, event.atom)
        if event.state != X.PropertyDelete or key not in self._transfers:
            return
        kind, rest = self._transfers.pop(key)
        event.window.change_property(event.atom, kind, 8, rest[:_PIECE_BYTES])
        if rest:
            self._transfers[key] = (kind, rest[_PIECE_BYTES:])
        elif event.window != self._screen.window:
            event.window.change_attributes(event_mask=0)
        self._screen.display.flush()

    def _lost(self, event: Any) -> None:
        if event.atom == self._selection:
            self._content = None


def _as_bytes(value: Any) -> bytes:
    return value.encode("latin-1") if isinstance(value, str) else bytes(value)


def _slow_owner() -> Refusal:
    return Refusal(504, "clipboard_owner_silent", "The program that holds the clipboard does not hand it over. It may hang.")
