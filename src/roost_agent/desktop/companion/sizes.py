"""Another size of the screen (RANDR)."""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

from typing import Any

from Xlib import X
from Xlib.error import XError

from roost_agent.desktop.companion.refusals import Refusal
from roost_agent.desktop.companion.scale import Size
from roost_agent.desktop.companion.screen import Screen

_MILLIMETRES_PER_PIXEL = 25.4 / 96
_ROTATE_0 = 1


class Sizes:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def change(self, size: Size) -> None:
        """Raises Refusal when the X server cannot do it."""
        if self._screen.size == size:
            return
        if not self._screen.display.has_extension("RANDR"):
            raise _refused(size, "it has no RANDR extension")
        try:
            self._change(size)
        except XError as failure:
            raise _refused(size, str(failure)) from failure
        found = self._screen.size
        if found != size:
            raise _refused(size, f"it stays at {found.width} × {found.height}")

    def _change(self, size: Size) -> None:
        root = self._screen.root
        resources = root.xrandr_get_screen_resources()
        output, crtc = self._connected(resources)
        mode = self._mode(resources, output, size)
        at_least = Size(max(size.width, self._screen.size.width), max(size.height, self._screen.size.height))
        self._set_screen(at_least)
        resources = root.xrandr_get_screen_resources()
        self._screen.display.xrandr_set_crtc_config(
            crtc, resources.config_timestamp, 0, 0, mode, _ROTATE_0, [output], timestamp=X.CurrentTime
        )
        self._set_screen(size)
        self._screen.display.sync()

    def _connected(self, resources: Any) -> tuple[int, int]:
        display = self._screen.display
        for output in resources.outputs:
            crtc = display.xrandr_get_output_info(output, resources.config_timestamp).crtc
            if crtc:
                return output, crtc
        raise Refusal(501, "size_fixed", "This X server has no output whose size can be changed.")

    def _mode(self, resources: Any, output: int, size: Size) -> int:
        """The output's mode of that size, made if need be."""
        display = self._screen.display
        offered = set(display.xrandr_get_output_info(output, resources.config_timestamp).modes)
        known = [mode for mode in resources.modes if (mode.width, mode.height) == size]
        found = next((mode.id for mode in known if mode.id in offered), None)
        if found is not None:
            return found
        made = known[0].id if known else self._make_mode(size)
        display.xrandr_add_output_mode(output, made)
        return made

    def _make_mode(self, size: Size) -> int:
        name = f"{size.width}x{size.height}_roost"
        timing = (
            0,
            size.width,
            size.height,
            size.width * size.height * 60,
            *(size.width, size.width, size.width),
            0,
            *(size.height, size.height, size.height),
            len(name),
            0,
        )
        return self._screen.root.xrandr_create_mode(timing, name).mode

    def _set_screen(self, size: Size) -> None:
        millimetres = [max(1, round(side * _MILLIMETRES_PER_PIXEL)) for side in size]
        self._screen.root.xrandr_set_screen_size(size.width, size.height, *millimetres)


def _refused(size: Size, why: str) -> Refusal:
    return Refusal(409, "size_refused", f"The X server does not take a screen of {size.width} × {size.height} pixels: {why}.")
