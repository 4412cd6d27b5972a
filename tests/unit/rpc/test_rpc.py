"""Calls between two processes' worth of sockets: real ones, both ends in this process."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
import structlog

from roost.domain.errors import Conflict, Fault, Invalid, NodeFull, NotFound, SnapshotNotFound
from roost.rpc import frames
from roost.rpc.client import TRIES, Client
from roost.rpc.failures import PeerLost, pack_failure, unpack_failure
from roost.rpc.frames import Kind
from roost.rpc.method import Method
from roost.rpc.server import Service, serve
from roost.rpc.sockets import listening_unix
from roost.telemetry.operation import operation

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class Sum:
    numbers: tuple[int, ...]
    secret: str = field(default="", repr=False)


ADD: Method[Sum, int] = Method("add", Sum, int, repeatable=True)
HOLD: Method[str, str] = Method("hold", str, str)
HOLD_AGAIN: Method[str, str] = Method("hold again", str, str, repeatable=True)
FAIL: Method[str, None] = Method("fail", str, None)
COUNT: Method[int, int] = Method("count", int, int)
READ: Method[int, bytes] = Method("read", int, bytes)
TELL: Method[str, None] = Method("tell", str, None)
MISSING: Method[str, str] = Method("missing", str, str)


class Peer:
    """A process that answers, and can be ended and started again behind the same socket."""

    def __init__(self, door: socket.socket, tasks: anyio.abc.TaskGroup, build: str) -> None:
        self._door = door
        self._tasks = tasks
        self._life: anyio.CancelScope | None = None
        self.build = build
        self.begun = asyncio.Event()
        self.release = asyncio.Event()
        self.cancelled: list[str] = []
        self.finished: list[str] = []
        self.told: list[str] = []
        self.counted: list[int] = []
        self.spans: list[object] = []

    def service(self) -> Service:
        service = Service(build=self.build)
        service.on_call(ADD, self.add)
        service.on_call(HOLD, self.hold)
        service.on_call(HOLD_AGAIN, self.hold)
        service.on_call(FAIL, self.fail)
        service.on_stream(COUNT, self.count)
        service.on_stream(READ, self.read)
        service.on_notice(TELL, self.told.append)
        return service

    async def start(self) -> None:
        ready = asyncio.Event()

        async def live() -> None:
            with anyio.CancelScope() as self._life:
                ready.set()
                await serve(self.service(), self._door)

        self._tasks.start_soon(live)
        await ready.wait()

    async def end(self) -> None:
        assert self._life is not None
        self._life.cancel()
        await asyncio.sleep(0)

    async def add(self, sum_: Sum) -> int:
        self.spans.append(structlog.contextvars.get_contextvars().get("span"))
        return sum(sum_.numbers)

    async def hold(self, word: str) -> str:
        self.begun.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled.append(word)
            if word == "stubborn":
                return "done all the same"
            raise
        self.finished.append(word)
        return word

    async def fail(self, how: str) -> None:
        if how == "bug":
            raise ZeroDivisionError("a secret detail")
        raise NodeFull("memory", "2 GB", "1 GB")

    async def count(self, to: int) -> AsyncIterator[int]:
        try:
            for number in range(to):
                self.counted.append(number)
                yield number
            if to == 7:
                raise SnapshotNotFound("seven")
        finally:
            self.finished.append(f"count to {to}")

    async def read(self, size: int) -> AsyncIterator[bytes]:
        for _ in range(size):
            yield os.urandom(1) * (1 << 20)


@dataclass
class Pair:
    client: Client
    peer: Peer
    path: Path
    tasks: anyio.abc.TaskGroup


@asynccontextmanager
async def pair_of(path: Path, *, patience_s: float = 10.0) -> AsyncIterator[Pair]:
    with listening_unix(path) as door:
        async with anyio.create_task_group() as tasks:
            peer = Peer(door, tasks, "1")
            await peer.start()
            client = Client(path, peer="node", build="1", patience_s=patience_s)
            await tasks.start(client.run)
            with anyio.fail_after(30):
                yield Pair(client, peer, path, tasks)
            tasks.cancel_scope.cancel()


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with pair_of(tmp_path / "peer.sock") as pair:
        yield pair


async def test_a_question_is_answered(pair: Pair) -> None:
    assert await pair.client.call(ADD, Sum((1, 2, 3))) == 6


async def test_many_are_under_way_on_one_connection(pair: Pair) -> None:
    answers: dict[int, int] = {}

    async def ask(number: int) -> None:
        answers[number] = await pair.client.call(ADD, Sum((number, 1)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pair.client.call, HOLD, "slow")
        await pair.peer.begun.wait()
        async with anyio.create_task_group() as quick:
            for number in range(200):
                quick.start_soon(ask, number)
        assert answers == {number: number + 1 for number in range(200)}
        pair.peer.release.set()


async def test_errors_keep_class_code_message_and_facts(pair: Pair) -> None:
    with pytest.raises(NodeFull) as told:
        await pair.client.call(FAIL, "full")
    original = NodeFull("memory", "2 GB", "1 GB")
    assert (told.value.code, told.value.message, told.value.facts) == (original.code, original.message, original.facts)


async def test_a_bug_is_a_fault_without_its_details(pair: Pair) -> None:
    with pytest.raises(Fault) as told:
        await pair.client.call(FAIL, "bug")
    assert "secret" not in told.value.message and await pair.client.call(ADD, Sum((1,))) == 1


async def test_a_method_that_is_not_there_is_a_fault(pair: Pair) -> None:
    with pytest.raises(Fault):
        await pair.client.call(MISSING, "")


async def test_what_does_not_fit_the_type_is_refused_without_its_value(pair: Pair) -> None:
    wrong: Method[str, int] = Method("add", str, int)
    with pytest.raises(Fault) as told:
        await pair.client.call(wrong, "a-secret-token")
    assert told.value.code == "message_invalid" and "a-secret-token" not in told.value.message


async def test_half_a_character_is_refused_before_it_is_sent(pair: Pair) -> None:
    with pytest.raises(Invalid):
        await pair.client.call(HOLD, "\udc80")


async def test_of_an_unknown_class_the_nearest_known_one_is_raised() -> None:
    class NotHere(NotFound):
        pass

    error = NotHere("not_here", "It is not here.")
    error.facts = {"code": 1, "message": 2}
    packed = pack_failure(error)
    assert isinstance(unpack_failure(packed), NotHere)
    elsewhere = unpack_failure(packed.replace(b'"NotHere"', b'"Elsewhere"'))
    assert type(elsewhere) is NotFound and elsewhere.facts == {"code": 1, "message": 2}


async def test_a_cancelled_call_is_cancelled_on_the_other_side_before_it_returns(pair: Pair) -> None:
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pair.client.call, HOLD, "word")
            await pair.peer.begun.wait()
            scope.cancel()
    assert pair.peer.cancelled == ["word"] and pair.peer.finished == []


async def test_an_answer_that_could_not_be_cancelled_any_more_is_returned(pair: Pair) -> None:
    answers: list[str] = []

    async def ask() -> None:
        answers.append(await pair.client.call(HOLD, "stubborn"))

    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await pair.peer.begun.wait()
            scope.cancel()
    assert answers == ["done all the same"]


async def test_a_stream_comes_in_order_and_ends(pair: Pair) -> None:
    assert [number async for number in pair.client.stream(COUNT, 200)] == list(range(200))


async def test_a_stream_that_fails_tells_how_after_what_it_had(pair: Pair) -> None:
    numbers: list[int] = []
    with pytest.raises(SnapshotNotFound):
        async for number in pair.client.stream(COUNT, 7):
            numbers.append(number)
    assert numbers == list(range(7))


async def test_a_slow_reader_holds_the_writer_and_nobody_else(pair: Pair) -> None:
    async with aclosing(pair.client.stream(COUNT, 1_000_000)) as numbers:
        assert await anext(numbers) == 0
        for _ in range(20):
            assert await pair.client.call(ADD, Sum((1,))) == 1
        assert len(pair.peer.counted) <= 2 * frames.WINDOW
    await pair.client.call(ADD, Sum((1,)))
    assert pair.peer.finished == ["count to 1000000"], "it ended with its reader"


async def test_many_megabytes_pass_as_a_stream_beside_calls(pair: Pair) -> None:
    size = 0
    async for chunk in pair.client.stream(READ, 64):
        size += len(chunk)
        assert await pair.client.call(ADD, Sum((1,))) == 1
    assert size == 64 << 20


async def test_an_answer_that_is_too_large_is_refused_in_words(pair: Pair) -> None:
    with pytest.raises(Fault) as told:
        await pair.client.call(HOLD, "x" * (frames.MOST_BYTES + 1))
    assert told.value.code == "message_too_large"


async def test_notices_arrive_in_order_before_what_is_asked_after_them(pair: Pair) -> None:
    for number in range(100):
        assert pair.client.notify(TELL, str(number))
    await pair.client.call(ADD, Sum((1,)))
    assert pair.peer.told == [str(number) for number in range(100)]


async def test_lines_logged_for_a_call_carry_its_span(pair: Pair) -> None:
    async with operation("create") as span:
        await pair.client.call(ADD, Sum((1,)))
    await pair.client.call(ADD, Sum((1,)))
    assert pair.peer.spans == [span.id, None]


async def test_a_peer_that_ends_ends_what_cannot_be_repeated_at_once(pair: Pair) -> None:
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            with pytest.raises(PeerLost):
                await pair.client.call(HOLD, "word")

        tasks.start_soon(ask)
        await pair.peer.begun.wait()
        await pair.peer.end()


async def test_what_can_be_repeated_is_asked_again_of_the_next_process(pair: Pair) -> None:
    answers: list[str] = []
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            answers.append(await pair.client.call(HOLD_AGAIN, "word"))

        tasks.start_soon(ask)
        await pair.peer.begun.wait()
        await pair.peer.end()
        pair.peer.release.set()
        await pair.peer.start()
    assert answers == ["word"] and pair.peer.cancelled == ["word"]


async def test_a_call_that_ends_its_process_again_and_again_ends_in_an_error(pair: Pair) -> None:
    lives = 0

    async def die() -> None:
        nonlocal lives
        while True:
            await pair.peer.begun.wait()
            pair.peer.begun.clear()
            lives += 1
            await pair.peer.end()
            await pair.peer.start()

    pair.tasks.start_soon(die)
    with pytest.raises(PeerLost) as told:
        await pair.client.call(HOLD_AGAIN, "poison")
    assert lives == TRIES and f"{TRIES} times" in told.value.message


async def test_a_stream_ends_with_its_process_and_can_be_asked_for_again(pair: Pair) -> None:
    with pytest.raises(PeerLost):
        async for number in pair.client.stream(COUNT, 1_000_000):
            if number == 10:
                await pair.peer.end()
    await pair.peer.start()
    assert [number async for number in pair.client.stream(COUNT, 3)] == [0, 1, 2]


async def test_a_call_that_was_begun_outlives_whoever_asked(tmp_path: Path) -> None:
    async with pair_of(tmp_path / "peer.sock") as pair:
        other = Client(pair.path, peer="node", build="1")
        call = asyncio.ensure_future(other.call(HOLD, "word"))
        async with anyio.create_task_group() as tasks:
            await tasks.start(other.run)
            await pair.peer.begun.wait()
            tasks.cancel_scope.cancel()  # its connection ends, as when its process is killed
        with pytest.raises(PeerLost):
            await call
        assert pair.peer.cancelled == []
        pair.peer.release.set()
        await pair.client.call(ADD, Sum((1,)))
        assert pair.peer.finished == ["word"]


async def test_nobody_waits_longer_than_the_patience_for_a_process(tmp_path: Path) -> None:
    async with pair_of(tmp_path / "peer.sock", patience_s=0.05) as pair:
        await pair.peer.end()
        with pytest.raises(PeerLost):
            while True:
                await pair.client.call(ADD, Sum((1,)))


async def test_what_must_be_asked_of_the_process_that_is_there_now_waits_for_no_other(pair: Pair) -> None:
    assert await pair.client.call(ADD, Sum((1,)), waits=False) == 1
    await pair.peer.end()
    with pytest.raises(PeerLost):
        while True:  # until its end is heard of
            await pair.client.call(HOLD, "word", waits=False)


async def test_another_build_is_refused_in_words(pair: Pair) -> None:
    other = Client(pair.path, peer="node", build="2")
    with pytest.raises(ExceptionGroup) as told:
        async with anyio.create_task_group() as tasks:
            await tasks.start(other.run)
    assert told.group_contains(Conflict, match=r"roost down")


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n" * 100,
        struct.pack(">IBQ", 0xFFFFFFFF, 2, 1),
        frames.pack(Kind.CALL, 1, b"{}"),
        frames.pack(Kind.HELLO, 0, b"\xff" * 100),
        frames.pack_json(Kind.HELLO, 0, {"build": "1"}) + frames.pack(Kind.CALL, 1, b"[]\n"),
        frames.pack_json(Kind.HELLO, 0, {"build": "1"}) + frames.pack(Kind.RESULT, 1),
        frames.pack_json(Kind.HELLO, 0, {"build": "1"}) + struct.pack(">IBQ", 1, 99, 1) + b"x",
        frames.pack_json(Kind.HELLO, 0, {"build": "1"}) + 2 * frames.pack(Kind.CALL, 1, b'{"method":"hold"}\n"a"'),
    ],
)
async def test_garbage_ends_its_own_connection_only(pair: Pair, garbage: bytes) -> None:
    reader, writer = await asyncio.open_unix_connection(pair.path)
    writer.write(garbage)
    await reader.read()  # to its end
    writer.close()
    assert await pair.client.call(ADD, Sum((1, 1))) == 2


async def test_the_socket_is_its_users_alone_and_replaces_what_a_killed_process_left(tmp_path: Path) -> None:
    path = tmp_path / "peer.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with listening_unix(path):
        assert path.stat().st_mode & 0o777 == 0o600
    assert not path.exists()
