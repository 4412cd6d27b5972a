"""What the edge costs: the same agent, reached through it and directly at its address, in turns."""

from __future__ import annotations

import json
import math
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from bench.guest import guest_python
from bench.report import Figure
from bench.server import Bench
from roost.client.blocking.sandbox import Sandbox
from roost.domain.ids import AGENT_PORT

FILE_BYTES = 1 << 30
PIECE_BYTES = 1 << 20
TUNNELS = 500
SETTLE_S = 5.0  # the pool refills; not part of any figure

# The bars: what the edge may add to a small request, how long a file may take, what an idle tunnel may hold.
ADDED_P50_S, ADDED_P99_S = 0.0015, 0.004
API_P50_S, API_P99_S = 0.0005, 0.004
FILE_S = FILE_BYTES / 200e6
TUNNEL_BYTES = 40_000

SLOWER = 1.15  # where the sandbox itself does not reach the bar, so much slower than that

SINK = """
import socket
server = socket.create_server(("0.0.0.0", 8001))
print("ready", flush=True)
piece = bytearray(1 << 20)
while True:
    connection, _ = server.accept()
    got = b""
    while b"\\r\\n\\r\\n" not in got:
        got += connection.recv(65536)
    head, _, body = got.partition(b"\\r\\n\\r\\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\\r\\n")[1:])
    missing = int(fields[b"content-length"]) - len(body)
    while missing:
        missing -= connection.recv_into(piece) or missing
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: 0\\r\\n\\r\\n")
    connection.close()
"""

HOLDER = """
import asyncio
async def hold(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    writer.write(b"HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n")
    await reader.read()
async def main():
    async with await asyncio.start_server(hold, "0.0.0.0", 8000, backlog=1000) as server:
        print("ready", flush=True)
        await server.serve_forever()
asyncio.run(main())
"""


@dataclass(frozen=True, slots=True)
class Way:
    """One of the two ways to a sandbox's agent."""

    address: tuple[str, int]
    headers: dict[str, str]

    def head(self, method: str, target: str, **more: str) -> bytes:
        fields = {"Host": "localhost", **self.headers, **{name.replace("_", "-"): value for name, value in more.items()}}
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        return "\r\n".join(lines).encode()

    @contextmanager
    def connected(self) -> Iterator[socket.socket]:
        with socket.create_connection(self.address, timeout=60) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield connection


@dataclass(frozen=True, slots=True)
class Ways:
    edge: Way
    direct: Way


def measure(bench: Bench, *, quick: bool) -> list[Figure]:
    sandbox = bench.roost.create()
    time.sleep(SETTLE_S)
    try:
        ways = _ways(bench, sandbox)
        return [
            tunnels(bench, sandbox),  # first: later the server gives memory back that others took, and hides what these take
            *latency(ways, 500 if quick else 3000),
            *api_latency(bench, sandbox, 500 if quick else 3000),
            *transfer(bench, sandbox, ways, 1 if quick else 3),
            streaming(bench, sandbox, ways),
        ]
    finally:
        sandbox.kill()


def latency(ways: Ways, rounds: int) -> list[Figure]:
    with ways.edge.connected() as one, ways.direct.connected() as other:
        asked = ways.edge.head("GET", "/health"), ways.direct.head("GET", "/health")
        times = _in_turns((one, asked[0]), (other, asked[1]), rounds)
    return _added("GET /health", times, ADDED_P50_S, ADDED_P99_S)


def api_latency(bench: Bench, sandbox: Sandbox, rounds: int) -> list[Figure]:
    """The same call of the API through the edge, and at control's own socket."""
    way = Way(_server(bench), {"Authorization": f"Bearer {bench.roost.endpoint.key}"})
    asked = way.head("GET", f"/v1/sandboxes/{sandbox.id}")
    with way.connected() as one, socket.socket(socket.AF_UNIX) as other:
        other.connect(str(bench.settings.api_socket))
        times = _in_turns((one, asked), (other, asked), rounds)
    return _added("an API call", times, API_P50_S, API_P99_S)


def _in_turns(
    through: tuple[socket.socket, bytes], direct: tuple[socket.socket, bytes], rounds: int
) -> tuple[list[float], list[float]]:
    pairs = [(_small_request(*through), _small_request(*direct)) for _ in range(50 + rounds)][50:]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _added(what: str, times: tuple[list[float], list[float]], p50_s: float, p99_s: float) -> list[Figure]:
    figures = []
    for percent, bar_s in ((50, p50_s), (99, p99_s)):
        ours, theirs = _percentile(times[0], percent), _percentile(times[1], percent)
        added = max(ours - theirs, 0.0)
        note = f"{ours * 1000:.2f} ms through the edge, {theirs * 1000:.2f} ms directly"
        facts = {"edge_s": ours, "direct_s": theirs}
        figures.append(Figure(f"edge adds to {what}, p{percent}", [added], "at most", [bar_s], bar=1.0, note=note, facts=facts))
    return figures


def transfer(bench: Bench, sandbox: Sandbox, ways: Ways, rounds: int) -> list[Figure]:
    """A gigabyte each way, and once more to a service that drops it, where no disk is in the way. The server's memory must not
    grow with it. Where the sandbox alone is slower than the bar, it is the bar."""
    sandbox.run(f"head -c {FILE_BYTES} /dev/zero > /home/user/down.bin")
    process = sandbox.start([*guest_python(sandbox), "-c", SINK])
    next(iter(process))
    sink = Ways(
        Way(ways.edge.address, {**ways.edge.headers, "E2b-Sandbox-Port": "8001"}), Way((ways.direct.address[0], 8001), {})
    )
    figures = []
    for name, move, ends in (("download", _download, ways), ("upload", _upload, ways), ("upload, dropped,", _upload, sink)):
        through, direct = [], []
        before = _peak_bytes(bench.role("edge"), reset=True)
        for _ in range(rounds):
            through.append(move(ends.edge))
            direct.append(move(ends.direct))
        growth = _peak_bytes(bench.role("edge")) - before
        ours, theirs = (FILE_BYTES / min(taken) / 1e6 for taken in (through, direct))
        facts = {"edge_mb_s": ours, "direct_mb_s": theirs, "memory_growth_bytes": float(growth)}
        note = f"{ours:.0f} MB/s through the edge, {theirs:.0f} MB/s directly; memory grew {growth / 1e6:.1f} MB"
        is_slow = min(direct) > FILE_S
        peer, times = ("directly, which is below 200 MB/s", direct) if is_slow else ("200 MB/s", [FILE_S])
        bar = SLOWER if is_slow else 1.0
        figures.append(Figure(f"{name} of 1 GiB", through, peer, times, bar=bar, note=note, facts=facts))
    process.close()
    return figures


def tunnels(bench: Bench, sandbox: Sandbox) -> Figure:
    """What the server holds for a WebSocket on which nothing happens."""
    process = sandbox.start([*guest_python(sandbox), "-c", HOLDER])
    next(iter(process))
    way = Way(_server(bench), {"E2b-Sandbox-Id": sandbox.id, "E2b-Sandbox-Port": "8000"})
    held: list[socket.socket] = []

    def open_tunnels(count: int) -> None:
        for _ in range(count):
            connection = socket.create_connection(way.address, timeout=60)
            held.append(connection)
            connection.sendall(way.head("GET", "/", Connection="Upgrade", Upgrade="websocket"))
            assert connection.recv(4096).startswith(b"HTTP/1.1 101")

    try:
        open_tunnels(50)  # what the first ones cost is not the price of one more
        before = _resident_bytes(bench.role("edge"))
        open_tunnels(TUNNELS)
        each = (_resident_bytes(bench.role("edge")) - before) / TUNNELS
    finally:
        for connection in held:
            connection.close()
        process.close()
    note = f"{each / 1000:.1f} KB each, {TUNNEL_BYTES / 1000:.0f} KB allowed"
    # The report's unit is the second; a kilobyte is shown as a millisecond, and the name says so.
    name, allowed = f"{TUNNELS} idle tunnels (KB, not ms)", [TUNNEL_BYTES / 1e6]
    return Figure(name, [each / 1e6], "at most", allowed, bar=1.0, note=note, facts={"bytes_each": each})


def streaming(bench: Bench, sandbox: Sandbox, ways: Ways) -> Figure:
    """Three commands, each streamed to its end: one connection to the server, and one from there to the sandbox."""
    dialled: list[str] = []
    times = []

    def trace(event: str, _: object) -> None:
        if event == "connection.connect_tcp.complete":
            dialled.append(event)

    request = json.dumps({"process": {"cmd": "/bin/echo", "args": ["out"]}}).encode()
    headers = {**ways.edge.headers, "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}
    with httpx.Client(base_url=bench.roost.endpoint.url, timeout=60, trust_env=False) as client:
        for _ in range(3):
            started = time.perf_counter()
            with client.stream(
                "POST",
                "/process.Process/Start",
                headers=headers,
                content=struct.pack(">BI", 0, len(request)) + request,
                extensions={"trace": trace},
            ) as answer:
                assert b'"exited":true' in answer.read().replace(b" ", b""), answer.read()
            times.append(time.perf_counter() - started)
    upstream = sum(remote == (ways.direct.address[0], AGENT_PORT) for remote in _connections(bench.role("edge")))
    assert len(dialled) == 1, f"the client dialled {len(dialled)} times"
    note = f"{len(dialled)} connection to the edge, {upstream} open from there to the sandbox"
    return Figure("streamed command, three in a row", times, note=note, facts={"connections": float(len(dialled))})


def _ways(bench: Bench, sandbox: Sandbox) -> Ways:
    token = {"X-Access-Token": str(sandbox.tokens().access_token)}
    edge = Way(_server(bench), {"E2b-Sandbox-Id": sandbox.id, "E2b-Sandbox-Port": str(AGENT_PORT), **token})
    with edge.connected() as connection:
        _small_request(connection, edge.head("GET", "/health"))
        # The edge is connected to the sandbox now, and to others perhaps: the one that takes the token is it.
        for address, port in set(_connections(bench.role("edge"))):
            direct = Way((address, port), token)
            if port == AGENT_PORT and _takes(direct):
                return Ways(edge, direct)
    raise AssertionError("the edge has no connection to the sandbox")


def _takes(way: Way) -> bool:
    with way.connected() as connection:
        connection.sendall(way.head("GET", "/envs"))
        return connection.recv(4096).startswith(b"HTTP/1.1 200")


def _server(bench: Bench) -> tuple[str, int]:
    parts = urlsplit(bench.roost.endpoint.url)
    assert parts.hostname and parts.port
    return parts.hostname, parts.port


def _small_request(connection: socket.socket, head: bytes) -> float:
    started = time.perf_counter()
    connection.sendall(head)
    answer = connection.recv(65536)
    while (size := _size(answer)) is None or len(answer) < size:
        answer += connection.recv(65536)
    taken = time.perf_counter() - started
    assert answer.startswith(b"HTTP/1.1 20"), answer[:200]
    return taken


def _size(answer: bytes) -> int | None:
    """Of the whole answer, once its head is there."""
    head, end, _ = answer.partition(b"\r\n\r\n")
    if not end:
        return None
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    return len(head) + 4 + length


def _download(way: Way) -> float:
    buffer = bytearray(PIECE_BYTES)
    with way.connected() as connection:
        started = time.perf_counter()
        connection.sendall(way.head("GET", "/files?path=/home/user/down.bin", Accept_Encoding="identity"))
        answer = connection.recv(65536)
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65536)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        missing = FILE_BYTES - len(body)
        while missing > 0:
            taken = connection.recv_into(buffer)
            assert taken, "the download broke off"
            missing -= taken
        return time.perf_counter() - started


def _upload(way: Way) -> float:
    piece = bytes(PIECE_BYTES)
    with way.connected() as connection:
        started = time.perf_counter()
        connection.sendall(
            way.head(
                "POST",
                "/files?path=/home/user/up.bin",
                Content_Type="application/octet-stream",
                Content_Length=str(FILE_BYTES),
            )
        )
        for _ in range(FILE_BYTES // PIECE_BYTES):
            connection.sendall(piece)
        answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200"), answer
        return time.perf_counter() - started


def _connections(pid: int) -> list[tuple[str, int]]:
    """Whom the server is connected to."""
    found = []
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        _, _, remote, state = line.split()[:4]
        address, _, port = remote.partition(":")
        if state == "01":  # established
            found.append((str(IPv4Address(struct.pack("=I", int(address, 16)))), int(port, 16)))
    return found


def _resident_bytes(pid: int) -> int:
    return _status_bytes(pid, "VmRSS")


def _peak_bytes(pid: int, *, reset: bool = False) -> int:
    if reset:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    return _status_bytes(pid, "VmHWM")


def _status_bytes(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) << 10
    raise AssertionError(f"the kernel tells no {field} of {pid}")


def _percentile(values: list[float], percent: int) -> float:
    return sorted(values)[max(0, math.ceil(percent / 100 * len(values)) - 1)]
