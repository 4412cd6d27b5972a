"""What a guest can have the node's forwarder ask: plain questions about the internet, and nothing else.

Resolvers trust who asks by the address, and the forwarder asks from the host's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roost.client import Sandbox
from tests.e2b.internet import DNS, SITE, internet
from tests.real.server import Server, said, sandbox_of

AT_ONCE_S = 3.0  # a program that waits for an answer gives up after five, at the earliest

# Sends what it is told to the resolver, and prints the code of the answer and how many records it has.
_ASK = """
import socket, struct, sys
message = bytes.fromhex(sys.argv[1])
if sys.argv[2] == "tcp":
    sock = socket.create_connection(("169.254.7.1", 53), timeout=5)
    sock.sendall(struct.pack(">H", len(message)) + message)
    answer = sock.recv(65535)[2:]
else:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(2)
    sock.sendto(message, ("169.254.7.1", 53))
    try:
        answer = sock.recv(65535)
    except TimeoutError:
        answer = b""
print(f"{answer[3] & 15} {int.from_bytes(answer[6:8])}" if answer else "silence")
"""


class Asker:
    def __init__(self, sandbox: Sandbox, asked: Path) -> None:
        self._sandbox = sandbox
        self._asked = asked
        sandbox.files.write("/tmp/ask.py", _ASK)

    def ask(self, message: bytes, way: str = "udp") -> str:
        return said(self._sandbox, f"python3 /tmp/ask.py {message.hex()} {way}")

    def upstream(self) -> list[str]:
        """What the resolver was asked, in hexadecimal."""
        return [line.split()[-1] for line in self._asked.read_text().splitlines() if line.startswith("message")]


@pytest.fixture(scope="module")
def asker(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder = tmp_path_factory.mktemp("sites")
    with (
        internet(server, folder, {"www.example": SITE, "1.0.0.10.in-addr.arpa": SITE}) as asked,
        sandbox_of(server, network={"dns": [DNS]}) as sandbox,
    ):
        yield Asker(sandbox, asked)


def message(name: str = "www.example", *, flags: int = 0x0100, kind: int = 1, network: int = 1, extra: bytes = b"") -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    counts = b"\0\1" + b"\0\0" * 2 + (b"\0\1" if extra else b"\0\0")
    return b"\x12\x34" + flags.to_bytes(2) + counts + labels + b"\0" + kind.to_bytes(2) + network.to_bytes(2) + extra


def test_a_question_is_answered(asker: Asker) -> None:
    assert asker.ask(message()) == "0 1"


@pytest.mark.parametrize(
    ("name", "asked", "code"),
    [
        ("UPDATE", message(flags=0x2800), "4"),
        ("NOTIFY", message(flags=0x2000), "4"),
        ("AXFR", message("example", kind=252), "5"),
        ("IXFR", message("example", kind=251), "5"),
        ("CHAOS", message("version.bind", kind=16, network=3), "5"),
        ("private PTR", message("1.0.0.10.in-addr.arpa", kind=12), "3"),
        ("private PTR, as an address", message("1.0.0.10.in-addr.arpa"), "3"),
        ("two questions", message()[:5] + b"\2" + message()[6:] + message()[12:], "silence"),
        ("bytes behind it", message() + b"data to carry out", "silence"),
    ],
)
@pytest.mark.parametrize("way", ["udp", "tcp"])
def test_the_hosts_resolvers_hear_nothing_of(asker: Asker, name: str, asked: bytes, code: str, way: str) -> None:
    before = asker.upstream()
    assert asker.ask(asked, way).split()[0] == code, name
    assert asker.upstream() == before


def test_options_stay_behind(asker: Asker) -> None:
    """A cookie, a client's subnet, anything: 65 kB of what a guest likes, in a question that any resolver passes on."""
    secret = b"carry this out"
    option = (65001).to_bytes(2) + len(secret).to_bytes(2) + secret
    opt = b"\0" + (41).to_bytes(2) + (1232).to_bytes(2) + bytes(4) + len(option).to_bytes(2) + option
    assert asker.ask(message(extra=opt)) == "0 1"
    assert secret.hex() not in asker.upstream()[-1]
    assert asker.upstream()[-1].endswith((b"\0" + (41).to_bytes(2) + (1232).to_bytes(2) + bytes(6)).hex())


@contextmanager
def timed(limit_s: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < limit_s


def test_who_may_reach_nothing_is_told_so_at_once(server: Server) -> None:
    with sandbox_of(server, network={"internet": False}) as sandbox:
        said(sandbox, "true")
        # One that listens to answers alone, not to what the network says of its packets: some resolvers do.
        assert Asker(sandbox, Path("/dev/null")).ask(message()) == "5 0"
        with timed(AT_ONCE_S):
            assert sandbox.run("getent ahosts www.example").code == 2
        look = "import socket; socket.getaddrinfo('www.example', 80)"
        with timed(AT_ONCE_S):
            assert "gaierror" in sandbox.run(f'python3 -c "{look}"').stderr
        server.restart()
        again = server.roost.get(sandbox.id)
        with timed(AT_ONCE_S):
            assert again.run("getent ahosts www.example").code == 2


def test_a_sandbox_knows_its_own_name(server: Server) -> None:
    """Also without any network: programs that look themselves up would wait for it."""
    with sandbox_of(server, name="names-ada", network={"internet": False}) as sandbox:

        def knows(sandbox: Sandbox, name: str) -> None:
            assert said(sandbox, "hostname") == name
            with timed(AT_ONCE_S):
                assert said(sandbox, "getent hosts $(hostname)").split() == ["127.0.1.1", name]
                assert said(sandbox, "hostname -f") == name
            hosts = said(sandbox, "cat /etc/hosts")
            assert hosts.count("127.0.1.1") == 1 and "127.0.0.1 localhost" in " ".join(hosts.split())

        knows(sandbox, "names-ada")
        sandbox.pause()
        sandbox.resume()
        knows(sandbox, "names-ada")
        [child], _ = sandbox.fork()
        try:
            knows(child, child.id)
        finally:
            child.kill()
        sandbox.update(name="names-eve")
        knows(sandbox, "names-ada")  # a machine is not renamed under its programs: it wakes with the new name
        kept = sandbox.snapshot()
        sandbox.roll_back(kept.id)
        knows(sandbox, "names-eve")
