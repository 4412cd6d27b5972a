from __future__ import annotations

import asyncio
import os
import time

from roost_agent.awake import AwakeLoop


class SleepyClock:
    """A monotonic clock that runs, and jumps when told to, as over a checkpoint."""

    def __init__(self) -> None:
        self._real = time.monotonic
        self.jumped_s = 0.0

    def __call__(self) -> float:
        return self._real() + self.jumped_s


def test_a_sleep_moves_every_timer() -> None:
    clock = SleepyClock()
    fired: list[str] = []

    async def live() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(1000, fired.append, "deadline of a command")
        started = loop.time()
        # The hour passes while the loop waits in the kernel for the next event, then while a callback runs.
        read, write = os.pipe()
        ready = loop.create_future()

        def wake() -> None:
            if not ready.done():
                ready.set_result(None)

        loop.add_reader(read, wake)
        clock.jumped_s += 3600
        loop.call_soon(lambda: None)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not fired
        clock.jumped_s += 3600
        os.write(write, b"x")
        await ready
        loop.remove_reader(read)
        for descriptor in (read, write):
            os.close(descriptor)
        await asyncio.sleep(0)
        assert not fired
        assert loop.time() - started < 10
        assert isinstance(loop, AwakeLoop) and 7190 < loop.asleep_s < 7210

    with asyncio.Runner(loop_factory=lambda: AwakeLoop(clock)) as runner:
        runner.run(live())


def test_timers_still_fire() -> None:
    async def live() -> float:
        loop = asyncio.get_running_loop()
        started = loop.time()
        fired = loop.create_future()
        loop.call_later(0.02, fired.set_result, None)
        await fired
        return loop.time() - started

    with asyncio.Runner(loop_factory=AwakeLoop) as runner:
        assert runner.run(live()) >= 0.019
