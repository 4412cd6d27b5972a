"""The socket by which control orders the node: whoever can speak there owns every sandbox. Root can, and nobody else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from roost.rpc import frames
from roost.rpc.frames import Kind
from roost.settings import RUN
from roost.wiring.identity import VERSION
from tests.real.server import Server, said, sandbox_of

# Says what became of a connection: refused by the file's mode, ended by the server, or answered.
_CONNECT = """
import os, pwd, socket, sys
user = pwd.getpwnam(sys.argv[3])
os.setgroups([])
os.setgid(user.pw_gid)
os.setuid(user.pw_uid)
try:
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(30)
    peer.connect(sys.argv[1])
    peer.send(bytes.fromhex(sys.argv[2]))
    print("answered" if peer.recv(1) else "ended")
except PermissionError:
    print("refused")
except OSError as error:
    print("ended", error)
"""
HELLO = frames.pack_json(Kind.HELLO, 0, {"build": VERSION})


def socket_of(server: Server) -> str:
    return str(RUN / server.instance / "node.sock")


def connect_as(user: str, path: str) -> str:
    words = [sys.executable, "-I", "-c", _CONNECT, path, HELLO.hex(), user]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout.split()[0]


def test_nobody_but_root_can_connect(server: Server) -> None:
    path = socket_of(server)
    assert connect_as("root", path) == "answered"
    assert connect_as("nobody", path) == "refused"
    os.chmod(path, 0o666)  # noqa: PTH101
    try:
        assert connect_as("nobody", path) == "ended", "the kernel says who is there, whatever the file's mode is"
    finally:
        os.chmod(path, 0o600)  # noqa: PTH101


@pytest.mark.parametrize(
    "garbage",
    [
        os.urandom(4096),
        frames.HEAD.pack(0xFFFFFFFF, Kind.CALL, 1),
        HELLO + frames.HEAD.pack(0xFFFFFFFF, Kind.CALL, 1),
        HELLO + frames.pack(Kind.CALL, 1, b"{}"),
        HELLO + frames.pack(Kind.CALL, 1, b'{"method": "kill"}\n{"sandbox": "../../etc"}'),
        HELLO + frames.pack(Kind.CALL, 1, b'{"method": "__import__"}\n"os"'),
        HELLO + frames.pack(Kind.GRANT, 7, b"\xff" * 100) + frames.pack(Kind.ITEM, 7),
        HELLO[:5],
    ],
)
def test_what_is_no_order_brings_nothing_down(server: Server, garbage: bytes) -> None:
    before = server.role("node"), server.role("control")
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(socket_of(server))
        peer.sendall(garbage)
        peer.shutdown(socket.SHUT_WR)
        peer.settimeout(60)
        while peer.recv(65536):
            pass
    with sandbox_of(server) as sandbox:
        assert said(sandbox, "echo well") == "well"
    assert (server.role("node"), server.role("control")) == before


def test_no_sandbox_sees_the_socket(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        found = said(sandbox, "sudo find / -xdev -name '*.sock' -not -path '/proc/*' 2>/dev/null; true")
        assert "node.sock" not in found
