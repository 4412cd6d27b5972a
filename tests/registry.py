"""A real registry (Debian's docker-registry) on this machine, and images made on the spot."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from roost.settings import DEFAULT_CACHE

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
OTHER_ARCHITECTURE = {"amd64": "arm64", "arm64": "amd64"}[ARCHITECTURE]
TOOLS = Path(os.environ.get("ROOST_CACHE", DEFAULT_CACHE)) / "test-tools"  # `scripts/test-packages` fetches them


def tool(name: str) -> Path:
    """A program that only tests use. Fails when it is missing."""
    found = next((path for path in TOOLS.glob(f"**/bin/{name}") if path.is_file()), None) or shutil.which(name)
    assert found, f"{name} is missing: run `.venv/bin/python scripts/test-packages`"
    return Path(found)


@dataclass(frozen=True, slots=True)
class File:
    """An entry of an archive: a file unless `type` says otherwise."""

    name: str
    content: bytes = b""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    type: bytes = tarfile.REGTYPE
    link: str = ""
    mtime: int = 1_600_000_000
    pax: Mapping[str, str] | None = None


def directory(name: str, mode: int = 0o755, uid: int = 0, gid: int = 0) -> File:
    return File(name, mode=mode, uid=uid, gid=gid, type=tarfile.DIRTYPE)


def symlink(name: str, target: str) -> File:
    return File(name, type=tarfile.SYMTYPE, link=target, mode=0o777)


def hard_link(name: str, target: str) -> File:
    return File(name, type=tarfile.LNKTYPE, link=target)


def archive(*files: File) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in files:
            entry = tarfile.TarInfo(file.name)
            entry.type, entry.mode, entry.uid, entry.gid = file.type, file.mode, file.uid, file.gid
            entry.linkname, entry.mtime, entry.size = file.link, file.mtime, len(file.content)
            entry.pax_headers = dict(file.pax or {})
            tar.addfile(entry, io.BytesIO(file.content))
    return made.getvalue()


def digest_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, slots=True)
class Blob:
    """What a registry keeps. `size` and `digest` are what a manifest says of it."""

    content: bytes
    type: str

    def described(self, **lies: Any) -> dict[str, Any]:
        return {"mediaType": self.type, "digest": digest_of(self.content), "size": len(self.content), **lies}


@dataclass(frozen=True, slots=True)
class Image:
    manifest: Blob
    blobs: tuple[Blob, ...]


def image(*layers: bytes, architecture: str = ARCHITECTURE, compress: bool = True, **settings: Any) -> Image:
    """Of archives, the lowest first, and what the configuration says."""
    packed = [
        Blob(gzip.compress(layer, 1, mtime=0) if compress else layer, LAYER if compress else LAYER[:-5]) for layer in layers
    ]
    said = {
        "architecture": architecture,
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [digest_of(layer) for layer in layers]},
    }
    return assembled(Blob(json.dumps(said).encode(), CONFIG), packed)


def assembled(config: Blob, layers: Sequence[Blob]) -> Image:
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.described(),
        "layers": [layer.described() for layer in layers],
    }
    return Image(Blob(json.dumps(manifest).encode(), MANIFEST), (config, *layers))


class Registry:
    def __init__(self, host: str, *, user: tuple[str, str] | None = None) -> None:
        self.host = host
        self._http = httpx.Client(base_url=f"http://{host}", auth=user, timeout=60)

    def push(self, name: str, image: Image, *, tag: str = "1") -> str:
        """The reference that it has there."""
        for blob in image.blobs:
            self._push_blob(name, blob)
        self._push_manifest(name, image.manifest, tag)
        return f"{self.host}/{name}:{tag}"

    def push_index(self, name: str, images: Mapping[str, Image], *, tag: str = "1") -> str:
        """One reference, an image for each architecture."""
        listed = []
        for architecture, each in images.items():
            self.push(name, each, tag=f"{tag}-{architecture}")
            listed.append(each.manifest.described(platform={"os": "linux", "architecture": architecture}))
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": listed}
        self._push_manifest(name, Blob(json.dumps(index).encode(), INDEX), tag)
        return f"{self.host}/{name}:{tag}"

    def _push_blob(self, name: str, blob: Blob) -> None:
        digest = digest_of(blob.content)
        if self._http.head(f"/v2/{name}/blobs/{digest}").status_code == 200:
            return
        begun = self._http.post(f"/v2/{name}/blobs/uploads/").raise_for_status()
        place = httpx.URL(begun.headers["location"]).copy_merge_params({"digest": digest})
        self._http.put(place, content=blob.content).raise_for_status()

    def _push_manifest(self, name: str, manifest: Blob, tag: str) -> None:
        headers = {"content-type": manifest.type}
        self._http.put(f"/v2/{name}/manifests/{tag}", content=manifest.content, headers=headers).raise_for_status()

    def close(self) -> None:
        self._http.close()


@contextmanager
def serving_registry(
    folder: Path, *, password_file: Path | None = None, user: tuple[str, str] | None = None
) -> Iterator[Registry]:
    """With a password file, only for those who are in it."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    settings = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(folder / "blobs")}, "delete": {"enabled": True}},
        "http": {"addr": f"127.0.0.1:{port}"},
        "log": {"level": "error", "accesslog": {"disabled": True}},
    }
    if password_file:
        settings["auth"] = {"htpasswd": {"realm": "tests", "path": str(password_file)}}
    file = folder / "registry.yml"
    file.write_text(json.dumps(settings))  # JSON is YAML
    with (folder / "registry.log").open("w") as log:
        process = subprocess.Popen([tool("docker-registry"), "serve", file], stdout=log, stderr=log)
    try:
        _wait_for(port, process)
        registry = Registry(f"127.0.0.1:{port}", user=user)
        yield registry
        registry.close()
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert process.poll() is None and time.monotonic() < deadline, "the registry does not start"
            time.sleep(0.02)


def busybox() -> bytes:
    """A static program that is a whole system."""
    return tool("busybox").read_bytes()
