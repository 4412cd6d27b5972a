from __future__ import annotations

import base64
import gzip
import hashlib
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from .guest import Guest

OCTETS = {"Content-Type": "application/octet-stream"}
PLAIN = {"Accept-Encoding": "identity"}


def get(guest: Guest, path: Path | str, **headers: str) -> httpx.Response:
    return guest.http.get("/files", params={"path": str(path)}, headers={**PLAIN, **headers})


def put(guest: Guest, path: Path | str, content: bytes, **headers: str) -> httpx.Response:
    return guest.http.post("/files", params={"path": str(path)}, content=content, headers={**OCTETS, **headers})


def high_water_kb(guest: Guest) -> int:
    status = Path(f"/proc/{guest.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


def test_round_trip(guest: Guest, tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "file.bin"
    content = os.urandom(100_000)
    answer = put(guest, path, content)
    assert answer.json() == [{"path": str(path), "name": "file.bin", "type": "file"}]
    assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o644 and path.parent.stat().st_mode & 0o777 == 0o755
    read = get(guest, path)
    assert read.content == content
    assert read.headers["content-length"] == "100000"
    assert read.headers["content-disposition"] == "inline; filename=file.bin"
    assert read.headers["vary"] == "Accept-Encoding, Origin" and read.headers["access-control-allow-origin"] == "*"
    put(guest, path, b"shorter")
    assert path.read_bytes() == b"shorter"


def test_relative_paths_and_tilde_mean_the_home_directory(guest: Guest) -> None:
    name = f".roost-agent-test-{os.getpid()}"
    try:
        put(guest, name, b"one")
        assert (Path.home() / name).read_bytes() == b"one"
        assert get(guest, f"~/{name}").content == b"one"
    finally:
        (Path.home() / name).unlink()
    assert get(guest, "~somebody/x").status_code == 400


def test_empty_and_sizeless_files(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for headers in (PLAIN, {"Accept-Encoding": "gzip"}):
        answer = get(guest, tmp_path / "empty", **headers)
        assert (answer.status_code, answer.headers["content-length"]) == (200, "0")
        proc = get(guest, "/proc/sys/kernel/random/boot_id", **headers)
        assert proc.text == Path("/proc/sys/kernel/random/boot_id").read_text()


@contextmanager
def special(tmp_path: Path) -> Iterator[list[Path]]:
    """Pipes without and with somebody at the other end, a socket, devices, an endless one too."""
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "used")
    other_end = os.open(tmp_path / "used", os.O_RDWR)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        try:
            yield [
                *(tmp_path / name for name in ("pipe", "used", "socket")),
                Path("/dev/zero"),
                Path("/dev/tty"),
                Path("/dev/full"),
            ]
        finally:
            os.close(other_end)


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_what_is_no_regular_file_is_refused_and_waited_for_by_nobody(guest: Guest, tmp_path: Path, coding: str) -> None:
    (tmp_path / "plain").write_bytes(b"x")
    with special(tmp_path) as paths:
        for path in paths:
            answer = get(guest, path, **{"Accept-Encoding": coding})
            assert (path, answer.status_code) == (path, 400), answer.text
            assert put(guest, path, b"x").status_code == 400
            for request in ([str(tmp_path / "plain")], str(path)), ([str(path)], str(tmp_path / "new")):
                body = {"source_paths": request[0], "destination": request[1]}
                assert guest.http.post("/files/compose", json=body).status_code == 400
    assert (tmp_path / "plain").read_bytes() == b"x" and not (tmp_path / "new").exists()


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/mem",  # cannot be read at its beginning
        "/sys/bus/pci/rescan",  # can only be written
    ],
)
def test_a_file_of_the_kernels_that_refuses_is_the_callers_mistake(guest: Guest, path: str, coding: str) -> None:
    answer = get(guest, path, **{"Accept-Encoding": coding})
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text)


def test_a_file_that_is_shorter_than_it_says_is_read_whole(guest: Guest) -> None:
    """Those of /sys say that they are a page long."""
    path = Path("/sys/devices/system/cpu/online")
    if not path.exists():
        pytest.skip("this machine has no such file")
    for coding in ("identity", "gzip"):
        assert get(guest, path, **{"Accept-Encoding": coding}).text == path.read_text()


def test_what_is_not_a_file(guest: Guest, tmp_path: Path) -> None:
    assert get(guest, tmp_path / "missing").status_code == 404
    assert get(guest, tmp_path).status_code == 400
    answer = put(guest, tmp_path, b"x")
    assert answer.status_code == 400 and answer.json()["code"] == 400
    (tmp_path / "file").touch()
    assert put(guest, tmp_path / "file" / "below", b"x").status_code == 400
    assert put(guest, "", b"x").status_code == 400
    assert get(guest, "a\0b").status_code == 400
    unknown = guest.http.get("/files", params={"path": "/etc/passwd", "username": "nobody-here"})
    assert unknown.status_code == 401


@pytest.mark.parametrize(
    ("asked", "status", "expected"),
    [
        ("bytes=0-4", 206, b"01234"),
        ("bytes=95-", 206, b"56789"),
        ("bytes=-3", 206, b"789"),
        ("bytes=90-1000", 206, b"0123456789"),
        ("bytes=100-", 416, b""),
        ("bytes=5-2", 200, b"0123456789" * 10),
        ("lines=1-2", 200, b"0123456789" * 10),
        ("bytes=x-y", 200, b"0123456789" * 10),
        ("bytes=0-1,5-6", 200, b"0123456789" * 10),
    ],
)
def test_ranges(guest: Guest, tmp_path: Path, asked: str, status: int, expected: bytes) -> None:
    (tmp_path / "digits").write_bytes(b"0123456789" * 10)
    answer = get(guest, tmp_path / "digits", Range=asked)
    assert (answer.status_code, answer.content) == (status, expected)
    if status == 206:
        assert answer.headers["content-range"].endswith("/100")
        assert answer.headers.get("accept-ranges") == ("bytes" if status == 206 else None)


def test_conditions(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    first = get(guest, tmp_path / "file")
    for condition in (
        {"If-None-Match": first.headers["etag"]},
        {"If-Modified-Since": first.headers["last-modified"]},
    ):
        assert get(guest, tmp_path / "file", **condition).status_code == 304
    stale = {"Range": "bytes=0-1", "If-Range": '"other"'}
    assert get(guest, tmp_path / "file", **stale).content == b"content"
    fresh = {"Range": "bytes=0-1", "If-Range": first.headers["etag"]}
    assert get(guest, tmp_path / "file", **fresh).content == b"co"


def test_gzip_both_ways(guest: Guest, tmp_path: Path) -> None:
    for size in (10, 200_000, 3_000_000):
        content = os.urandom(size // 2) + bytes(size // 2)
        path = tmp_path / f"file{size}"
        assert put(guest, path, gzip.compress(content), **{"Content-Encoding": "gzip"}).status_code == 200
        assert path.read_bytes() == content
        answer = get(guest, path, **{"Accept-Encoding": "gzip, deflate"})
        assert answer.headers["content-encoding"] == "gzip" and answer.content == content
    damaged = gzip.compress(content)[:-100]
    for body in (damaged, b"not gzip", b""):
        assert put(guest, path, body, **{"Content-Encoding": "gzip"}).status_code == 400
    assert put(guest, path, b"x", **{"Content-Encoding": "br"}).status_code == 400
    assert get(guest, path, **{"Accept-Encoding": "br, identity;q=0"}).status_code == 406


def test_multipart(guest: Guest, tmp_path: Path) -> None:
    one, two = tmp_path / "one ü.txt", tmp_path / 'quo"ted'
    files = [("file", (str(one), b"first")), ("file", (str(two), bytes(300_000))), ("other", ("x", b"ignored"))]
    answer = guest.http.post("/files", files=files)
    assert [entry["path"] for entry in answer.json()] == [str(one), str(two)]
    assert one.read_bytes() == b"first" and two.read_bytes() == bytes(300_000)
    target = tmp_path / "target"
    guest.http.post("/files", params={"path": str(target)}, files=[("file", ("ignored", b"\r\n--x\r\n"))])
    assert target.read_bytes() == b"\r\n--x\r\n"
    twice = guest.http.post("/files", files=[("file", (str(one), b"a")), ("file", (str(one), b"b"))])
    assert twice.status_code == 400
    for broken in (b"", b"--b\r\n", b"--b\r\nContent-Disposition: form-data; name=file; filename=/tmp/x\r\n\r\nabc", b"--b"):
        kind = {"Content-Type": "multipart/form-data; boundary=b"}
        assert guest.http.post("/files", content=broken, headers=kind).status_code == 400
    assert guest.http.post("/files", content=b"x", headers={"Content-Type": "multipart/form-data"}).status_code == 400
    assert guest.http.post("/files?path=/x", content=b"x", headers={"Content-Type": "text/plain"}).status_code == 400


def test_multipart_in_single_bytes(guest: Guest, tmp_path: Path) -> None:
    """Boundaries that arrive in the smallest pieces are still found, and only real ones."""
    content = b"\r\n--bound\r\n--boundar\r\n-\r\r\n--" * 20
    body = (
        b'preamble\r\n--boundary\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
        + content
        + b"\r\n--boundary--\r\nepilogue"
    )
    answer = guest.http.post(
        "/files",
        params={"path": str(tmp_path / "file")},
        content=(body[at : at + 1] for at in range(len(body))),
        headers={"Content-Type": 'multipart/form-data; boundary="boundary"'},
    )
    assert answer.status_code == 200
    assert (tmp_path / "file").read_bytes() == content


def test_metadata_is_kept_and_replaced(guest: Guest, tmp_path: Path) -> None:
    path = tmp_path / "file"
    try:
        os.setxattr(tmp_path, "user.e2b.probe", b"x")
    except OSError:
        pytest.fail("this test needs a temporary directory with extended attributes of users")
    answer = put(guest, path, b"x", **{"X-Metadata-Author": "me", "X-Metadata-Kind": "draft"})
    assert answer.json()[0]["metadata"] == {"author": "me", "kind": "draft"}
    entry = guest.call("filesystem.Filesystem/Stat", {"path": str(path)})["entry"]
    assert entry["metadata"] == {"author": "me", "kind": "draft"}
    put(guest, path, b"x", **{"X-Metadata-Author": "you"})
    entry = guest.call("filesystem.Filesystem/Stat", {"path": str(path)})["entry"]
    assert entry["metadata"] == {"author": "you"}
    assert "metadata" not in put(guest, path, b"x").json()[0]
    assert "metadata" not in guest.call("filesystem.Filesystem/Stat", {"path": str(path)})["entry"]
    assert put(guest, path, b"x", **{"X-Metadata-Big": "x" * 5000}).status_code == 400
    assert put(guest, path, b"x", **{"X-Metadata-" + "k" * 250: "x"}).status_code == 400
    raw = b"POST /files?path=/tmp/x HTTP/1.1\r\nHost: x\r\nX-Metadata-A: caf\xc3\xa9\r\n"
    raw += b"Content-Type: application/octet-stream\r\nContent-Length: 0\r\n\r\n"
    assert guest.raw(raw).startswith(b"HTTP/1.1 400")


def test_compose(guest: Guest, tmp_path: Path) -> None:
    for name, content in (("a", b"one"), ("b", b"two"), ("c", bytes(200_000))):
        (tmp_path / name).write_bytes(content)
    sources = [str(tmp_path / name) for name in "abc"]
    target = tmp_path / "new" / "whole"
    answer = guest.http.post("/files/compose", json={"source_paths": sources, "destination": str(target)})
    assert answer.json() == {"path": str(target), "name": "whole", "type": "file"}
    assert target.read_bytes() == b"onetwo" + bytes(200_000)
    assert not any(Path(path).exists() for path in sources)
    again = guest.http.post("/files/compose", json={"source_paths": sources, "destination": str(target)})
    assert again.status_code == 404
    for wrong in ({}, {"source_paths": "x", "destination": "y"}, [], {"source_paths": ["/x"], "destination": "/x"}):
        assert guest.http.post("/files/compose", json=wrong).status_code == 400


def test_signed_urls() -> None:
    guest = Guest("--trust-local")
    try:
        token = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"
        guest.init(accessToken=token)
        signature = "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E"
        query = {"path": "hello.txt", "username": "user", "signature": signature}

        def refusal(**params: str) -> str:
            answer = guest.http.get("/files", params=params)
            assert answer.status_code == 401 and answer.json()["code"] == 401
            return answer.json()["message"]

        # The signature holds; what follows depends on whether this machine has such a user and file.
        assert guest.http.get("/files", params=query).json()["message"] != "invalid signature"
        assert refusal(path="hello.txt") == "missing signature query parameter"
        assert refusal(**{**query, "path": "other.txt"}) == "invalid signature"
        assert refusal(**{**query, "signature": "v1_x"}) == "invalid signature"
        written = guest.http.post("/files", params=query, content=b"x", headers=OCTETS)
        assert written.json()["message"] == "invalid signature"
        for expires, message in ((int(time.time()) - 10, "signature is already expired"), (int(time.time()) + 60, None)):
            raw = f"/etc/hostname:read::{token}:{expires}".encode()
            digest = base64.b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")
            signed = {"path": "/etc/hostname", "signature": f"v1_{digest}", "signature_expiration": str(expires)}
            if message is None:
                assert guest.http.get("/files", params=signed).status_code == 200
            else:
                assert guest.http.get("/files", params=signed).json() == {"code": 401, "message": message}
        wrong = guest.http.get("/files", params=query, headers={"X-Access-Token": "wrong"})
        assert wrong.json()["message"] == "access token present in header but does not match"
    finally:
        guest.close()


def test_large_files_take_no_memory(tmp_path: Path) -> None:
    """100 MB up (raw, chunked, multipart) and down (plain, compressed) in the same few megabytes."""
    guest = Guest("--trust-local")
    try:
        size, piece = 100_000_000, os.urandom(1_000_000)
        before = high_water_kb(guest)
        path = tmp_path / "large"

        def pieces():
            for _ in range(size // len(piece)):
                yield piece

        assert put(guest, path, pieces()).status_code == 200  # type: ignore[arg-type]
        assert path.stat().st_size == size
        with path.open("rb") as file:
            target = {"path": str(tmp_path / "copy")}
            assert guest.http.post("/files", params=target, files={"file": ("copy", file)}).status_code == 200
        assert (tmp_path / "copy").stat().st_size == size
        for headers in (PLAIN, {"Accept-Encoding": "gzip"}):
            digest = hashlib.sha256()
            with guest.http.stream("GET", "/files", params={"path": str(path)}, headers=headers) as answer:
                for chunk in answer.iter_bytes():
                    digest.update(chunk)
            expected = hashlib.sha256()
            for part in pieces():
                expected.update(part)
            assert digest.digest() == expected.digest()
        assert high_water_kb(guest) - before < 16_000
    finally:
        guest.close()
