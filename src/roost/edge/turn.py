"""Between a client's connection and whoever answers its request at hand: a sandbox or the API."""

from __future__ import annotations

from typing import Protocol

from roost.domain.errors import Invalid
from roost.edge.http.head import Peer
from roost.edge.pages import ErrorAnswer


class Turn(Protocol):
    """Whoever answers the request at hand."""

    def client_data(self, data: bytes) -> None:
        """The next piece of the request's body, or of a tunnel."""
        ...

    def client_body_end(self) -> None:
        """The body was complete with the last piece. Not called for a request without one."""
        ...

    def client_body_broken(self, error: Invalid) -> None:
        """The body's framing cannot be followed any further."""
        ...

    def client_eof(self) -> bool:
        """The client sends nothing more. True keeps the connection open for what is still sent to it."""
        ...

    def client_lost(self, error: Exception | None) -> None: ...

    def client_full(self) -> None:
        """Write no more until `client_ready`."""
        ...

    def client_ready(self) -> None: ...

    @property
    def ends_by_itself(self) -> bool:
        """The answer under way will be complete some time; a tunnel never is."""
        ...


class Client(Protocol):
    """The client's connection, as the one whose turn it is uses it."""

    peer: Peer

    @property
    def request_done(self) -> bool:
        """The request has arrived in full."""
        ...

    @property
    def is_last(self) -> bool:
        """The connection ends after this request."""
        ...

    @property
    def is_full(self) -> bool:
        """The client does not take more just now."""
        ...

    def write(self, data: bytes) -> None: ...

    def write_eof(self) -> None: ...

    def hold(self) -> None:
        """Hand over nothing more of the request, and read nothing more, until `release`."""
        ...

    def release(self) -> None: ...

    def stop_reading(self) -> None:
        """Whoever answers cannot take more, until `resume_reading`."""
        ...

    def resume_reading(self) -> None: ...

    def become_tunnel(self) -> None:
        """From here on every byte belongs to this turn."""
        ...

    def answer(self, answer: ErrorAnswer) -> None:
        """Answers the request here; the turn is over."""
        ...

    def next_request(self, *, close: bool) -> None:
        """The answer is complete; the turn is over."""
        ...

    def close(self) -> None: ...

    def abort(self) -> None: ...

    def reset(self) -> None:
        """Like `abort`, told as a reset: E2B's SDKs ask then whether the sandbox was killed."""
        ...
