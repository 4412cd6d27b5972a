from __future__ import annotations

from pathlib import Path

import pytest

from roost.setup.mirror import Mirror, MirrorSource, choose_mirror, distribution, machine_mirror, parse_deb822, parse_one_line

DEB822 = """\
Types: deb deb-src
# a comment between the fields
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Types: deb
URIs: https://vendor.example/node
Suites: nodistro
Components: main

Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://sources.example/debian
Suites: bookworm
Components: main
"""

ONE_LINE = """\
# deb http://commented.example/debian bookworm main
deb [signed-by=/usr/share/keyrings/vendor.gpg arch=amd64] https://vendor.example/apt stable-vendor main
deb http://mirror.example/debian/ bookworm main contrib  # the archive
deb-src http://mirror.example/debian bookworm main
deb http://mirror.example/debian-security bookworm-security main
"""


def test_deb822() -> None:
    assert list(parse_deb822(DEB822)) == [
        MirrorSource("http://mirror.example/debian", "bookworm", ("main", "contrib")),
        MirrorSource("http://mirror.example/debian", "bookworm-updates", ("main", "contrib")),
        MirrorSource("http://mirror.example/debian-security", "bookworm-security", ("main",)),
        MirrorSource("https://vendor.example/node", "nodistro", ("main",)),
    ]


def test_deb822_values_may_go_on_over_lines() -> None:
    text = "Types: deb\nURIs: http://a.example/debian\n http://b.example/debian\nSuites: trixie\nComponents:\n main\n"
    assert [source.uri for source in parse_deb822(text)] == ["http://a.example/debian", "http://b.example/debian"]
    assert all(source.components == ("main",) for source in parse_deb822(text))


def test_one_line() -> None:
    assert list(parse_one_line(ONE_LINE)) == [
        MirrorSource("https://vendor.example/apt", "stable-vendor", ("main",)),
        MirrorSource("http://mirror.example/debian/", "bookworm", ("main", "contrib")),
        MirrorSource("http://mirror.example/debian-security", "bookworm-security", ("main",)),
    ]


@pytest.mark.parametrize("sources", [tuple(parse_deb822(DEB822)), tuple(parse_one_line(ONE_LINE))], ids=["deb822", "one-line"])
def test_only_the_archives_of_debian_count(sources: tuple[MirrorSource, ...]) -> None:
    assert choose_mirror(sources) == Mirror("http://mirror.example/debian", "http://mirror.example/debian-security")


@pytest.mark.parametrize(
    "uri", ["http://user:secret@private.example/debian", "file:/srv/debian", "cdrom:[Debian]/", "mirror+file:/etc/mirrors"]
)
def test_a_mirror_that_sandboxes_must_not_see_or_cannot_use_is_passed_over(uri: str) -> None:
    assert choose_mirror((MirrorSource(uri, "bookworm", ("main",)),)) == Mirror()


def make_etc(folder: Path, distribution_id: str) -> Path:
    (folder / "apt" / "sources.list.d").mkdir(parents=True)
    (folder / "apt" / "sources.list").write_text(ONE_LINE)
    (folder / "apt" / "sources.list.d" / "debian.sources").write_text(DEB822)
    (folder / "apt" / "sources.list.d" / "old.list.save").write_text("deb http://saved.example/debian bookworm main")
    (folder / "os-release").write_text(f'NAME="Some"\nID={distribution_id}\nVERSION_ID="12"\n')
    return folder


def test_the_machines_own_mirror_on_debian_only(tmp_path: Path) -> None:
    debian = make_etc(tmp_path / "debian", "debian")
    ubuntu = make_etc(tmp_path / "ubuntu", "ubuntu")
    assert (distribution(debian), distribution(ubuntu), distribution(tmp_path)) == ("debian", "ubuntu", "")
    assert machine_mirror(None, etc=debian).archive == "http://mirror.example/debian"
    assert machine_mirror(None, etc=ubuntu) == Mirror()


def test_a_given_mirror_wins(tmp_path: Path) -> None:
    debian = make_etc(tmp_path / "debian", "debian")
    assert machine_mirror("http://given.example/debian/", etc=debian).archive == "http://given.example/debian"


def test_lines_for_apt() -> None:
    assert Mirror("http://a", "http://b").lines("trixie") == (
        "deb http://a trixie main",
        "deb http://a trixie-updates main",
        "deb http://b trixie-security main",
    )
