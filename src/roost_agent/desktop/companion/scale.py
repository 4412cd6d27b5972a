"""From the pixels of a picture to those of the screen and back. Pure.

A picture of scale s shows the screen's pixel X at about X·s. A point of it means the middle of its pixel, so that what a
program sees at a place is what it hits there, whatever the scale.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from roost_agent.desktop.companion.refusals import invalid


class Size(NamedTuple):
    width: int
    height: int


class Region(NamedTuple):
    x: int
    y: int
    width: int
    height: int


def fitting_scale(size: Size, scale: float, largest: Size) -> float:
    """The scale of a picture of `size` that is no larger than `largest`. Never above `scale`."""
    return min(scale, largest.width / size.width, largest.height / size.height)


def scaled_size(size: Size, scale: float) -> Size:
    """At least one pixel each way."""
    return Size(max(1, round(size.width * scale)), max(1, round(size.height * scale)))


def to_screen(point: tuple[float, float], scale: float, screen: Size) -> tuple[int, int]:
    """The screen's pixel under a picture's. Raises Refusal for a point outside of the picture."""
    picture = scaled_size(screen, scale)
    x, y = point
    if not (0 <= x < picture.width and 0 <= y < picture.height):
        what = "the screen" if scale == 1 else f"the picture of scale {scale:g}"
        raise invalid(
            f"({x:g}, {y:g}) lies outside: {what} is {picture.width} × {picture.height} pixels, counted from 0 at the top left.",
            width=picture.width,
            height=picture.height,
        )
    if scale == 1:
        return math.floor(x), math.floor(y)
    return (
        min(screen.width - 1, math.floor((math.floor(x) + 0.5) * screen.width / picture.width)),
        min(screen.height - 1, math.floor((math.floor(y) + 0.5) * screen.height / picture.height)),
    )


def to_picture(point: tuple[int, int], scale: float, screen: Size) -> tuple[int, int]:
    """The picture's pixel that shows the middle of the screen's."""
    picture = scaled_size(screen, scale)
    return (
        min(picture.width - 1, (2 * point[0] + 1) * picture.width // (2 * screen.width)),
        min(picture.height - 1, (2 * point[1] + 1) * picture.height // (2 * screen.height)),
    )


def region_within(asked: list[int] | None, screen: Size) -> Region:
    """The part of the screen that is wanted: all of it unless asked. Raises Refusal when it does not lie on the screen."""
    if asked is None:
        return Region(0, 0, screen.width, screen.height)
    x, y, width, height = asked
    inside = x >= 0 and y >= 0 and width > 0 and height > 0 and x + width <= screen.width and y + height <= screen.height
    if not inside:
        raise invalid(
            f"The region {x},{y},{width},{height} does not lie on the screen, which is {screen.width} × {screen.height} pixels."
            " It is x,y,width,height.",
            width=screen.width,
            height=screen.height,
        )
    return Region(x, y, width, height)
