"""The keyboard: chords, text, and keys that are held."""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from Xlib import XK, X

from roost_agent.desktop.companion.chords import MODIFIERS, read_chords, read_key
from roost_agent.desktop.companion.refusals import invalid
from roost_agent.desktop.companion.screen import Screen
from roost_agent.desktop.companion.strokes import (
    Batch,
    Stroke,
    keys_of_layout,
    keysyms_of,
    plan,
    runs,
    spare_keycodes,
)
from roost_agent.desktop.companion.windows import Windows

# So much is typed before we look up again, and so long do we look: no program is drowned, and a caller who hangs up
# is noticed. Two thousand characters a second.
_AT_ONCE = 10
_BREATH_S = 0.005
# A program reads the layout when it gets to a key, not when the key was pressed. Before a spare keycode gets another
# character, or none, the program has to have got to the last one. Those that cannot tell are given a fixed time.
_CATCHES_UP_S = 20.0
_SETTLES_S = 0.2
# When nothing has been typed for this long the spare keycodes are emptied.
_RETURN_AFTER_S = 5.0
_SHIFT = XK.XK_Shift_L
_CAPS_LOCK = XK.XK_Caps_Lock


class Keyboard:
    def __init__(self, screen: Screen, windows: Windows) -> None:
        self._screen = screen
        self._windows = windows
        self._display = screen.display
        self._first = self._display.display.info.min_keycode
        self._count = self._display.display.info.max_keycode - self._first + 1
        # Keysym → the spare keycode that has it for now; the one used longest ago first.
        self._borrowed: dict[int, int] = {}
        self._giving_back: asyncio.Task[None] | None = None
        self._held: dict[int, list[int]] = {}
        for group in ("latin1", "miscellany", "xf86", "xkb"):
            XK.load_keysym_group(group)

    async def type(self, text: str) -> None:
        """Raises Refusal before anything is typed. Cancelled, it stops between two characters."""
        keysyms = keysyms_of(text)
        layout, keys = self._layout()
        batches = plan(keysyms, keys, self._spare(layout), self._borrowed)
        with self._borrowing(), self._without_caps_lock(keys):
            for batch in batches:
                await self._borrow(batch)
                await self._strike(batch.strokes, keys)

    async def chords(self, text: str) -> None:
        """Raises Refusal before anything is pressed."""
        chords = read_chords(text, XK.string_to_keysym)
        layout, keys = self._layout()
        keysyms = list(dict.fromkeys(keysym for chord in chords for keysym in chord.keysyms))
        batches = plan(keysyms, keys, self._spare(layout), self._borrowed)
        if len(batches) > 1:
            raise invalid("These chords need more keys than the keyboard has. Press them in parts.", field="keys")
        with self._borrowing():
            await self._borrow(batches[0])
            strokes = dict(zip(keysyms, batches[0].strokes, strict=True))
            for chord in chords:
                self._press_together([strokes[keysym] for keysym in chord.keysyms], keys)
                self._display.sync()
                await asyncio.sleep(_BREATH_S)

    @asynccontextmanager
    async def holding(self, modifiers: Sequence[str]) -> AsyncIterator[None]:
        """Modifiers down around something else. Raises Refusal for a name that is none."""
        unknown = next((name for name in modifiers if name.lower() not in MODIFIERS), None)
        if unknown is not None:
            raise invalid(f"{unknown!r} is no modifier. There are ctrl, shift, alt, altgr and super.", field="modifiers")
        keys = self._layout()[1] if modifiers else {}
        names = [MODIFIERS[name.lower()] for name in modifiers]
        codes = [keys[keysym].keycode for keysym in map(XK.string_to_keysym, names) if keysym in keys]
        self._fake(X.KeyPress, codes)
        try:
            yield
        finally:
            self._fake(X.KeyRelease, list(reversed(codes)))
            self._display.sync()

    async def press(self, name: str) -> None:
        """Down until `release`. Raises Refusal."""
        keysym = read_key(name, XK.string_to_keysym)
        if keysym in self._held:
            return
        layout, keys = self._layout()
        batch = plan([keysym], keys, self._spare(layout), self._borrowed)[0]
        with self._borrowing():
            await self._borrow(batch)
            stroke = batch.strokes[0]
            codes = [keys[_SHIFT].keycode] if stroke.shift and _SHIFT in keys else []
            self._held[keysym] = [*codes, stroke.keycode]
            self._fake(X.KeyPress, self._held[keysym])
            self._display.sync()

    def release(self, name: str) -> None:
        """Up, whether or not we pressed it. Raises Refusal for a name that is no key's."""
        keysym = read_key(name, XK.string_to_keysym)
        codes = self._held.pop(keysym, None)
        if codes is None:
            _, keys = self._layout()
            codes = [keys[keysym].keycode] if keysym in keys else []
        self._fake(X.KeyRelease, list(reversed(codes)))
        self._display.sync()
        self._give_back_later()

    def release_all(self) -> None:
        while self._held:
            _, codes = self._held.popitem()
            self._fake(X.KeyRelease, list(reversed(codes)))
        self._display.sync()
        self._give_back_later()

    def let_go(self) -> None:
        """Every key that is down is released, whoever pressed it."""
        self.release_all()
        down = self._display.query_keymap()
        codes = [index * 8 + bit for index, byte in enumerate(down) for bit in range(8) if byte & 1 << bit]
        self._fake(X.KeyRelease, codes)
        self._display.sync()

    def _layout(self) -> tuple[list[Any], dict[int, Stroke]]:
        """The keyboard as it is now, in the group that is switched on."""
        layout = self._display.get_keyboard_mapping(self._first, self._count)
        self._borrowed = {
            keysym: code for keysym, code in self._borrowed.items() if list(layout[code - self._first])[:1] == [keysym]
        }
        own = set(self._borrowed.values())
        visible = [() if self._first + offset in own else keysyms for offset, keysyms in enumerate(layout)]
        state = self._screen.root.query_pointer().mask
        keys = keys_of_layout(visible, self._first, min(1, state >> 13 & 3))
        return [list(keysyms) for keysyms in layout], keys

    def _spare(self, layout: Sequence[Sequence[int]]) -> list[int]:
        """Free keycodes and our own, those used longest ago first. Not what somebody holds down with our help."""
        modifiers = [code for codes in self._display.get_modifier_mapping() for code in codes]
        held = {code for codes in self._held.values() for code in codes}
        own = [code for code in self._borrowed.values() if code not in held]
        return [*spare_keycodes(layout, self._first, modifiers), *own]

    async def _borrow(self, batch: Batch) -> None:
        if not batch.mappings:
            return
        is_reused = any(code in self._borrowed.values() for code in batch.mappings)
        if is_reused and not await self._windows.caught_up(_CATCHES_UP_S):
            await asyncio.sleep(_SETTLES_S)
        self._borrowed = {keysym: code for keysym, code in self._borrowed.items() if code not in batch.mappings}
        self._borrowed |= {keysym: code for code, keysym in batch.mappings.items()}
        self._change_layout(batch.mappings)

    @contextmanager
    def _without_caps_lock(self, keys: dict[int, Stroke]) -> Iterator[None]:
        """Programs make capitals of letters by themselves while it is on, whatever key they come from."""
        is_on = self._screen.root.query_pointer().mask & X.LockMask and _CAPS_LOCK in keys
        if is_on:
            self._press_together([keys[_CAPS_LOCK]], keys)
        try:
            yield
        finally:
            if is_on:
                self._press_together([keys[_CAPS_LOCK]], keys)
                self._display.sync()

    async def _strike(self, strokes: Sequence[Stroke], keys: dict[int, Stroke]) -> None:
        for start in range(0, len(strokes), _AT_ONCE):
            for stroke in strokes[start : start + _AT_ONCE]:
                self._press_together([stroke], keys)
            self._display.sync()
            self._screen.pump()
            await asyncio.sleep(_BREATH_S)

    def _press_together(self, strokes: Sequence[Stroke], keys: dict[int, Stroke]) -> None:
        codes = [stroke.keycode for stroke in strokes]
        if any(stroke.shift for stroke in strokes) and _SHIFT in keys and keys[_SHIFT].keycode not in codes:
            codes.insert(len(codes) - 1, keys[_SHIFT].keycode)
        self._fake(X.KeyPress, codes)
        self._fake(X.KeyRelease, list(reversed(codes)))

    def _fake(self, kind: int, codes: Sequence[int]) -> None:
        for code in codes:
            self._display.xtest_fake_input(kind, code)

    @contextmanager
    def _borrowing(self) -> Iterator[None]:
        """While a text is typed, however long that takes, nothing of it is given back."""
        self._keep()
        try:
            yield
        finally:
            self._give_back_later()

    def _keep(self) -> None:
        if self._giving_back is not None:
            self._giving_back.cancel()
            self._giving_back = None

    def _give_back_later(self) -> None:
        self._keep()
        if self._borrowed:
            self._giving_back = asyncio.get_running_loop().create_task(self._give_back())

    async def _give_back(self) -> None:
        await asyncio.sleep(_RETURN_AFTER_S)
        await self._windows.caught_up(_CATCHES_UP_S)
        self._giving_back = None
        held = {code for codes in self._held.values() for code in codes}
        given_back = {code: X.NoSymbol for code in self._borrowed.values() if code not in held}
        self._borrowed = {keysym: code for keysym, code in self._borrowed.items() if code in held}
        self._change_layout(given_back)
        self._screen.pump()

    def _change_layout(self, mappings: Mapping[int, int]) -> None:
        """Neighbours at once: every program reads the whole layout anew after each change."""
        for first, keysyms in runs(mappings):
            # On every level, so that Shift does not make it another character.
            self._display.change_keyboard_mapping(first, [[keysym] * 4 for keysym in keysyms])
        self._display.sync()
