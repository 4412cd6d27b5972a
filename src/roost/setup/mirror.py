"""Which Debian mirror root filesystems come from: the machine's own, where it has one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT_ARCHIVE = "http://deb.debian.org/debian"
DEFAULT_SECURITY = "http://deb.debian.org/debian-security"
# In a mount namespace of its own: what it mounts to build (proc, sys, dev) goes with it, however it ends.
MMDEBSTRAP = ("unshare", "--mount", "--propagation", "private", "mmdebstrap", "--mode=root")
DEBIAN_SUITES = re.compile(
    r"^(stable|testing|oldstable|buster|bullseye|bookworm|trixie|forky|sid|unstable)(-(updates|security|backports))?(/updates)?/?$"
)


@dataclass(frozen=True, slots=True)
class MirrorSource:
    """One repository of apt's configuration."""

    uri: str
    suite: str
    components: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mirror:
    """Where packages come from. `archive` and `security` are addresses without a password."""

    archive: str = DEFAULT_ARCHIVE
    security: str = DEFAULT_SECURITY

    def lines(self, suite: str) -> tuple[str, ...]:
        """What goes to apt, one line each: the release, its updates, its security fixes."""
        return (
            f"deb {self.archive} {suite} main",
            f"deb {self.archive} {suite}-updates main",
            f"deb {self.security} {suite}-security main",
        )


def parse_one_line(text: str) -> Iterator[MirrorSource]:
    """`deb [options] uri suite component...`, one per line."""
    for raw in text.splitlines():
        line = raw.partition("#")[0].strip()
        found = re.match(r"^deb\s+(?:\[[^]]*]\s+)?(\S+)\s+(\S+)\s*(.*)$", line)
        if found:
            yield MirrorSource(found[1], found[2], tuple(found[3].split()))


def parse_deb822(text: str) -> Iterator[MirrorSource]:
    """Paragraphs of `Types: URIs: Suites: Components:`; values may go on over indented lines."""
    for paragraph in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        name = ""
        for line in paragraph.splitlines():
            if line.startswith("#"):
                continue
            if line[:1].isspace():
                fields[name] = f"{fields.get(name, '')} {line.strip()}"
            elif ":" in line:
                name, _, value = line.partition(":")
                name = name.strip().lower()
                fields[name] = value.strip()
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in ("no", "false"):
            continue
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                yield MirrorSource(uri, suite, tuple(fields.get("components", "").split()))


def read_sources(apt: Path = Path("/etc/apt")) -> tuple[MirrorSource, ...]:
    """Every repository of this machine, in apt's own order of files."""
    found: list[MirrorSource] = []
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    for file in files:
        if not file.is_file():
            continue
        text = file.read_text(errors="replace")
        if file.suffix == ".list":
            found.extend(parse_one_line(text))
        elif file.suffix == ".sources":
            found.extend(parse_deb822(text))
    return tuple(found)


def choose_mirror(sources: tuple[MirrorSource, ...]) -> Mirror:
    """The first Debian archive and the first security archive among the sources; Debian's own where there is none.

    Addresses with a password are passed over: they would end up readable inside every sandbox.
    """
    archive = security = None
    for source in sources:
        parts = urlsplit(source.uri)
        if parts.scheme not in ("http", "https") or parts.username or "main" not in source.components:
            continue
        if not DEBIAN_SUITES.match(source.suite):
            continue
        if source.suite.rstrip("/").endswith(("-security", "/updates")):
            security = security or source.uri.rstrip("/")
        else:
            archive = archive or source.uri.rstrip("/")
    return Mirror(archive or DEFAULT_ARCHIVE, security or DEFAULT_SECURITY)


def machine_mirror(given: str | None, *, etc: Path = Path("/etc")) -> Mirror:
    """The mirror to use on this machine. One given in the settings wins; security fixes still come from their own."""
    found = choose_mirror(read_sources(etc / "apt")) if distribution(etc) == "debian" else Mirror()
    return Mirror(given.rstrip("/"), found.security) if given else found


def distribution(etc: Path = Path("/etc")) -> str:
    """`debian`, `ubuntu`, … as os-release calls it; empty where nothing says."""
    try:
        text = (etc / "os-release").read_text()
    except FileNotFoundError:
        return ""
    found = re.search(r"^ID=\"?([\w.-]+)\"?$", text, re.MULTILINE)
    return found[1] if found else ""
