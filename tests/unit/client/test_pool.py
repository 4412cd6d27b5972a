"""Streams that nobody reads any more, and the garbage collector, which comes by whenever it likes."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType

import pytest

from roost.client.blocking.transport import Transport
from roost.client.endpoint import Endpoint
from roost.client.wire import Streaming

WITHIN_S = 30.0


class Endless(BaseHTTPRequestHandler):
    """Answers with the beginning of a stream that never ends by itself."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"5\r\nbegin\r\n")
        self.wfile.flush()
        with suppress(ConnectionResetError):
            self.rfile.read(1)  # until the client hangs up
        self.server.hung_up.release()  # pyright: ignore[reportAttributeAccessIssue]

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    server.daemon_threads = True
    server.hung_up = threading.Semaphore(0)  # pyright: ignore[reportAttributeAccessIssue]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def opened(server: ThreadingHTTPServer) -> Iterator[Transport]:
    transport = Transport(Endpoint(f"http://127.0.0.1:{server.server_port}", "key"))
    yield transport
    transport.close()


def begin(transport: Transport) -> Iterator[bytes]:
    chunks = transport.stream(Streaming("GET", "/", {})).iter_raw()
    assert next(chunks) == b"begin"
    return chunks


def leave_as_garbage(transport: Transport) -> None:
    """A stream in the middle that only the garbage collector will find."""
    cycle: list[object] = [begin(transport)]
    cycle.append(cycle)


def collect_inside_the_pool(frame: FrameType, event: str, _argument: object) -> None:
    """Where httpcore holds its lock."""
    if event == "call" and frame.f_code.co_name == "_assign_requests_to_connections":
        gc.collect()


def test_a_stream_that_is_collected_while_the_pool_is_locked_keeps_nobody_waiting(server: ThreadingHTTPServer) -> None:
    began = threading.Event()

    def work() -> None:
        with opened(server) as transport:
            leave_as_garbage(transport)
            sys.setprofile(collect_inside_the_pool)
            begin(transport)
            sys.setprofile(None)
            began.set()

    gc.disable()
    try:
        threading.Thread(target=work, daemon=True).start()
        assert began.wait(WITHIN_S), "the next request waits for a lock that its own thread holds"
    finally:
        gc.enable()


def test_a_stream_that_nobody_reads_any_more_is_closed(server: ThreadingHTTPServer) -> None:
    with opened(server) as transport:
        leave_as_garbage(transport)
        gc.collect()
        assert server.hung_up.acquire(timeout=WITHIN_S)  # pyright: ignore[reportAttributeAccessIssue]


def test_a_stream_may_be_closed_twice_and_by_another_thread(server: ThreadingHTTPServer) -> None:
    with opened(server) as transport:
        response = transport.stream(Streaming("GET", "/", {}))
        closer = threading.Thread(target=response.close)
        closer.start()
        closer.join()
        response.close()
        assert server.hung_up.acquire(timeout=WITHIN_S)  # pyright: ignore[reportAttributeAccessIssue]
