"""Control, or the edge, is killed with -9 while sandboxes are used. What passes through the edge does not notice control's end;
the edge's own end costs its connections, and nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
from websockets.sync.client import ClientConnection, connect

from roost.client import Sandbox
from roost.client.agent import AGENT_PORT
from tests.chaos.subjects import Subject
from tests.real.server import Server, eventually, said

PATIENCE_S = 120.0
PORT = 8150
DOWNLOAD_BYTES = 24 << 20

# Sends what its name says it does, for about eight seconds; echoes what comes in by a WebSocket.
_SERVICE = f"""
import asyncio, base64, hashlib

async def serve(reader, writer):
    head = (await reader.readuntil(b"\\r\\n\\r\\n")).decode()
    if "Upgrade" in head:
        key = next(line.split(": ", 1)[1] for line in head.split("\\r\\n") if line.lower().startswith("sec-websocket-key"))
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        fields = "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: " + accept
        writer.write("\\r\\n".join(["HTTP/1.1 101 Switching Protocols", *fields, "", ""]).encode())
        while (first := (await reader.readexactly(2))) and first[0] & 15 != 8:
            mask = await reader.readexactly(4)
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(await reader.readexactly(first[1] & 127)))
            writer.write(bytes([first[0], len(data)]) + data)
    else:
        writer.write(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: {DOWNLOAD_BYTES}\\r\\n\\r\\n")
        for number in range({DOWNLOAD_BYTES} >> 16):
            writer.write(number.to_bytes(4, "big") * (1 << 14))
            await writer.drain()
            await asyncio.sleep(0.02)
    writer.close()

async def main():
    async with await asyncio.start_server(serve, "0.0.0.0", {PORT}) as server:
        print("ready", flush=True)
        await server.serve_forever()

asyncio.run(main())
"""
COUNT = 80
_COUNT = f"for number in $(seq {COUNT}); do echo $number; sleep 0.1; done"


def expected_download() -> str:
    digest = hashlib.sha256()
    for number in range(DOWNLOAD_BYTES >> 16):
        digest.update(number.to_bytes(4, "big") * (1 << 14))
    return digest.hexdigest()


class Users:
    """What people do with a sandbox for a while: a command's output, a download and a WebSocket."""

    def __init__(self, server: Server, sandbox: Sandbox) -> None:
        self._server = server
        self._sandbox = sandbox
        self.counted = 0
        self.downloaded = 0

    def count(self) -> list[int]:
        """On one connection, which a client would make again if it were cut."""
        token = str(self._sandbox.tokens().access_token)
        headers = {
            "Host": self._server.host(self._sandbox, AGENT_PORT),
            "X-Access-Token": token,
            "Content-Type": "application/connect+json",
            "Connect-Protocol-Version": "1",
        }
        order = json.dumps({"process": {"cmd": "/bin/sh", "args": ["-c", _COUNT]}}).encode()
        content = b"\0" + len(order).to_bytes(4, "big") + order
        url, received, numbers = f"{self._server.url}/process.Process/Start", b"", list[int]()
        with httpx.stream("POST", url, headers=headers, content=content, timeout=PATIENCE_S, trust_env=False) as answer:
            assert answer.status_code == 200
            for piece in answer.iter_bytes():
                received += piece
                while len(received) >= 5 and len(received) >= 5 + (size := int.from_bytes(received[1:5], "big")):
                    message, received = json.loads(received[5 : 5 + size]), received[5 + size :]
                    output = message.get("event", {}).get("data", {}).get("stdout", "")
                    numbers += [int(word) for word in base64.b64decode(output).split()]
                    self.counted = len(numbers)
        return numbers

    def download(self) -> str:
        digest = hashlib.sha256()
        headers = {"Host": self._server.host(self._sandbox, PORT)}
        with httpx.stream("GET", self._server.url, headers=headers, timeout=PATIENCE_S, trust_env=False) as answer:
            for piece in answer.iter_bytes():
                digest.update(piece)
                self.downloaded += len(piece)
        return digest.hexdigest()

    @contextmanager
    def websocket(self) -> Iterator[ClientConnection]:
        host, port = self._server.host(self._sandbox, PORT), self._server.port
        with (
            socket.create_connection(("127.0.0.1", port)) as line,
            connect(f"ws://{host}:{port}/", sock=line, open_timeout=PATIENCE_S, proxy=None, compression=None) as opened,
        ):
            yield opened


def serve(sandbox: Sandbox) -> None:
    sandbox.files.write("/tmp/service.py", _SERVICE)
    with sandbox.start("exec python3 /tmp/service.py") as process:
        assert next(iter(process)).data == b"ready\n"


def _all_began(users: Users) -> None:
    assert users.counted > 3 and users.downloaded > 1 << 20


def _more_than(count: int, answered: list[int]) -> None:
    assert len(answered) > count


def test_what_passes_does_not_notice_that_control_ends(server: Server) -> None:
    subject = Subject.of(server)
    serve(subject.sandbox)
    users, edge, node, control = Users(server, subject.sandbox), server.role("edge"), server.role("node"), server.role("control")
    with ThreadPoolExecutor() as threads, users.websocket() as line:
        numbers, download = threads.submit(users.count), threads.submit(users.download)
        eventually(lambda: _all_began(users))
        server.kill_role("control")
        for number in range(20):  # the old connection, while there is no control
            line.send(f"still {number}")
            assert line.recv(PATIENCE_S) == f"still {number}"
        with users.websocket() as another:  # and a new one, by the routes that the edge knows
            another.send("new")
            assert another.recv(PATIENCE_S) == "new"
        assert server.role("control") == control, "all of this was before the next control served"
        assert server.roost.get(subject.id).record.state == "running", "who asks the API waits, and is answered"
        assert numbers.result(PATIENCE_S) == list(range(1, COUNT + 1))
        assert download.result(PATIENCE_S) == expected_download()
        line.send("after")
        assert line.recv(PATIENCE_S) == "after"
    server.wait_for_next(control)
    assert (server.role("edge"), server.role("node")) == (edge, node)
    subject.check_memory()
    subject.check_usable()


def test_a_sleeper_is_woken_by_the_next_control(server: Server) -> None:
    """Whoever knocks while control is away waits, and finds the sandbox awake."""
    subject = Subject.of(server)
    serve(subject.sandbox)
    users, control = Users(server, subject.sandbox), server.role("control")
    subject.sandbox.pause()
    server.kill_role("control")
    with users.websocket() as line:
        line.send("wake")
        assert line.recv(PATIENCE_S) == "wake"
    server.wait_for_next(control)
    subject.check_memory()
    subject.check_usable()


def test_the_end_of_the_edge_costs_its_connections_alone(server: Server) -> None:
    subject = Subject.of(server)
    serve(subject.sandbox)
    edge, node, control = server.role("edge"), server.role("node"), server.role("control")
    with subject.sandbox.start(_COUNT + "; echo done > /tmp/done") as process:
        next(iter(process))
        stop, refused, answered = threading.Event(), list[str](), list[int]()

        def keep_asking() -> None:
            """Nobody is refused: who connects while there is no edge waits for the next one."""
            while not stop.is_set():
                try:
                    answered.append(httpx.get(server.url + "/v1/health", timeout=PATIENCE_S, trust_env=False).status_code)
                except httpx.ConnectError as error:
                    refused.append(str(error))
                except httpx.TransportError:
                    pass  # it was connected to the edge that ended

        asking = threading.Thread(target=keep_asking)
        asking.start()
        try:
            server.kill_role("edge")
            server.wait_for_next(edge)
            before = len(answered)
            eventually(lambda: _more_than(before + 2, answered))
        finally:
            stop.set()
            asking.join()
    assert not refused
    assert (server.role("control"), server.role("node")) == (control, node)
    subject.check_memory()
    said(subject.sandbox, "until test -e /tmp/done; do sleep 0.1; done", timeout_s=60)
    subject.check_usable()
