from __future__ import annotations

import pytest

from roost.domain.errors import Unsupported
from roost.setup.packages import (
    BROWSER,
    BUILDING,
    SERVING,
    TESTING,
    NotRoot,
    Requirement,
    check_packages,
    check_root,
    missing_packages,
)


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
    needs = SERVING + BUILDING + TESTING
    assert len({need.package for need in needs}) == len(needs)


def test_serving_needs_nothing_that_only_builders_and_testers_use() -> None:
    assert {need.proof for need in SERVING}.isdisjoint({"mmdebstrap", "gpg", "zstd", "ip"})


def test_without_a_network_what_is_missing_is_named_with_its_package() -> None:
    check_packages((Requirement("coreutils", "true", "nothing"),))
    with pytest.raises(Unsupported, match=r"no-such-program .*in the package its-package\n.*apt-get install its-package"):
        check_packages((Requirement("its-package", "no-such-program", "this test"),))


def test_root_is_needed() -> None:
    check_root(0)
    with pytest.raises(NotRoot, match="sudo"):
        check_root(1000)
