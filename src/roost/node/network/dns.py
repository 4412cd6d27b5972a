"""The node's DNS forwarder: what guests ask at their gateway arrives here and is asked of the host's resolvers.

Guests cannot reach the host's resolvers themselves: those have private or loopback addresses, which are closed to
guests. Resolvers trust who asks by the address, and here that is the host's: so a question is asked in our own words, and
what is more than a question (updates, zone transfers, options) is not passed on at all. Each is asked with a fresh id, on
a socket of its own, so that no guest can guess what an answer to another has to look like. Answers are passed on as they are.
A question comes by UDP and is asked by UDP; an answer too long for that says so, and the guest asks again by TCP, which is
asked by TCP.

What a guest can take of it is bounded: questions in flight and connections, for each slot and for all together.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import anyio
import structlog
from anyio.abc import Listener, SocketAttribute, SocketStream, TaskGroup, TaskStatus
from anyio.streams.buffered import BufferedByteReceiveStream

from roost.domain.egress import Egress, may_ask
from roost.domain.errors import Fault
from roost.domain.reverse import is_private_reverse
from roost.node.network.dns_wire import (
    HTTPS,
    NO_SUCH_NAME,
    NOT_IMPLEMENTED,
    REFUSED,
    SERVER_FAILED,
    SERVICE,
    DnsQuery,
    answers,
    asked_again,
    failure,
    is_helpful,
    is_other_operation,
    is_query,
    read_query,
)

DNS_PORT = 53
LARGEST_MESSAGE_BYTES = 65535
ATTEMPT_TIMEOUT_S = 2.0
ROUNDS = 4  # over all resolvers, while there is time: a lost packet is no reason to fail
ANSWER_TIMEOUT_S = 8.0
IDLE_CONNECTION_S = 10.0
ACCEPT_AGAIN_S = 1.0  # when the process has run out of file descriptors
IN_FLIGHT_OF_SLOT = 64
IN_FLIGHT = 2048

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Resolver:
    host: str
    port: int = DNS_PORT


Resolvers = Callable[[], Sequence[Resolver]]
SlotOf = Callable[[str], int | None]
QuerySeen = Callable[[int, str], None]
"""Told the slot and the name of every question. Must not raise or block."""
EgressOf = Callable[[int], Egress | None]
"""What the sandbox in a slot may reach, if it is known: which names it may ask for, and whom."""


class ResolvConf:
    """The resolvers that the host uses, read anew whenever the file has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._resolvers: tuple[Resolver, ...] = ()

    def resolvers(self) -> tuple[Resolver, ...]:
        """In the file's order; none if there is no file."""
        try:
            status = self._path.stat()
            seen = (status.st_ino, status.st_mtime_ns, status.st_size)
            if seen != self._seen:
                self._resolvers = parse_resolv_conf(self._path.read_text(errors="replace"))
                self._seen = seen
        except OSError:
            self._seen, self._resolvers = None, ()
        return self._resolvers


def parse_resolv_conf(text: str) -> tuple[Resolver, ...]:
    """The nameservers of a resolv.conf, in order. Other lines are passed over, as the C library does."""
    found: list[Resolver] = []
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == "nameserver":
            try:
                ip_address(words[1].partition("%")[0])
            except ValueError:
                continue
            found.append(Resolver(words[1]))
    return tuple(found)


class Forwarder:
    """Serves DNS at one address, by UDP and TCP, to those whose address `slot_of` knows; others get no answer."""

    def __init__(
        self,
        *,
        listen: tuple[str, int],
        resolvers: Resolvers,
        slot_of: SlotOf,
        egress_of: EgressOf = lambda _: None,
        on_query: QuerySeen | None = None,
        attempt_timeout_s: float = ATTEMPT_TIMEOUT_S,
    ) -> None:
        self._listen = listen
        self._resolvers = resolvers
        self._slot_of = slot_of
        self._egress_of = egress_of
        self._on_query = on_query
        self._attempt_timeout_s = attempt_timeout_s
        self._in_flight: Counter[int] = Counter()

    async def serve(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serves until cancelled. Started once both sockets are bound; raises Fault if they cannot be."""
        host, port = self._listen
        try:
            listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
            datagrams = _bound_datagrams(host, port)
        except OSError as error:
            raise Fault(
                "dns_not_bound",
                f"The node's DNS forwarder cannot listen at {host} port {port}: {error.strerror}."
                " See what else listens there (`ss -lnp`), or give Roost another DNS port in its settings.",
                address=host,
                port=port,
            ) from error
        with datagrams:
            async with listener, anyio.create_task_group() as tasks:
                tasks.start_soon(self._serve_datagrams, datagrams, tasks)
                tasks.start_soon(self._serve_connections, listener, tasks)
                task_status.started()

    async def _serve_datagrams(self, datagrams: socket.socket, tasks: TaskGroup) -> None:
        while True:
            await anyio.wait_readable(datagrams)
            try:
                query, source = datagrams.recvfrom(LARGEST_MESSAGE_BYTES)
            except OSError:
                continue  # nothing there after all, or an answer of ours that could not be delivered
            slot = self._slot_of(source[0])
            if slot is None or not is_query(query):
                continue
            if self._is_full(slot):
                _send(datagrams, failure(query, SERVER_FAILED), source)
            else:
                tasks.start_soon(self._answer_datagram, datagrams, query, slot, source)

    async def _answer_datagram(self, datagrams: socket.socket, query: bytes, slot: int, source: tuple[str, int]) -> None:
        with self._counted(slot), _contained(slot):
            answer = await self._answer(query, slot, ask_by_datagram)
            if answer is not None:
                _send(datagrams, answer, source)

    async def _serve_connections(self, listener: Listener[SocketStream], tasks: TaskGroup) -> None:
        async def serve(stream: SocketStream) -> None:
            async with stream:
                slot = self._slot_of(_remote_host(stream))
                if slot is None or self._is_full(slot):
                    return
                with self._counted(slot), _contained(slot):
                    await self._answer_connection(stream, slot)

        while True:
            try:
                await listener.serve(serve, task_group=tasks)
            except* OSError as failures:
                log.error("DNS by TCP rests: connections cannot be accepted", reason=str(failures.exceptions[0]))
            await anyio.sleep(ACCEPT_AGAIN_S)

    async def _answer_connection(self, stream: SocketStream, slot: int) -> None:
        incoming = BufferedByteReceiveStream(stream)
        try:
            while True:
                with anyio.fail_after(IDLE_CONNECTION_S):
                    query = await _read_message(incoming)
                if not is_query(query):
                    return
                answer = await self._answer(query, slot, ask_by_stream)
                if answer is None:
                    return
                with anyio.fail_after(IDLE_CONNECTION_S):
                    await stream.send(struct.pack(">H", len(answer)) + answer)
        except (TimeoutError, anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError):
            return  # the guest is done, or gone

    async def _answer(self, message: bytes, slot: int, ask: Ask) -> bytes | None:
        """None for what makes no sense: it gets no answer."""
        if is_other_operation(message):
            return failure(message, NOT_IMPLEMENTED)
        query = read_query(message)
        if query is None:
            return None
        if self._on_query is not None:
            self._on_query(slot, query.name)
        egress = self._egress_of(slot)
        code = answered_here(query, egress)
        if code is not None:
            return failure(message, code)
        resolvers = resolvers_for(egress, self._resolvers)
        answer = await ask_in_turn(resolvers, asked_again(query, secrets.token_bytes(2)), ask, self._attempt_timeout_s)
        return failure(message, SERVER_FAILED) if answer is None else message[:2] + answer[2:]

    def _is_full(self, slot: int) -> bool:
        return self._in_flight[slot] >= IN_FLIGHT_OF_SLOT or self._in_flight.total() >= IN_FLIGHT

    @contextmanager
    def _counted(self, slot: int) -> Iterator[None]:
        self._in_flight[slot] += 1
        try:
            yield
        finally:
            self._in_flight[slot] -= 1
            if not self._in_flight[slot]:
                del self._in_flight[slot]


Ask = Callable[[Resolver, bytes], Awaitable[bytes]]


def answered_here(query: DnsQuery, egress: Egress | None) -> int | None:
    """What is answered without asking anybody; None if it is to be asked. `egress` is None where it is not known to be
    limited."""
    if not query.asks_for_data or (egress is not None and not may_ask(egress, query.name)):
        return REFUSED
    if is_private_reverse(query.name):
        return NO_SUCH_NAME
    if egress is not None and egress.gated and query.kind in (SERVICE, HTTPS):
        return 0  # there is no such record: it would have the guest hide the name it wants from the gate
    return None


def resolvers_for(egress: Egress | None, otherwise: Resolvers) -> Sequence[Resolver]:
    """Those that the sandbox's owner named, else the host's."""
    return [Resolver(server) for server in egress.dns] if egress is not None and egress.dns else otherwise()


async def ask_in_turn(resolvers: Sequence[Resolver], asked: bytes, ask: Ask, attempt_timeout_s: float) -> bytes | None:
    """The first answer that is one, None if there is none in time. A resolver that fails or refuses is heard only if no
    other says better."""
    second_best: bytes | None = None
    with anyio.move_on_after(ANSWER_TIMEOUT_S):
        for _ in range(ROUNDS):
            for resolver in resolvers:
                with anyio.move_on_after(attempt_timeout_s):
                    try:
                        answer = await ask(resolver, asked)
                    except (OSError, anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                        continue
                    if is_helpful(answer):
                        return answer
                    second_best = answer
            if second_best is not None:
                break
    return second_best


async def ask_by_datagram(resolver: Resolver, asked: bytes) -> bytes:
    """The resolver's answer by UDP. Raises OSError when nobody listens there; waits for ever when nobody answers."""
    with socket.socket(_family(resolver), socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sock:
        sock.connect((resolver.host, resolver.port))
        sock.send(asked)
        while True:
            await anyio.wait_readable(sock)
            answer = sock.recv(LARGEST_MESSAGE_BYTES)
            if answers(asked, answer):
                return answer


async def ask_by_stream(resolver: Resolver, asked: bytes) -> bytes:
    """The resolver's answer by TCP. Raises OSError, EndOfStream or IncompleteRead when it gives none."""
    async with await anyio.connect_tcp(resolver.host, resolver.port) as stream:
        await stream.send(struct.pack(">H", len(asked)) + asked)
        incoming = BufferedByteReceiveStream(stream)
        while True:
            answer = await _read_message(incoming)
            if answers(asked, answer):
                return answer


async def _read_message(incoming: BufferedByteReceiveStream) -> bytes:
    (length,) = struct.unpack(">H", await incoming.receive_exactly(2))
    return await incoming.receive_exactly(length)


def _bound_datagrams(host: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    try:
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock


@contextmanager
def _contained(slot: int) -> Iterator[None]:
    """The outermost frame of one guest's question: whatever goes wrong with it, the others are served."""
    try:
        yield
    except Exception:
        log.exception("a DNS question could not be dealt with", slot=slot)


def _remote_host(stream: SocketStream) -> str:
    """Empty when the other end is gone already."""
    try:
        return str(stream.extra(SocketAttribute.remote_address)[0])
    except (OSError, anyio.TypedAttributeLookupError):
        return ""


def _send(datagrams: socket.socket, answer: bytes, to: tuple[str, int]) -> None:
    try:
        datagrams.sendto(answer, to)
    except OSError as error:
        # Datagrams may be lost, and the guest asks again; one that never gets through is worth a look.
        log.debug("a DNS answer could not be sent", to=to[0], reason=os.strerror(error.errno or 0))


def _family(resolver: Resolver) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in resolver.host else socket.AF_INET
