"""The engine by its command line, on the template's own image: what the figures are compared with."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from roost.archive.keys import SnapshotPaths
from roost.domain.sandbox import Size
from roost.drivers.runtime.gvisor.runtime import FLAGS
from roost.node.engine.bundle import ContainerPlace, relocate
from roost.node.storage import subvolumes

SIZE = Size()
NETNS = Path("/run/netns")


@dataclass(frozen=True, slots=True)
class Raw:
    runsc: Path
    state: Path
    work: Path  # on the volume
    image: SnapshotPaths
    flags: tuple[str, ...] = FLAGS
    helpers: Path | None = None  # where it finds its helpers: beside itself

    def prepare(self) -> tuple[str, Path]:
        """A container's name and bundle: root cloned, namespace made. Not part of any figure."""
        name = f"raw{secrets.token_hex(4)}"
        bundle = self.work / name
        bundle.mkdir()
        (bundle / "volumes").mkdir()
        subvolumes.snapshot(self.image.root, bundle / "root", read_only=False)
        _make_netns(name)
        spec = relocate(
            json.loads(self.image.spec.read_bytes()),
            ContainerPlace(bundle / "root", f"/run/netns/{name}", f"/roost-bench/{name}", SIZE, bundle / "volumes"),
        )
        (bundle / "config.json").write_text(json.dumps(spec))
        return name, bundle

    def run(self, name: str, bundle: Path) -> float:
        return self._timed("run", "-detach", f"-bundle={bundle}", name)

    def create(self, name: str, bundle: Path) -> float:
        return self._timed("create", f"-bundle={bundle}", name)

    def restore(self, name: str, bundle: Path, image: Path, *options: str) -> float:
        return self._timed("restore", "-detach", *options, f"-bundle={bundle}", f"-image-path={image}", name)

    def execute(self, name: str, *command: str) -> float:
        return self._timed("exec", name, *command)

    def checkpoint(self, name: str, into: Path) -> float:
        """With its bytes on the disk afterwards, as a pause has them."""
        into.mkdir()
        started = time.perf_counter()
        self._timed("checkpoint", "-leave-running", f"-image-path={into}", name)
        for file in into.iterdir():
            descriptor = os.open(file, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
        return time.perf_counter() - started

    def delete(self, name: str) -> float:
        return self._timed("delete", "-force", name)

    def remove(self, name: str) -> None:
        try:
            self.delete(name)
        except subprocess.CalledProcessError:  # among several that start or end, the engine may find one half gone
            self.delete(name)
        self.clear(name)

    def clear(self, name: str) -> None:
        """What `prepare` made is gone. Not part of any figure."""
        _remove_netns(name)
        subvolumes.delete(self.work / name / "root")

    def _timed(self, *words: str) -> float:
        command = [str(self.runsc), f"--root={self.state}", *self.flags, *words]
        environment = {**os.environ, "GVISOR_SIDECAR_BINARIES_DIR": str(self.helpers)} if self.helpers else None
        nothing = subprocess.DEVNULL
        started = time.perf_counter()
        subprocess.run(command, stdin=nothing, stdout=nothing, stderr=nothing, check=True, env=environment)
        return time.perf_counter() - started


def _make_netns(name: str) -> None:
    """As `ip netns add` does, which not every machine has."""
    place = NETNS / name
    NETNS.mkdir(exist_ok=True)
    place.touch()
    subprocess.run(["unshare", f"--net={place}", "true"], check=True)


def _remove_netns(name: str) -> None:
    subprocess.run(["umount", NETNS / name], check=True)
    (NETNS / name).unlink()


@contextmanager
def raw_engine(runsc: Path, volume: Path, template_snapshot: str) -> Iterator[Raw]:
    work = volume / "bench"
    work.mkdir()
    state = Path(f"/run/roost-bench-{secrets.token_hex(3)}")
    raw = Raw(runsc, state, work, SnapshotPaths(volume / "snapshots" / template_snapshot))
    try:
        yield raw
    finally:
        subprocess.run(["umount", state / "null-netns"], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", work, state], check=True)
        for root in Path("/sys/fs/cgroup").glob("**/roost-bench"):
            root.rmdir()
