from __future__ import annotations

from pathlib import Path

import pytest

from roost.settings import Settings
from roost.setup.commands import Commands
from roost.setup.definitions import find_definition
from roost.setup.installation import cache_steps
from roost.setup.plan import check_order


@pytest.mark.parametrize("names", [("base",), ("desktop",), ("base", "desktop"), ("desktop", "base")])
def test_a_template_is_made_after_the_one_it_goes_on_from_and_that_once(names: tuple[str, ...], tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path / "home", cache=tmp_path / "cache")
    steps = cache_steps(settings, {name: find_definition(name) for name in names}, Commands())
    check_order(steps)
    needs = {step.name: step.needs for step in steps}
    assert len(needs) == len(steps)
    assert needs["rootfs-base"] == ("packages",)
    assert ("rootfs-desktop" in needs) == ("desktop" in names)
    assert needs.get("rootfs-desktop", ("rootfs-base",)) == ("rootfs-base",)
