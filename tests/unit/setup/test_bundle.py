from __future__ import annotations

import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from roost.domain.errors import Invalid
from roost.setup.bundle import CONTENTS, BundlePart, Contents, read_contents, take_into_cache, take_tools

ENGINE = BundlePart("parts/engine.tar.xz", "engines/v1/engine.json")
ROOTFS = BundlePart("parts/rootfs-base.tar.xz", "rootfs/base-1.json")
CONTENTS_HERE = Contents(
    version="1.0",
    machine="x86_64",
    pythons=("3.12",),
    templates=("base=minimal",),
    roost="roost.whl",
    wheels="parts/wheels.tar.xz",
    tools=None,
    cache=(ENGINE, ROOTFS),
)


def pack(archive: Path, files: dict[str, str]) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    source = archive.parent / "source"
    with tarfile.open(archive, "w:xz") as tar:
        for name, content in files.items():
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            path.chmod(0o755 if name.endswith("runsc") else 0o644)
            tar.add(path, name)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    engine = {"engines/v1/runsc": "engine", "engines/v1/gvisor-bin/sentry": "helper", "engines/v1/engine.json": "{}"}
    pack(folder / ENGINE.file, engine)
    pack(folder / ROOTFS.file, {"rootfs/base-1.tar": "tar", "rootfs/base-1.json": "{}"})
    pack(folder / "parts/tools.tar.xz", {"bin/nft": "nft", "lib/libc.so.6": "libc"})
    (folder / CONTENTS).write_text(json.dumps(CONTENTS_HERE.as_json()))
    return folder


def test_what_is_written_is_read(bundle: Path) -> None:
    assert read_contents(bundle) == CONTENTS_HERE


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({**CONTENTS_HERE.as_json(), "format": 99})])
def test_something_else_is_refused(bundle: Path, text: str) -> None:
    (bundle / CONTENTS).write_text(text)
    with pytest.raises(Invalid, match="not an unpacked bundle"):
        read_contents(bundle)


def test_the_cache_gets_what_it_lacks_with_all_that_lies_beside_it(bundle: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    said: list[str] = []
    take_into_cache(bundle, CONTENTS_HERE, cache, said.append)
    assert (cache / "engines/v1/gvisor-bin/sentry").read_text() == "helper"
    assert (cache / "engines/v1/runsc").stat().st_mode & 0o111
    assert (cache / "rootfs/base-1.tar").read_text() == "tar" and (cache / "rootfs/base-1.json").exists()
    assert not any((cache / "work").iterdir()), "nothing of the work is left"
    assert len(said) == 2

    (cache / "engines/v1/runsc").write_text("the one that is there")
    take_into_cache(bundle, CONTENTS_HERE, cache, said.append)
    assert (cache / "engines/v1/runsc").read_text() == "the one that is there"
    assert len(said) == 2, "what is there is left alone"


def test_what_an_interrupted_run_left_is_replaced(bundle: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    half = cache / "engines/v1/runsc"
    half.parent.mkdir(parents=True)
    half.write_text("ha")
    (cache / "rootfs").mkdir()
    (cache / "rootfs/base-1.tar").write_text("ta")
    take_into_cache(bundle, CONTENTS_HERE, cache)
    assert half.read_text() == "engine" and (cache / "rootfs/base-1.tar").read_text() == "tar"


def test_tools_come_along_only_if_they_were_packed(bundle: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    take_tools(bundle, CONTENTS_HERE, prefix)
    assert list(prefix.iterdir()) == []
    with_tools = replace(CONTENTS_HERE, tools="parts/tools.tar.xz")
    take_tools(bundle, with_tools, prefix)
    take_tools(bundle, with_tools, prefix)
    assert (prefix / "tools/bin/nft").read_text() == "nft"
    assert [path.name for path in prefix.iterdir()] == ["tools"]
