"""The connections that a client keeps and reuses.

Whoever stops reading a stream without closing it leaves it to Python's garbage collector, which may come by in the middle of any
line: also of one that holds the lock of these very connections. Closing the stream there would wait for that lock forever. So a
stream that goes away while its own thread is at work here is closed when that work is done.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import httpx

AsyncConnectionPool = httpx.AsyncHTTPTransport  # what nobody reads any more is closed by the event loop, between two tasks


class ConnectionPool(httpx.HTTPTransport):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._at_work = _AtWork()
        self._open: set[_Unread] = set()  # so that they are never collected themselves

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with self.at_work():
            response = super().handle_request(request)
            unread = _Unread(cast(httpx.SyncByteStream, response.stream))
            self._open.add(unread)
            response.stream = _PooledStream(self, unread)
            return response

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """What this thread does in the block is not interrupted by the end of a stream."""
        self._at_work.depth += 1
        try:
            yield
        finally:
            self._at_work.depth -= 1
            while not self._at_work.depth and self._at_work.left:
                self.close_stream(self._at_work.left.popleft())

    def close_stream(self, unread: _Unread) -> None:
        """May be repeated, and called from anywhere."""
        if self._at_work.depth:
            self._at_work.left.append(unread)
            return
        with self.at_work():
            self._open.discard(unread)
            unread.close()


class _AtWork(threading.local):
    """What one thread is doing with the connections."""

    def __init__(self) -> None:
        self.depth = 0
        self.left: deque[_Unread] = deque()  # to be closed


class _Unread:
    """What is still to come of an answer."""

    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream
        self.chunks = iter(stream)

    def close(self) -> None:
        self._stream.close()


class _PooledStream(httpx.SyncByteStream):
    """What httpx reads of it."""

    def __init__(self, pool: ConnectionPool, unread: _Unread) -> None:
        self._pool = pool
        self._unread = unread
        weakref.finalize(self, pool.close_stream, unread).atexit = False

    def __iter__(self) -> Iterator[bytes]:
        while True:
            with self._pool.at_work():
                chunk = next(self._unread.chunks, None)
            if chunk is None:
                return
            yield chunk

    def close(self) -> None:
        self._pool.close_stream(self._unread)
