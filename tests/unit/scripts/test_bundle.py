"""The two ends of a bundle that are no part of the package: what packs it, and `install`, which runs on a bare Python."""

from __future__ import annotations

import importlib.util
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

from roost.setup.bundle import unpack

FOLDER = Path(__file__).parents[3] / "scripts" / "bundle"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"bundle_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


installer, parts, wheels = load("install"), load("parts"), load("wheels")

LOCK = """\
anyio==4.1 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
colorama==0.4 ; sys_platform == 'win32' \\
    --hash=sha256:cc
tomli==2.0 ; python_full_version < '3.12' \\
    --hash=sha256:dd
uvloop==0.2 ; platform_python_implementation != 'PyPy' and sys_platform != 'win32' \\
    --hash=sha256:ee
"""


def test_a_lock_is_read_for_the_python_that_is_asked_for() -> None:
    assert list(wheels.locked(LOCK, "3.12", "x86_64")) == [
        "anyio==4.1 --hash=sha256:aa --hash=sha256:bb",
        "uvloop==0.2 --hash=sha256:ee",
    ]
    assert [line.split()[0] for line in wheels.locked(LOCK, "3.11", "x86_64")] == ["anyio==4.1", "tomli==2.0", "uvloop==0.2"]


def test_the_runtime_lock_has_nothing_of_development() -> None:
    top = FOLDER.parents[1]
    names = {line.partition("==")[0] for line in wheels.locked((top / "requirements.lock").read_text(), "3.12", "x86_64")}
    assert {"fastapi", "uvicorn", "uvloop", "h11"} <= names
    assert names.isdisjoint({"pytest", "ruff", "pyright", "playwright", "e2b", "hatchling", "pip"})


def test_a_part_is_compressed_once_and_unpacks_as_it_was(tmp_path: Path) -> None:
    cache, said = tmp_path / "cache", []
    engine = cache / "engines" / "v1"
    (engine / "gvisor-bin").mkdir(parents=True)
    (engine / "runsc").write_text("engine")
    (engine / "runsc").chmod(0o755)
    (engine / "gvisor-bin" / "sentry").write_text("helper")
    for name in ("first", "second"):
        made = parts.CompressedParts(tmp_path / "kept", tmp_path / name, 0, said.append)
        assert made.add("engine", engine, cache) == "parts/engine.tar.xz"
    assert said.count("compressing engine") == 1
    assert (tmp_path / "first/engine.tar.xz").read_bytes() == (tmp_path / "second/engine.tar.xz").read_bytes()
    unpack(tmp_path / "first/engine.tar.xz", tmp_path / "out")
    assert (tmp_path / "out/engines/v1/gvisor-bin/sentry").read_text() == "helper"
    assert (tmp_path / "out/engines/v1/runsc").stat().st_mode & 0o777 == 0o755
    (engine / "runsc").write_text("another")
    parts.CompressedParts(tmp_path / "kept", tmp_path / "third", 0, said.append).add("engine", engine, cache)
    assert said.count("compressing engine") == 2


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    (folder / "parts").mkdir(parents=True)
    (folder / "bundle.json").write_text("{}")
    (folder / "parts" / "engine.tar.xz").write_text("engine")
    sums = [f"{installer._sha256(folder / name)}  {name}\n" for name in ("bundle.json", "parts/engine.tar.xz")]
    (folder / "SHA256SUMS").write_text("".join(sums))
    return folder


def test_a_whole_bundle_is_proven(bundle: Path) -> None:
    assert installer.verify(bundle) == 2


def test_a_damaged_bundle_is_refused(bundle: Path) -> None:
    (bundle / "bundle.json").write_text("{ }")
    (bundle / "parts" / "engine.tar.xz").unlink()
    with pytest.raises(installer.Refused, match=r"bundle\.json is not what was packed; parts/engine\.tar\.xz is missing"):
        installer.verify(bundle)


def test_another_python_is_named_with_what_to_do() -> None:
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    facts = {"machine": installer.platform.machine(), "pythons": ["3.0"]}
    with pytest.raises(installer.Refused, match=rf"for Python 3\.0; this is {ours}.*PYTHONS={ours}"):
        installer.check_fit(facts)
    with pytest.raises(installer.Refused, match="for sparc machines"):
        installer.check_fit({**facts, "machine": "sparc"})
    installer.check_fit({**facts, "pythons": ["3.0", ours]})


def test_a_link_is_replaced_and_a_file_is_not(tmp_path: Path) -> None:
    place = tmp_path / "bin" / "roost"
    installer.link(place, "/opt/roost/1")
    installer.link(place, "/opt/roost/2")
    assert str(place.readlink()) == "/opt/roost/2"
    place.unlink()
    place.write_text("somebody's own")
    with pytest.raises(installer.Refused, match="in the way"):
        installer.link(place, "/opt/roost/3")
    assert place.read_text() == "somebody's own"


def test_the_archive_needs_nothing_but_tar(tmp_path: Path) -> None:
    builder = load_builder()
    folder = tmp_path / "roost-1.0-linux-x86_64"
    folder.mkdir()
    (folder / "install").write_text("#!/bin/sh\n")
    (folder / "install").chmod(0o755)
    builder.write_sums(folder)
    archive = builder.write_archive(folder, tmp_path / "dist")
    with tarfile.open(archive, "r:") as members:
        assert {(member.name, member.mode, member.uid) for member in members if member.isfile()} == {
            ("roost-1.0-linux-x86_64/SHA256SUMS", 0o644, 0),
            ("roost-1.0-linux-x86_64/install", 0o755, 0),
        }
    assert archive.with_suffix(".tar.sha256").read_text().endswith(f"  {archive.name}\n")


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ("base", ("base",)),
        ("minimal", ("base=minimal",)),
        ("base, desktop", ("base", "desktop")),
        ("minimal,desktop", ("base=minimal", "desktop")),
        ("base=minimal", ("base=minimal",)),
    ],
)
def test_whoever_names_no_template_gets_base(asked: str, chosen: tuple[str, ...]) -> None:
    assert load_builder().chosen_templates(asked) == chosen


def load_builder() -> ModuleType:
    """It imports what lies beside it, as `python scripts/bundle` lets it."""
    sys.path.insert(0, str(FOLDER))
    try:
        return load("__main__")
    finally:
        sys.path.remove(str(FOLDER))
