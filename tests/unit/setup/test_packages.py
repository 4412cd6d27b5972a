from __future__ import annotations

import pytest

from roost.setup.packages import BROWSER, REQUIREMENTS, NotRoot, check_root, missing_packages


def test_programs_and_files_are_looked_for() -> None:
    missing = missing_packages(find=lambda name: None if name == "nft" else f"/usr/bin/{name}", exists=lambda _: False)
    assert [need.package for need in missing] == ["nftables", "debian-archive-keyring", "ca-certificates"]


def test_nothing_is_missing_where_all_is_there() -> None:
    assert missing_packages(find=lambda name: name, exists=lambda _: True) == ()


def test_serving_needs_no_browser() -> None:
    absent = {"find": lambda _: None, "exists": lambda _: False}
    assert BROWSER not in missing_packages(**absent)
    assert missing_packages(**absent, needs=(BROWSER,)) == (BROWSER,)


def test_each_is_named_once() -> None:
    assert len({need.package for need in REQUIREMENTS}) == len(REQUIREMENTS)


def test_root_is_needed() -> None:
    check_root(0)
    with pytest.raises(NotRoot, match="sudo"):
        check_root(1000)
