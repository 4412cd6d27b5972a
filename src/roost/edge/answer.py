"""A sandbox's answer on its way to the client: heads are read, a body is only followed as far as is needed to find its end."""

from __future__ import annotations

from enum import Enum, auto

from roost.domain.errors import Invalid, Unavailable
from roost.edge.admission.api_host import restrict
from roost.edge.admission.resolve import Target
from roost.edge.http.answer_heads import AnswerHeads
from roost.edge.http.body import Body, ChunkedBody, OpenBody
from roost.edge.http.head import RequestHead, ResponseHead, render_response
from roost.edge.turn import Client

_JOINED_BYTES = 64 * 1024  # a head and a first piece up to this size go out as one


class Progress(Enum):
    """How much of it was passed on."""

    AWAITED = auto()  # nothing: the client can still be answered in the sandbox's place
    PASSING = auto()  # its head
    COMPLETE = auto()
    TUNNEL = auto()  # it changed protocols: every byte from here on belongs to the client


class AnswerUnusable(Unavailable):
    """Nothing of it was passed on."""

    def __init__(self, what: str) -> None:
        super().__init__("bad_answer", what)


class Answer:
    __slots__ = ("_body", "_client", "_heads", "_request", "_target", "_upgrade", "closes_client", "head", "progress")

    def __init__(self, client: Client, request: RequestHead, target: Target, upgrade: bytes | None, limit_bytes: int) -> None:
        self._client = client
        self._request = request
        self._target = target
        self._upgrade = upgrade  # what the sandbox was asked to change to
        self._heads = AnswerHeads(limit_bytes)
        self._body: Body | None = None
        self.head: ResponseHead | None = None
        self.closes_client = False  # the client was told that its connection ends with this answer
        self.progress = Progress.AWAITED

    @property
    def has_begun(self) -> bool:
        """A part of it is there, passed on or not."""
        return self.progress is not Progress.AWAITED or self._heads.has_begun

    @property
    def ends_with_connection(self) -> bool:
        return isinstance(self._body, OpenBody)

    def take(self, data: bytes) -> bool:
        """Passes on what belongs to it. True when more came than that. Raises AnswerUnusable, and Invalid when it broke in the
        middle."""
        match self.progress:
            case Progress.TUNNEL:
                self._client.write(data)
            case Progress.AWAITED:
                return self._read_heads(data)
            case Progress.PASSING:
                return self._pass_body(b"", data)
            case Progress.COMPLETE:
                pass
        return False

    def _read_heads(self, data: bytes) -> bool:
        try:
            heads, rest = self._heads.take(data)
        except Unavailable as error:
            raise AnswerUnusable("sent an answer that is not HTTP") from error
        for head in heads:
            if head.is_final:
                return self._begin(self._allowed(head), rest)
            if self._request.minor == 1 and (self._target.by_name or head.status == 100):
                self._client.write(render_response(self._allowed(head), close=False))
        return False

    def _allowed(self, head: ResponseHead) -> ResponseHead:
        return head if self._target.by_name else restrict(head, self._request)

    def _begin(self, head: ResponseHead, rest: bytes) -> bool:
        if head.status == 101:
            if self._upgrade is None:
                raise AnswerUnusable("changed protocols without being asked")
            self.head, self.progress = head, Progress.TUNNEL
            self._client.write(render_response(head, close=False, upgrade=head.framing.upgrade or self._upgrade) + rest)
            self._client.become_tunnel()
            return False
        self.head, self.progress = head, Progress.PASSING
        self._body = head.body(self._request.method)
        self.closes_client = self._client.is_last or self.ends_with_connection
        return self._pass_body(render_response(head, close=self.closes_client), rest)

    def _pass_body(self, head: bytes, data: bytes) -> bool:
        assert self._body is not None
        try:
            taken = self._body.take(data)
        except Invalid:
            self._client.write(head)
            raise
        piece = data[:taken] if taken < len(data) else data
        if isinstance(self._body, ChunkedBody) and not self._target.by_name:
            piece = self._body.without_trailers(piece)
        if head and len(piece) <= _JOINED_BYTES:
            self._client.write(head + piece)
        else:
            if head:
                self._client.write(head)
            self._client.write(piece)
        if self._body.done:
            self.progress = Progress.COMPLETE
        return taken < len(data)
