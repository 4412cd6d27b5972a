"""The screen as a picture: fetched, with the pointer drawn in, scaled and encoded."""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import io
from typing import Any

from PIL import Image
from Xlib import X

from roost_agent.desktop.companion.damage import Damage
from roost_agent.desktop.companion.refusals import Refusal
from roost_agent.desktop.companion.scale import Region, Size, fitting_scale, region_within, scaled_size
from roost_agent.desktop.companion.screen import Screen

_ALL_PLANES = 0xFFFFFFFF
# A picture is looked at once and thrown away: the quickest compression that is worth its name.
_OPTIONS: dict[str, dict[str, Any]] = {
    "png": {"compress_level": 1, "compress_type": 3},  # zlib's RLE: as quick as its level 1, and a fifth smaller
    "jpeg": {"subsampling": "4:2:0"},
    "webp": {"method": 0},
}

Picture = tuple[dict[str, Any], bytes]


class Pictures:
    def __init__(self, screen: Screen, damage: Damage) -> None:
        self._screen = screen
        self._damage = damage
        depth = screen.display.screen().root_depth
        if depth not in (24, 32):
            raise Refusal(501, "no_desktop", f"the screen has {depth} bits per pixel; pictures are made of 24")

    def take(self, wanted: dict[str, Any]) -> Picture:
        """Raises Refusal for a region that is not on the screen."""
        size = self._screen.size
        region = region_within(wanted["region"], size)
        largest = Size(wanted["width"], wanted["height"])
        scale = fitting_scale(Size(region.width, region.height), wanted["scale"], largest)
        serial = self._damage.arm()
        picture = self._fetch(region)
        if wanted["cursor"]:
            self._draw_cursor(picture, region)
        target = scaled_size(Size(region.width, region.height), scale)
        if target != picture.size:
            picture = picture.resize(target, Image.Resampling.BILINEAR, reducing_gap=2.0)
        facts = {
            "type": f"image/{wanted['format']}",
            "width": target.width,
            "height": target.height,
            "scale": scale,
            "serial": serial,
        }
        return facts, _encode(picture, wanted["format"], wanted["quality"])

    def _fetch(self, region: Region) -> Image.Image:
        image = self._screen.root.get_image(region.x, region.y, region.width, region.height, X.ZPixmap, _ALL_PLANES)
        return Image.frombuffer("RGB", (region.width, region.height), image.data, "raw", "BGRX", 0, 1)

    def _draw_cursor(self, picture: Image.Image, region: Region) -> None:
        cursor = self._screen.display.xfixes_get_cursor_image(self._screen.root)
        if cursor.width == 0 or cursor.height == 0:
            return
        place = (cursor.x - cursor.xhot - region.x, cursor.y - cursor.yhot - region.y)
        pixels = b"".join(int(pixel).to_bytes(4, "little") for pixel in cursor.cursor_image)
        shape = Image.frombuffer("RGBa", (cursor.width, cursor.height), pixels, "raw", "BGRa", 0, 1).convert("RGBA")
        picture.paste(shape, place, shape)


def _encode(picture: Image.Image, format: str, quality: int) -> bytes:
    options = dict(_OPTIONS[format])
    if format != "png":
        options["quality"] = quality
    out = io.BytesIO()
    picture.save(out, format, **options)
    return out.getvalue()
