"""The picture of a desktop as the browser has it, in numbers."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.real.server import eventually

SHADES = 64 * 40  # a small picture tells as well whether anything changed

_SHRUNK = """(canvas) => {
  const small = document.createElement('canvas');
  small.width = 64; small.height = 40;
  const pen = small.getContext('2d');
  pen.drawImage(canvas, 0, 0, 64, 40);
  const data = pen.getImageData(0, 0, 64, 40).data;
  return Array.from({ length: 64 * 40 }, (_, at) => (data[4 * at] + data[4 * at + 1] + data[4 * at + 2]) / 3);
}"""


def canvas(page: Page) -> Locator:
    return page.get_by_role("main").locator("canvas").first


def picture(page: Page) -> list[float]:
    """The brightness of each of 64 × 40 spots."""
    return canvas(page).evaluate(_SHRUNK)


def change(before: list[float], after: list[float]) -> float:
    """The share of spots that look different."""
    return sum(abs(one - other) > 12 for one, other in zip(before, after, strict=True)) / SHADES


def wait_for_picture(page: Page) -> list[float]:
    """Returns once there is something on the screen."""
    expect(canvas(page)).to_be_visible()

    def look() -> list[float]:
        seen = picture(page)
        assert max(seen) - min(seen) > 20, "the screen is blank"
        return seen

    return eventually(look)


def take_over(page: Page, key: str) -> None:
    """From Mission Control, which asks for the key again."""
    page.get_by_role("button", name="Take over").click()
    dialog = page.get_by_role("dialog", name=re.compile("^Take over"))
    dialog.get_by_label("Your API key, again").fill(key)
    dialog.get_by_role("button", name="Take over").click()
    expect(page.get_by_role("status").filter(has_text="You drive")).to_be_visible()
    expect(dialog).to_have_count(0)


def wait_for_change(page: Page, before: list[float], share: float) -> list[float]:
    def look() -> list[float]:
        seen = picture(page)
        assert change(before, seen) >= share, f"only {change(before, seen):.1%} of the picture changed"
        return seen

    return eventually(look)
