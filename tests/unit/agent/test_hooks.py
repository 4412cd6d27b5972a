from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from .guest import Guest, b64, wait_gone


class Housed:
    def __init__(self, guest: Guest, root: Path) -> None:
        self.guest = guest
        self.root = root

    def read(self, path: str) -> str:
        return (self.root / path).read_text()


@pytest.fixture
def housed(tmp_path: Path) -> Iterator[Housed]:
    """An agent that writes the machine's files below a directory instead."""
    (tmp_path / "etc/ssh").mkdir(parents=True)
    (tmp_path / "var/lib/dbus").mkdir(parents=True)
    guest = Guest("--trust-local", "--system-root", str(tmp_path))
    yield Housed(guest, tmp_path)
    guest.close()


def test_identity(housed: Housed) -> None:
    (housed.root / "etc/hosts").write_text("127.0.0.1 localhost\n127.0.1.1 old\n10.0.0.1 db\n")
    (housed.root / "var/lib/dbus/machine-id").write_text("old\n")
    (housed.root / "etc/machine-id").write_text("old\n")
    identity = {"hostname": "fox-7", "machineId": "0123456789abcdef" * 2, "dnsServers": ["169.254.7.1"]}
    housed.guest.init(**identity, entropy=b64(b"seed"))
    assert housed.read("etc/hostname") == "fox-7\n"
    assert housed.read("etc/hosts") == "127.0.0.1 localhost\n10.0.0.1 db\n127.0.1.1 fox-7\n"
    assert housed.read("etc/resolv.conf") == "nameserver 169.254.7.1\n"
    assert housed.read("etc/machine-id") == "old\n"
    housed.guest.init(**identity, newIdentity=True)
    assert housed.read("etc/machine-id") == housed.read("var/lib/dbus/machine-id") == "0123456789abcdef" * 2 + "\n"
    housed.guest.init(newIdentity=True)
    assert re.fullmatch(r"[0-9a-f]{32}\n", housed.read("etc/machine-id"))


def test_what_is_equal_is_not_written_again(housed: Housed) -> None:
    housed.guest.init(hostname="fox", dnsServers=["1.1.1.1"])
    stamps = {path: path.stat().st_mtime_ns for path in (housed.root / "etc").iterdir()}
    for path in stamps:
        if path.is_file():
            path.chmod(0o444)
    housed.guest.init(hostname="fox", dnsServers=["1.1.1.1"])
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_authorities_are_added_once(housed: Housed) -> None:
    (housed.root / "etc/ssl/certs").mkdir(parents=True)
    (housed.root / "etc/ssl/certs/ca-certificates.crt").write_text("FIRST\n")
    for _ in range(2):
        housed.guest.init(caBundle="EXTRA\n")
    assert housed.read("etc/ssl/certs/ca-certificates.crt") == "FIRST\nEXTRA\n"
    assert housed.read("usr/local/share/ca-certificates/roost-node.crt") == "EXTRA\n"
    # Those with a bundle of their own are pointed to the system's.
    assert housed.guest.run("/bin/sh", "-c", "echo $NODE_EXTRA_CA_CERTS").stdout.strip() == "/etc/ssl/certs/ca-certificates.crt"


def test_host_keys_are_not_shared_by_forks(housed: Housed) -> None:
    (housed.root / "etc/ssh/ssh_host_rsa_key").write_text("secret")
    (housed.root / "etc/ssh/sshd_config").write_text("kept")
    housed.guest.init(newIdentity=True)
    key = housed.root / "etc/ssh/ssh_host_rsa_key"
    assert not key.exists() or key.read_text() != "secret"
    assert housed.read("etc/ssh/sshd_config") == "kept"


@pytest.mark.parametrize(
    "wrong",
    [
        {"hostname": "../../etc"},
        {"machineId": "short"},
        {"dnsServers": ["one\ntwo"]},
        {"envVars": {"A=B": "c"}},
        {"envVars": []},
        {"entropy": "!"},
        {"accessToken": 5},
        [],
    ],
)
def test_nonsense_changes_nothing(housed: Housed, wrong: object) -> None:
    housed.guest.init(envVars={"KEPT": "1"})
    assert housed.guest.http.post("/init", json=wrong).status_code == 400
    assert housed.guest.http.get("/envs").json()["KEPT"] == "1"
    assert not (housed.root / "etc/hostname").exists()


def test_restore_runs_the_images_hooks(housed: Housed) -> None:
    hooks = housed.root / "etc/roost/after-restore.d"
    hooks.mkdir(parents=True)
    pipe = housed.root / "told"
    os.mkfifo(pipe)
    for name, text in (
        ("10-fails", "#!/bin/sh\nexit 1\n"),
        ("20-tells", f"#!/bin/sh\necho new=$ROOST_NEW_IDENTITY id=$ROOST_SANDBOX_ID > {pipe}\n"),
        ("30-data", "not a program"),
    ):
        (hooks / name).write_text(text)
        (hooks / name).chmod(0o644 if "data" in name else 0o755)
    for new in (True, False):
        restored = {"newIdentity": new, "incarnation": 4, "wallClock": 1.5e9, "sandboxId": "i9", "accessToken": None}
        assert housed.guest.http.post("/roost/after-restore", json=restored).status_code == 204
        assert pipe.read_text() == f"new={int(new)} id=i9\n"


def test_what_the_image_starts_at_boot_is_started_once(housed: Housed) -> None:
    services = housed.root / "etc/roost/boot.d"
    services.mkdir(parents=True)
    pipe = housed.root / "told"
    os.mkfifo(pipe)
    (services / "service").write_text(f"#!/bin/sh\necho $ROOST_SANDBOX_ID > {pipe}\nexec sleep 1000\n")
    (services / "service").chmod(0o755)
    housed.guest.init(sandboxId="i1")
    assert pipe.read_text() == "i1\n", "it knows for whom it starts"
    housed.guest.init(sandboxId="i2")
    assert housed.guest.http.post("/roost/after-restore", json={"sandboxId": "i2"}).status_code == 204
    running = [each for each in housed.guest.call("process.Process/List")["processes"] if each.get("tag") == "boot:service"]
    assert len(running) == 1
    housed.guest.call("process.Process/SendSignal", {"process": {"pid": running[0]["pid"]}, "signal": "SIGNAL_SIGKILL"})
    wait_gone(running[0]["pid"])


def test_before_a_checkpoint_idle_connections_are_reset_and_streams_kept(fresh_agent: Guest) -> None:
    guest = fresh_agent
    with (
        socket.create_connection(("127.0.0.1", guest.port), timeout=20) as idle,
        guest.start("/bin/sh", "-c", "read line; echo $line", stdin=True) as events,
    ):
        idle.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(1000).startswith(b"HTTP/1.1 204")
        assert guest.http.post("/roost/before-checkpoint").status_code == 204
        with pytest.raises(ConnectionResetError):
            idle.recv(1000)
        guest.call("process.Process/SendInput", {"process": {"pid": events.pid}, "input": {"stdin": b64(b"on\n")}})
        assert events.finish().stdout == "on\n"


def test_an_image_with_no_etc_and_no_working_directory_gets_both(tmp_path: Path) -> None:
    guest = Guest("--trust-local", "--system-root", str(tmp_path))
    try:
        guest.init(hostname="fox", dnsServers=["169.254.7.1"], defaultWorkdir="/srv/app")
    finally:
        guest.close()
    assert (tmp_path / "etc/resolv.conf").read_text() == "nameserver 169.254.7.1\n"
    assert (tmp_path / "etc/hosts").read_text().splitlines()[0] == "127.0.0.1 localhost"
    assert (tmp_path / "srv/app").is_dir()


def test_a_link_to_what_nobody_made_becomes_a_file(housed: Housed) -> None:
    (housed.root / "etc/resolv.conf").symlink_to("../run/systemd/resolve/stub-resolv.conf")
    housed.guest.init(dnsServers=["169.254.7.1"])
    assert not (housed.root / "etc/resolv.conf").is_symlink()
    assert housed.read("etc/resolv.conf") == "nameserver 169.254.7.1\n"
