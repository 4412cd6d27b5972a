"""What is sent to a sandbox in the very moment in which it falls asleep: nothing of it is lost."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest

from tests.real.ground import Ground, create_order, resume_order
from tests.real.test_doze import PLENTY, dozers, lull, run, sentry

pytestmark = pytest.mark.anyio

PORT = 7000
SLEEPS = 6
WITHIN_S = 60.0
ECHO = (
    f"import socket\ns = socket.create_server(('', {PORT}))\nopen('/root/up', 'w')\nc, _ = s.accept()\n"
    "while data := c.recv(65536):\n    c.sendall(data)\n"
)


class Talk:
    """Numbers go in without a pause, and all of them come out again, in order."""

    def __init__(self, address: str) -> None:
        self._line = socket.create_connection((address, PORT), timeout=WITHIN_S)
        self._over = threading.Event()
        self._heard = threading.Condition()
        self._sent = 0
        self._got = 0
        self._wrong = ""

    def say(self) -> None:
        while not self._over.is_set():
            self._line.sendall(b"".join(b"%08d" % number for number in range(self._sent, self._sent + 16)))
            self._sent += 16
        self._line.shutdown(socket.SHUT_WR)

    def listen(self) -> None:
        left = b""
        try:
            while received := self._line.recv(65536):
                left += received
                whole, left = left[: len(left) // 8 * 8], left[len(left) // 8 * 8 :]
                with self._heard:
                    for at in range(0, len(whole), 8):
                        if int(whole[at : at + 8]) != self._got:
                            self._wrong = f"{whole[at : at + 8]!r} came where {self._got} should have"
                        self._got += 1
                    self._heard.notify_all()
        except OSError as error:
            self._wrong = f"the connection broke: {error!r}"

    def wait_for_more(self) -> None:
        with self._heard:
            wanted = self._got + 1000
            assert self._heard.wait_for(lambda: self._got >= wanted or self._wrong, WITHIN_S), f"silence after {self._got}"
            assert not self._wrong, self._wrong

    def end(self) -> None:
        self._over.set()

    def check(self) -> None:
        assert not self._wrong, self._wrong
        assert self._got == self._sent

    def close(self) -> None:
        self._line.close()


@contextmanager
def talking_to(address: str) -> Iterator[Talk]:
    talk = Talk(address)
    threads = [threading.Thread(target=work) for work in (talk.say, talk.listen)]
    for thread in threads:
        thread.start()
    try:
        yield talk
        talk.end()
        for thread in threads:
            thread.join(WITHIN_S)
        talk.check()
    finally:
        talk.end()
        talk.close()
        for thread in threads:
            thread.join(WITHIN_S)


@pytest.mark.parametrize("doze_bytes", [0, PLENTY], ids=["asleep", "dozing"])
async def test_nothing_is_lost_that_arrives_while_it_falls_asleep(ground: Ground, doze_bytes: int) -> None:
    async with ground.opened(doze_bytes=doze_bytes) as node:
        order = create_order()
        placed = await node.create(order)
        await run(placed, f'python3 -c "{ECHO}" >/dev/null 2>&1 & while ! test -e /root/up; do :; done')
        with talking_to(placed.endpoint) as talk:
            for incarnation in range(1, SLEEPS + 1):
                await anyio.to_thread.run_sync(talk.wait_for_more)
                snapshot = await lull(node, order, incarnation)
                if doze_bytes and incarnation % 2:  # what it read in its doze, if it did, is forgotten
                    os.kill(sentry(ground, order), signal.SIGKILL)
                    with anyio.fail_after(30):
                        while await dozers(node):  # noqa: ASYNC110  nobody is told that a cache is gone
                            await anyio.sleep(0.01)
                await node.resume(resume_order(order, snapshot, incarnation + 1))
            await anyio.to_thread.run_sync(talk.wait_for_more)
