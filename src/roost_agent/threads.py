"""System calls that may take long, out of the event loop's way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


async def in_thread(call: Callable[..., Result], *arguments: Any) -> Result:
    """Run a blocking call in a thread. It is never abandoned half-way: descriptors it uses stay open until it is done."""
    return await asyncio.get_running_loop().run_in_executor(None, call, *arguments)
