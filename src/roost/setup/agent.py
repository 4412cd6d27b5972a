"""The agent as sandboxes see it: its interpreter and its code in one directory, named by what it holds.

A running sandbox keeps the directory it was started with, so nothing here is ever changed in place: other code is
another directory.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from roost.domain.errors import Fault
from roost.setup.artefacts import (
    Say,
    digest_of_tree,
    discard,
    emptied,
    exclusive,
    link_tree,
    read_marker,
    silent,
    write_marker,
)
from roost.setup.commands import Commands
from roost.setup.interpreter import GUEST_ROOT, Interpreter, compile_tree

AGENT = "roost_agent"
CODE = "app"
START = "import sys\n\nfrom roost_agent.__main__ import main\n\nsys.exit(main())\n"
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}


@dataclass(frozen=True, slots=True)
class AgentBundle:
    """Mount `path` read-only at /.roost and start `argv` with `env` as PID 1."""

    version: str
    path: Path
    argv: tuple[str, ...]
    env: Mapping[str, str]


def agent_packages(agent: Path | None = None) -> tuple[Path, ...]:
    """The agent's package and the third-party ones that it imports."""
    own = agent or _package(AGENT)
    imports = re.compile(r"^\s*(?:import|from)\s+h11\b", re.MULTILINE)
    needs_h11 = any(imports.search(source.read_text()) for source in own.rglob("*.py"))
    return (own, _package("h11")) if needs_h11 else (own,)


def _package(name: str) -> Path:
    # Found, not imported: what the guest runs is none of this process's business.
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise Fault(
            "agent_code_missing",
            f"The Python package {name} is not installed beside Roost. Run `make setup` again.",
            package=name,
        )
    return Path(next(iter(found.submodule_search_locations)))


def ensure_agent(
    home: Path, interpreter: Interpreter, commands: Commands, say: Say = silent, agent: Path | None = None
) -> AgentBundle:
    """The bundle of the interpreter and the code as it is now. May be called twice, by two processes at once."""
    packages = agent_packages(agent)
    digest = hashlib.sha256(f"{interpreter.digest} {START}".encode())
    for package in packages:
        for source in _sources(package):
            content = hashlib.sha256(source.read_bytes()).hexdigest()
            digest.update(f"{package.name}/{source.relative_to(package).as_posix()} {content}\n".encode())
    version = digest.hexdigest()[:16]
    target = home / "agent" / version
    if read_marker(target / "bundle.json") is None:
        with exclusive(home / "agent" / ".lock", say):
            if read_marker(target / "bundle.json") is None:
                _make(target, packages, interpreter, commands)
    argv = (*interpreter.command(GUEST_ROOT), f"{GUEST_ROOT}/{CODE}")
    return AgentBundle(version, target, argv, dict(ENVIRONMENT))


def _sources(package: Path) -> list[Path]:
    return sorted(path for path in package.rglob("*.py") if "__pycache__" not in path.parts)


def _make(target: Path, packages: tuple[Path, ...], interpreter: Interpreter, commands: Commands) -> None:
    work = target.with_name(f".{target.name}.making")
    discard(work)
    try:
        link_tree(interpreter.path, work)
        code = emptied(work / CODE)
        (code / "__main__.py").write_text(START)
        for package in packages:
            for source in _sources(package):
                copy = code / package.name / source.relative_to(package)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, copy)
        compile_tree(interpreter, code, work, commands, ("0", "2"))  # the guest's own Python runs the desktop's companion
        write_marker(work / "bundle.json", {"digest": digest_of_tree(code), "interpreter": interpreter.digest})
        discard(target)
        work.replace(target)
    finally:
        discard(work)
