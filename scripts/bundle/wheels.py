"""The wheels of a bundle: the locked ones that serving needs, for the Pythons that it is made for; pip, since the machine may
have none; and Roost's own."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from packaging.requirements import Requirement

from roost.domain.errors import Invalid
from roost.setup.artefacts import emptied
from roost.setup.commands import Commands

PYTHONS = ("3.11", "3.12", "3.13")
OLDEST_GLIBC = 36  # 2.36 is Debian 12's


def locked(lock: str, python: str, machine: str) -> Iterator[str]:
    """The lines of a lock that hold for that Python on Linux, each with its hashes and without its marker."""
    environment = {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }
    for line in lock.replace("\\\n", " ").splitlines():
        words, *hashes = re.split(r"\s+(?=--hash=)", line.strip())
        if not words or words.startswith("#"):
            continue
        requirement = Requirement(words)
        if requirement.marker is None or requirement.marker.evaluate(environment):
            yield " ".join([f"{requirement.name}{requirement.specifier}", *hashes])


def collect_wheels(top: Path, work: Path, pythons: tuple[str, ...], commands: Commands, say: Callable[[str], None]) -> Path:
    """A folder with all of them but Roost's own. Proven by the locks' hashes, then packed without compression: all together
    shrink further than one by one."""
    unknown = [python for python in pythons if python not in PYTHONS]
    if unknown:
        raise Invalid(
            "bundle_python_unknown", f"Roost has no wheels for Python {', '.join(unknown)}: choose of {', '.join(PYTHONS)}."
        )
    fetched, machine = emptied(work / "fetched"), os.uname().machine
    pip = next(
        line for line in locked((top / "requirements-dev.lock").read_text(), pythons[0], machine) if line.startswith("pip==")
    )
    for python in pythons:
        say(f"fetching the wheels for Python {python}")
        wanted = work / "wanted.txt"
        wanted.write_text("\n".join([*locked((top / "requirements.lock").read_text(), python, machine), pip]) + "\n")
        commands.run([*_download(python, machine), "--requirement", wanted, "--dest", fetched], name="pip download")
    stored = emptied(work / "wheels")
    for wheel in sorted(fetched.glob("*.whl")):
        _store(wheel, stored / wheel.name)
    return stored


def build_own_wheel(top: Path, into: Path, commands: Commands, say: Callable[[str], None]) -> Path:
    say("building Roost's own wheel")
    words = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", into]
    commands.run(words, name="hatchling", cwd=top)
    [wheel] = into.glob("roost-*.whl")
    return wheel


def _download(python: str, machine: str) -> list[str]:
    tag = f"cp{python.replace('.', '')}"
    platforms = [*(f"manylinux_2_{minor}_{machine}" for minor in range(OLDEST_GLIBC, 4, -1)), f"manylinux2014_{machine}"]
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    words += ["--only-binary=:all:", f"--python-version={python}", "--implementation=cp"]
    words += [f"--abi={abi}" for abi in (tag, "abi3", "none")]
    return [*words, *(f"--platform={platform}" for platform in platforms)]


def _store(wheel: Path, target: Path) -> None:
    with zipfile.ZipFile(wheel) as packed, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as stored:
        for member in packed.infolist():
            content = packed.read(member)
            member.compress_type = zipfile.ZIP_STORED
            stored.writestr(member, content)
