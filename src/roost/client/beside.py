"""Two things at once, for a client that blocks and for one that awaits: a process is fed while it is read."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any


@contextmanager
def beside(work: Callable[[], None]) -> Iterator[None]:
    """Runs `work`, which must not raise, while the block runs. The end of the block waits for it, unless the block failed."""
    thread = threading.Thread(target=work, name="roost-input", daemon=True)
    thread.start()
    yield
    thread.join()


@asynccontextmanager
async def beside_async(work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """As `beside`; a block that failed cancels the work."""
    import anyio

    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        try:
            yield
        except Exception as error:  # told outside of the group, which would tell it as a group
            failure = error
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
