"""The forwarder on loopback, against resolvers of the test's own."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream, UDPSocket

from roost.domain.egress import Egress
from roost.domain.errors import Fault
from roost.node.network.dns import IN_FLIGHT_OF_SLOT, Forwarder, ResolvConf, Resolver, parse_resolv_conf
from roost.node.network.dns_wire import failure, question_name

pytestmark = pytest.mark.anyio

Answer = Callable[[bytes], bytes | None]
PATIENCE_S = 60.0
NO_ERROR, SERVER_FAILED, NO_SUCH_NAME, NOT_IMPLEMENTED, REFUSED = 0, 2, 3, 4, 5


def query(name: str = "www.example", identity: bytes = b"\x12\x34") -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return identity + struct.pack(">HHHHH", 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)


def answered(asked: bytes, code: int = NO_ERROR, extra: bytes = b"") -> bytes:
    return asked[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, 0, 0, 0) + asked[12:] + extra


@asynccontextmanager
async def resolver(answer: Answer) -> AsyncIterator[Resolver]:
    """Answers by UDP and TCP at one port of loopback."""

    async def serve_datagrams(datagrams: UDPSocket) -> None:
        async for asked, source in datagrams:
            if (said := answer(asked)) is not None:
                await datagrams.sendto(said, *source)

    async def serve_stream(stream: SocketStream) -> None:
        async with stream:
            if (said := answer((await stream.receive())[2:])) is not None:
                await stream.send(struct.pack(">H", len(said)) + said)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with (
            await anyio.create_udp_socket(local_host="127.0.0.1", local_port=port) as datagrams,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(serve_datagrams, datagrams)
            tasks.start_soon(listener.serve, serve_stream)
            yield Resolver("127.0.0.1", port)
            tasks.cancel_scope.cancel()


def free_port() -> int:
    """A port that is free for both UDP and TCP."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as stream, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            try:
                datagrams.bind(stream.getsockname())
            except OSError:
                continue
            return stream.getsockname()[1]


@asynccontextmanager
async def forwarder(
    *resolvers: Resolver,
    slot: int | None = 7,
    seen: list[tuple[int, str]] | None = None,
    attempt_timeout_s: float = PATIENCE_S,
) -> AsyncIterator[int]:
    port = free_port()
    serving = Forwarder(
        listen=("127.0.0.1", port),
        resolvers=lambda: resolvers,
        slot_of=lambda source: slot if source == "127.0.0.1" else None,
        attempt_timeout_s=attempt_timeout_s,
        on_query=None if seen is None else lambda slot, name: seen.append((slot, name)),
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(serving.serve)
        yield port
        tasks.cancel_scope.cancel()


async def ask_datagram(port: int, asked: bytes) -> bytes:
    with anyio.fail_after(PATIENCE_S):
        async with await anyio.create_connected_udp_socket("127.0.0.1", port) as sock:
            await sock.send(asked)
            return await sock.receive()


async def ask_stream(port: int, *asked: bytes) -> list[bytes]:
    answers: list[bytes] = []
    with anyio.fail_after(PATIENCE_S):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            for message in asked:
                await stream.send(struct.pack(">H", len(message)) + message)
                received = await stream.receive()
                assert struct.unpack(">H", received[:2])[0] == len(received) - 2
                answers.append(received[2:])
    return answers


def code_of(answer: bytes) -> int:
    return answer[3] & 0x0F


async def test_an_answer_comes_back_with_the_id_of_the_question_and_is_asked_with_another() -> None:
    identities: set[bytes] = set()

    def answer(asked: bytes) -> bytes:
        identities.add(asked[:2])
        return answered(asked, extra=b"answer")

    seen: list[tuple[int, str]] = []
    async with resolver(answer) as host, forwarder(host, seen=seen) as port:
        asked = query("Www.Example")
        for _ in range(20):
            assert await ask_datagram(port, asked) == answered(asked, extra=b"answer")
        assert await ask_stream(port, asked, asked) == [answered(asked, extra=b"answer")] * 2
    assert len(identities) > 10
    assert seen == [(7, "www.example")] * 22


async def test_the_next_resolver_is_asked_when_one_refuses_fails_or_is_not_there() -> None:
    nobody = Resolver("127.0.0.1", free_port())
    async with (
        resolver(lambda asked: answered(asked, REFUSED)) as refusing,
        resolver(lambda asked: answered(asked, SERVER_FAILED)) as failing,
        resolver(lambda asked: answered(asked, extra=b"good")) as good,
        forwarder(nobody, refusing, failing, good) as port,
    ):
        assert await ask_datagram(port, query()) == answered(query(), extra=b"good")
        assert await ask_stream(port, query()) == [answered(query(), extra=b"good")]


async def test_a_refusal_is_passed_on_when_nobody_says_better() -> None:
    async with resolver(lambda asked: answered(asked, REFUSED)) as refusing, forwarder(refusing) as port:
        assert code_of(await ask_datagram(port, query())) == REFUSED


async def test_without_resolvers_the_answer_is_a_failure() -> None:
    async with forwarder() as port:
        assert await ask_datagram(port, query()) == failure(query(), SERVER_FAILED)
        assert await ask_stream(port, query()) == [failure(query(), SERVER_FAILED)]


async def test_an_answer_to_another_question_is_not_taken() -> None:
    def answer(asked: bytes) -> bytes:
        other = query("evil.example", asked[:2])
        return answered(other)

    async with (
        resolver(answer) as confused,
        resolver(lambda asked: answered(asked, extra=b"good")) as good,
        forwarder(confused, good, attempt_timeout_s=1.0) as port,
    ):
        assert await ask_datagram(port, query()) == answered(query(), extra=b"good")


async def test_strangers_get_no_answer_and_cost_no_question() -> None:
    asked_upstream: list[bytes] = []

    def answer(asked: bytes) -> bytes:
        asked_upstream.append(asked)
        return answered(asked)

    async with resolver(answer) as host, forwarder(host, slot=None) as port:
        with pytest.raises(anyio.EndOfStream):
            await ask_stream(port, query())
    assert not asked_upstream


async def test_rubbish_gets_no_answer() -> None:
    two_questions = query()[:4] + b"\0\2" + query()[6:] + query()[12:]
    async with resolver(answered) as host, forwarder(host) as port:
        async with await anyio.create_connected_udp_socket("127.0.0.1", port) as sock:
            for silent in (b"", b"short", answered(query()), query()[:-3], query() + b"behind", two_questions):
                await sock.send(silent)
            await sock.send(query("still.there"))
            with anyio.fail_after(PATIENCE_S):
                assert await sock.receive() == answered(query("still.there"))
        with pytest.raises(anyio.EndOfStream):
            await ask_stream(port, query() + b"behind")


def asking(name: str = "www.example", *, flags: int = 0x0100, kind: int = 1, network: int = 1, extras: bytes = b"") -> bytes:
    counts = struct.pack(">HHHHH", flags, 1, 0, 0, 1 if extras else 0)
    return b"\x12\x34" + counts + query(name)[12:-4] + struct.pack(">HH", kind, network) + extras


def options(*data: bytes, payload: int = 1232, flags: int = 0) -> bytes:
    return b"\0" + struct.pack(">HHIH", 41, payload, flags, len(b"".join(data))) + b"".join(data)


COOKIE = struct.pack(">HH", 10, 8) + b"carry me"


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (asking(flags=0x2800), NOT_IMPLEMENTED),  # UPDATE
        (asking(flags=0x2000), NOT_IMPLEMENTED),  # NOTIFY
        (asking(flags=0x1000), NOT_IMPLEMENTED),  # STATUS
        (asking(kind=252), REFUSED),  # AXFR
        (asking(kind=251), REFUSED),  # IXFR
        (asking(kind=249), REFUSED),  # TKEY
        (asking("version.bind", kind=16, network=3), REFUSED),  # CHAOS
        (asking(network=255), REFUSED),
        (asking("1.0.0.10.in-addr.arpa", kind=12), NO_SUCH_NAME),
        (asking("1.0.168.192.IN-ADDR.arpa", kind=12), NO_SUCH_NAME),
        (asking("254.169.in-addr.arpa", kind=2), NO_SUCH_NAME),
        (asking("1.0.0.127.in-addr.arpa", kind=255), NO_SUCH_NAME),
        (asking(".".join("1" + "0" * 31) + ".ip6.arpa", kind=12), NO_SUCH_NAME),
    ],
)
async def test_what_is_no_question_about_the_internet_is_answered_here(asked: bytes, code: int) -> None:
    asked_upstream: list[bytes] = []

    def answer(asked: bytes) -> bytes:
        asked_upstream.append(asked)
        return answered(asked)

    async with resolver(answer) as host, forwarder(host) as port:
        for said in (await ask_datagram(port, asked), *await ask_stream(port, asked)):
            assert (said[:2], code_of(said)) == (asked[:2], code)
    assert not asked_upstream


@pytest.mark.parametrize(
    ("asked", "passed"),
    [
        (asking(extras=options(COOKIE)), asking(extras=options())),
        (asking(extras=options(flags=0x8000)), asking(extras=options(flags=0x8000))),  # DNSSEC
        (asking(extras=options(payload=65535, flags=0x01FF0000)), asking(extras=options(payload=4096))),
        (asking(extras=options(payload=1)), asking(extras=options(payload=512))),
        (asking(flags=0x07F0), asking(flags=0x0130)),  # bits that mean nothing, and those that do
        (asking("8.8.8.8.in-addr.arpa", kind=12), asking("8.8.8.8.in-addr.arpa", kind=12)),
        (asking(extras=b"\1x\0" + struct.pack(">HHIH", 250, 255, 0, 3) + b"key"), asking()),  # a signature
    ],
)
async def test_a_question_is_asked_in_our_own_words(asked: bytes, passed: bytes) -> None:
    asked_upstream: list[bytes] = []

    def answer(asked: bytes) -> bytes:
        asked_upstream.append(asked)
        return answered(asked[:12] + asked[12:][: len(passed) - 12])

    async with resolver(answer) as host, forwarder(host) as port:
        await ask_datagram(port, asked)
        await ask_stream(port, asked)
    assert [each[2:] for each in asked_upstream] == [passed[2:]] * 2


async def test_who_may_reach_nothing_is_refused_at_once() -> None:
    port = free_port()
    nothing = Forwarder(
        listen=("127.0.0.1", port),
        resolvers=lambda: (Resolver("127.0.0.1", free_port()),),
        slot_of=lambda source: 7,
        egress_of=lambda slot: Egress(internet=False),
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(nothing.serve)
        assert code_of(await ask_datagram(port, query())) == REFUSED
        assert code_of((await ask_stream(port, query()))[0]) == REFUSED
        tasks.cancel_scope.cancel()


async def test_connections_cut_short_do_no_harm() -> None:
    async with resolver(answered) as host, forwarder(host) as port:
        for sent in (b"", b"\0", b"\0\xff" + query()) * 10:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # ends with a reset
                connection.sendall(sent)
        assert await ask_stream(port, query()) == [answered(query())]


async def test_a_hook_that_fails_costs_one_answer_alone() -> None:
    def hook(slot: int, name: str) -> None:
        if name == "bad.example":
            raise ValueError(name)

    port = free_port()
    async with resolver(answered) as host, anyio.create_task_group() as tasks:
        serving = Forwarder(listen=("127.0.0.1", port), resolvers=lambda: (host,), slot_of=lambda source: 1, on_query=hook)
        await tasks.start(serving.serve)
        with pytest.raises(anyio.EndOfStream):
            await ask_stream(port, query("bad.example"))
        assert await ask_datagram(port, query("good.example")) == answered(query("good.example"))
        tasks.cancel_scope.cancel()


async def test_one_slot_has_a_bounded_number_of_questions_in_flight() -> None:
    arrived = 0

    def swallow(asked: bytes) -> None:
        nonlocal arrived
        arrived += 1

    async with (
        resolver(swallow) as mute,
        forwarder(mute) as port,
        await anyio.create_connected_udp_socket("127.0.0.1", port) as sock,
    ):
        for n in range(IN_FLIGHT_OF_SLOT + 1):
            await sock.send(query(identity=struct.pack(">H", n)))
        with anyio.fail_after(PATIENCE_S):
            refused = await sock.receive()
        assert refused == failure(query(identity=struct.pack(">H", IN_FLIGHT_OF_SLOT)), SERVER_FAILED)
    assert arrived <= IN_FLIGHT_OF_SLOT


async def test_a_port_in_use_is_named_in_the_error() -> None:
    async with forwarder() as port:
        other = Forwarder(listen=("127.0.0.1", port), resolvers=lambda: (), slot_of=lambda source: 1)
        with pytest.raises(Fault, match=f"cannot listen at 127.0.0.1 port {port}"):
            await other.serve()


async def test_a_restarted_forwarder_binds_again() -> None:
    port = free_port()
    for _ in range(2):
        serving = Forwarder(listen=("127.0.0.1", port), resolvers=lambda: (), slot_of=lambda source: 1)
        async with anyio.create_task_group() as tasks:
            await tasks.start(serving.serve)
            assert await ask_stream(port, query()) == [failure(query(), SERVER_FAILED)]
            tasks.cancel_scope.cancel()


def test_resolv_conf_is_read_as_the_c_library_reads_it() -> None:
    text = "# comment\nsearch example\nnameserver 10.0.0.53\nnameserver\nnameserver nonsense\n nameserver fe80::1%eth0 # x\n"
    assert parse_resolv_conf(text) == (Resolver("10.0.0.53"), Resolver("fe80::1%eth0"))


def test_resolv_conf_is_read_again_when_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    conf = ResolvConf(path)
    assert conf.resolvers() == ()
    path.write_text("nameserver 192.0.2.1\n")
    assert conf.resolvers() == (Resolver("192.0.2.1"),)
    replacement = tmp_path / "new"
    replacement.write_text("nameserver 192.0.2.2\n")
    replacement.rename(path)
    assert conf.resolvers() == (Resolver("192.0.2.2"),)
    path.unlink()
    assert conf.resolvers() == ()


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (query("A.b.Example"), "a.b.example"),
        (query("x")[:12] + b"\0\0\1\0\1", ""),
        (query()[:-1], None),
        (query()[:12] + b"\xc0\x0c\0\1\0\1", None),
        (query()[:12] + b"\x3fshort", None),
        (
            query()[:12] + b"\x3f" + b"a" * 63 + b"\x3f" + b"b" * 63 + b"\x3f" + b"c" * 63 + b"\x3f" + b"d" * 63 + b"\0\0\1\0\1",
            None,
        ),
        (query()[:4] + b"\0\2" + query()[6:], None),
        (b"\0" * 11, None),
        (query()[:12] + b"\x05a.b.c\x03com\0\0\1\0\1", "a\\.b\\.c.com"),  # not the name a.b.c.com
    ],
)
def test_names_of_questions(message: bytes, name: str | None) -> None:
    assert question_name(message) == name
