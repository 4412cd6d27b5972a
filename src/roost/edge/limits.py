"""How much the edge takes, and how long it waits."""

from __future__ import annotations

from dataclasses import dataclass

from roost.domain.ids import AGENT_PORT

__all__ = ["AGENT_PORT", "SCREEN_PORT", "EdgeLimits"]

SCREEN_PORT = 5900  # where a desktop's RFB server listens, on the sandbox's loopback


@dataclass(frozen=True, slots=True)
class EdgeLimits:
    """The defaults are for earnest; tests shorten the waits."""

    signatures_kept: int = 4096  # of file URLs, with the sandbox each is for
    signature_hashes_per_s: int = 50_000  # spent on finding the sandbox of an unknown one, and saved up for a second
    head_bytes: int = 64 * 1024
    head_timeout_s: float = 60.0  # from the first byte of a head to its last
    idle_timeout_s: float = 75.0  # a client's connection without a request
    connect_timeout_s: float = 5.0
    agent_head_s: float = 10.0  # for an agent to begin its answer, before it is asked whether it is still there
    agent_silence_s: float = 60.0  # in the middle of an answer, likewise; its streams say something every 50 s
    agent_health_s: float = 10.0  # for it to answer that question
    agent_grace_s: float = 10.0  # beyond the caller's deadline, which the agent itself is to keep
    wake_deadline_s: float = 60.0
    wake_holders: int = 256  # requests waiting for one sandbox to wake
    idle_upstreams: int = 16  # kept for one port of one sandbox
    idle_upstream_s: float = 4.0  # under the five seconds after which Node and uvicorn hang up by themselves
    api_wait_s: float = 10.0  # for control to come back
    idle_api: int = 64  # connections to the API, kept
    idle_api_s: float = 60.0  # under what control gives them (`serving`)
    linger_s: float = 2.0  # reading on after an early answer, so that the client gets to see it
    flush_s: float = 60.0  # for a client to take the last bytes of a closed connection
    shutdown_grace_s: float = 5.0  # for answers under way when the server stops
    beat_s: float = 3.0  # between two questions to a person's browser whether it is still there, while they drive
    beats_missed: int = 2  # so many of them without any answer: then it is not
    parked_bytes: int = 64 * 1024  # of a viewer's messages, kept while the sandbox sleeps
    high_water_bytes: int = 512 * 1024  # unsent bytes that stop the other side
    low_water_bytes: int = 128 * 1024
