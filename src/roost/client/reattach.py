"""How long and how often a client tries to find its process again after the connection was cut."""

from __future__ import annotations

from collections.abc import Iterator

from roost.domain.errors import NotFound, RoostError, Unavailable

_PATIENCE_S = 60.0  # a server that is stopped and started again is back by then
_LONGEST_DELAY_S = 2.0


def delays() -> Iterator[float]:
    """Seconds to wait before each further try: at once, then ever slower, until patience ends."""
    spent, delay = 0.0, 0.0
    while spent < _PATIENCE_S:
        yield delay
        spent += delay
        delay = min(max(0.05, 2 * delay), _LONGEST_DELAY_S)


def is_passing(error: RoostError) -> bool:
    """Whether the way may be open again in a moment. A sandbox that cannot be reached is not: it died, sleeps on purpose,
    or its agent hangs."""
    return isinstance(error, Unavailable) and error.code not in ("sandbox_unreachable", "port_not_open", "guest_unreachable")


def explained(error: RoostError, pid: int | None) -> RoostError:
    """Why a process cannot be followed further. One that had started and is unknown now ran at a moment that its sandbox
    does not remember."""
    if pid is None or not isinstance(error, NotFound):
        return error
    return NotFound(
        "process_gone",
        f"Process {pid} is gone, and how it ended is not known: its sandbox was lost or rolled back meanwhile, or it"
        " ended too long ago. `roost logs` tells what happened to the sandbox.",
        pid=pid,
    )


def ended_before_input(error: RoostError) -> bool:
    """Whether input was refused only because the process had ended, or had closed its stdin."""
    return error.code in ("internal", "not_found")


def gave_up(pid: int | None, cause: Exception) -> RoostError:
    if pid is None:
        return Unavailable(
            "connection_lost",
            f"The connection broke before the command had started ({cause or type(cause).__name__}), and it cannot be"
            " found."
            " It may or may not run.",
        )
    return Unavailable(
        "connection_lost",
        f"The connection to process {pid} broke and could not be made again ({cause or type(cause).__name__})."
        " The process goes on without you.",
        pid=pid,
    )
