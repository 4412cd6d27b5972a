"""Images: how long one takes from a registry on this machine to its files on the disk, beside `tar` with the same layer.

Two layers: Debian's many small files, and four large ones. What `tar` is given is the layer as the registry has it, compressed;
it asks nobody, proves nothing and follows what links it finds.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio

from bench.report import Figure
from roost.domain.image import Reference
from roost.node.storage import subvolumes
from roost.node.storage.puller import Puller, PullSettings
from roost.settings import Settings
from roost.setup.commands import Commands
from roost.setup.definitions import find_definitions
from roost.setup.installation import trusted_cas
from roost.setup.puller import ensure_puller
from roost.setup.rootfs import find_rootfs
from roost.setup.volume import ensure_volume

BAR = 1 / 0.6  # at least 60% of tar's speed
LARGE_FILES, LARGE_FILE_MB = 4, 128
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def measure(rounds: int) -> list[Figure]:
    settings = Settings.load()
    program = ensure_puller(settings.cache, Commands())
    with tempfile.TemporaryDirectory(prefix="roost-bench-", dir="/var/tmp") as folder, _volume(Path(folder)) as volume:
        layers = {"small files": _small(settings, volume), "large files": _large(volume)}
        figures = []
        for name, layer in layers.items():
            with _serving(layer) as host:
                puller = Puller(lambda: program, PullSettings(insecure=(host,)))
                figures.append(_compare(name, layer, volume, puller, Reference.parse(f"{host}/bench:1"), rounds))
        return figures


def _compare(name: str, layer: Path, volume: Path, puller: Puller, reference: Reference, rounds: int) -> Figure:
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        into = _fresh(volume / "ours")
        started = time.perf_counter()
        anyio.run(puller.unpack, reference, into)
        ours.append(time.perf_counter() - started)
        subvolumes.delete(into)
        into = _fresh(volume / "theirs")
        started = time.perf_counter()
        options = ("--numeric-owner", "--xattrs", "--xattrs-include=*", "--acls")
        subprocess.run(("tar", "--extract", "--gzip", *options, f"--file={layer}", f"--directory={into}"), check=True)
        theirs.append(time.perf_counter() - started)
        subvolumes.delete(into)
    return Figure(f"import of an image, {name}", ours, "tar --extract of its layer", theirs, bar=BAR)


def _fresh(path: Path) -> Path:
    subvolumes.create(path)
    os.sync()
    return path


def _small(settings: Settings, volume: Path) -> Path:
    [name] = find_definitions(("base",)).values()
    root = find_rootfs(name, trusted_cas(settings), settings.cache) or find_rootfs(name, (), settings.cache)
    assert root is not None, "run `roost setup --cache-only` first"
    return _compressed(root.path, volume / "small.tar.gz")


def _large(volume: Path) -> Path:
    """Half of it can be compressed, as with programs."""
    plain = volume / "large.tar"
    half = 1 << 19
    with tarfile.open(plain, "w") as archive:
        for number in range(LARGE_FILES):
            entry = tarfile.TarInfo(f"file-{number}")
            file = volume / "file"
            with file.open("wb") as content:
                for each in range(LARGE_FILE_MB):
                    content.write(os.urandom(half) + bytes([65 + each % 20]) * half)
            entry.size = file.stat().st_size
            with file.open("rb") as content:
                archive.addfile(entry, content)
            file.unlink()
    return _compressed(plain, volume / "large.tar.gz")


def _compressed(plain: Path, target: Path) -> Path:
    with plain.open("rb") as source, gzip.open(target, "wb", compresslevel=1) as packed:
        shutil.copyfileobj(source, packed, 1 << 20)
    return target


@contextmanager
def _volume(home: Path) -> Iterator[Path]:
    made = ensure_volume(home, 20, Commands(), is_default=True)
    try:
        yield made.path
    finally:
        subprocess.run(("umount", made.path), check=True)


@contextmanager
def _serving(layer: Path) -> Iterator[str]:
    """The least that a registry is: a manifest and two blobs."""
    config = json.dumps(
        {"architecture": ARCHITECTURE, "os": "linux", "rootfs": {"type": "layers", "diff_ids": [_digest_unpacked(layer)]}}
    ).encode()
    with layer.open("rb") as file:
        digest = "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    kinds = "application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip"
    described = [
        {"mediaType": kinds[0], "digest": "sha256:" + hashlib.sha256(config).hexdigest(), "size": len(config)},
        {"mediaType": kinds[1], "digest": digest, "size": layer.stat().st_size},
    ]
    manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": described[0], "layers": described[1:]}).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path.endswith(digest):
                self._answer("application/octet-stream", layer.stat().st_size)
                with layer.open("rb") as file:
                    shutil.copyfileobj(file, self.wfile, 1 << 20)
                return
            content = manifest if "/manifests/" in self.path else config if "/blobs/" in self.path else b"{}"
            self._answer(MANIFEST if content is manifest else "application/json", len(content))
            self.wfile.write(content)

        def _answer(self, kind: str, size: int) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(size))
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Not among the figures."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _digest_unpacked(layer: Path) -> str:
    with gzip.open(layer) as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
