"""The outermost frame of work that nobody waits for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from roost.domain.errors import RoostError
from roost.telemetry.log import get_logger

log = get_logger(__name__)


async def guard(work: Callable[..., Awaitable[object]], *args: object, name: str | None = None) -> bool:
    """Reports what fails, and goes on. True if the work was done."""
    label = name or getattr(work, "__qualname__", str(work))
    try:
        await work(*args)
    except RoostError as error:
        log.warning("background work failed", work=label, error=str(error))
        return False
    except Exception:
        log.exception("background work broke", work=label)
        return False
    return True
