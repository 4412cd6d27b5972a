from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from roost.domain.errors import Unsupported
from roost.setup.agent import AgentBundle, agent_packages, ensure_agent
from roost.setup.commands import Commands
from roost.setup.interpreter import GUEST_ROOT, PYTHON, Interpreter, this_machine


@pytest.fixture
def interpreter(tmp_path: Path) -> Interpreter:
    """A stand-in of the same shape: its loader runs this Python and leaves out the arguments of the real one."""
    machine = this_machine()
    root = tmp_path / "cache" / "root"
    libraries = root / "usr" / "lib" / machine.triple
    libraries.mkdir(parents=True)
    loader = libraries / machine.loader
    loader.write_text(f'#!/bin/sh\nshift 3\nexec "{sys.executable}" "$@"\n')
    loader.chmod(0o755)
    (root / "usr" / "bin").mkdir()
    (root / "usr" / "bin" / PYTHON).write_text("python")
    return Interpreter(root, "digest-of-the-interpreter", machine)


def write_agent(folder: Path, answer: str) -> Path:
    package = folder / "roost_agent"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(f"def main() -> int:\n    print({answer!r})\n    return 3\n")
    return package


def start(bundle: AgentBundle) -> subprocess.CompletedProcess[str]:
    argv = [part.replace(GUEST_ROOT, str(bundle.path)) for part in bundle.argv]
    return subprocess.run(argv, env=dict(bundle.env), capture_output=True, text=True, check=False)


def test_the_bundle_starts_the_agent(interpreter: Interpreter, tmp_path: Path) -> None:
    bundle = ensure_agent(tmp_path / "home", interpreter, Commands(), agent=write_agent(tmp_path / "a", "hello"))
    done = start(bundle)
    assert (done.stdout, done.returncode) == ("hello\n", 3), done.stderr
    assert bundle.path == tmp_path / "home" / "agent" / bundle.version
    assert all(not part.startswith(str(tmp_path)) for part in bundle.argv)
    assert not any(name.startswith("PYTHON") for name in bundle.env)
    compiled = {file.suffixes[-2] for file in (bundle.path / "app" / "roost_agent" / "__pycache__").glob("__main__.*.pyc")}
    assert compiled == {f".{sys.implementation.cache_tag}", ".opt-2"}


def test_the_same_code_is_the_same_bundle_and_other_code_another(interpreter: Interpreter, tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = ensure_agent(home, interpreter, Commands(), agent=write_agent(tmp_path / "a", "one"))
    made = (first.path / "bundle.json").stat().st_ino
    assert ensure_agent(home, interpreter, Commands(), agent=write_agent(tmp_path / "b", "one")) == first
    assert (first.path / "bundle.json").stat().st_ino == made
    second = ensure_agent(home, interpreter, Commands(), agent=write_agent(tmp_path / "a", "two"))
    assert second.version != first.version
    assert start(first).stdout == "one\n"
    assert start(second).stdout == "two\n"


def test_a_half_made_bundle_is_made_again(interpreter: Interpreter, tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "a", "whole")
    bundle = ensure_agent(tmp_path / "home", interpreter, Commands(), agent=agent)
    (bundle.path / "bundle.json").unlink()
    (bundle.path / "app" / "__main__.py").unlink()
    assert start(ensure_agent(tmp_path / "home", interpreter, Commands(), agent=agent)).stdout == "whole\n"
    assert {path.name for path in bundle.path.parent.iterdir()} == {".lock", bundle.version}


def test_h11_goes_along_only_if_it_is_imported(tmp_path: Path) -> None:
    package = write_agent(tmp_path, "x")
    assert [path.name for path in agent_packages(package)] == ["roost_agent"]
    (package / "http.py").write_text("import h11\n")
    assert [path.name for path in agent_packages(package)] == ["roost_agent", "h11"]


def test_an_unknown_processor_is_refused() -> None:
    assert this_machine("aarch64").loader == "ld-linux-aarch64.so.1"
    assert os.uname().machine in ("x86_64", "aarch64")
    with pytest.raises(Unsupported, match="riscv64"):
        this_machine("riscv64")
