from __future__ import annotations

from pathlib import Path

import pytest

from roost.domain.errors import Unavailable
from roost.settings import Settings
from roost.setup.artefacts import write_marker
from roost.setup.commands import Commands
from roost.setup.definitions import find_definition
from roost.setup.installation import cache_steps, check_complete, to_bootstrap
from roost.setup.plan import check_order
from roost.setup.rootfs import rootfs_digest


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


def have_rootfs(name: str, cache: Path) -> None:
    definition = find_definition(name)
    digest = rootfs_digest(definition, ())
    tar = cache / "rootfs" / f"{name}-{digest[:16]}.tar"
    tar.parent.mkdir(parents=True, exist_ok=True)
    tar.write_text("tar")
    write_marker(tar.with_suffix(".json"), {"digest": digest, "size_bytes": 3})


def test_what_a_bundle_brought_needs_neither_mirror_nor_parent(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path / "home", cache=tmp_path / "cache")
    desktop = {"desktop": find_definition("desktop")}
    assert [each.name for each in to_bootstrap(settings, desktop)] == ["desktop"]
    have_rootfs("desktop", settings.cache)
    assert to_bootstrap(settings, desktop) == (), "whatever CAs this machine has"
    names = [step.name for step in cache_steps(settings, desktop, Commands())]
    assert "rootfs-desktop" in names and "rootfs-base" not in names


def test_offline_everything_that_is_missing_is_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("mkfs.btrfs", "nft", "losetup", "tar"):
        (tools / name).write_text("#!/bin/sh\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    settings = Settings.load(home=tmp_path / "home", cache=tmp_path / "cache")
    with pytest.raises(Unavailable) as refused:
        check_complete(settings, {"base": find_definition("base")})
    for name in ("the engine", "the agent's interpreter", "the root filesystem of base"):
        assert name in refused.value.message
