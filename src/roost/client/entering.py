"""How requests get in to the agent of a sandbox: each carries the sandbox's access token.

Tokens are in no record. One is asked for when it is first needed, kept for as long as the client lives, and asked for again when
it is refused: it may have been rotated.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from urllib.parse import quote

import httpx

SANDBOX = "E2b-Sandbox-Id"  # who a request is for, if it is not for the server itself
TOKEN = "X-Access-Token"
_TIMEOUT = httpx.Timeout(60.0, connect=10.0).as_dict()


class Entering(httpx.Auth):
    """httpx's hook for requests that need something first."""

    def __init__(self) -> None:
        self._tokens: dict[str, str] = {}  # by the sandbox's id

    def keep(self, sandbox: str, token: str) -> None:
        self._tokens[sandbox] = token

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        flow = self._flow(request)
        sent = next(flow)
        while True:
            answer = yield sent
            if _is_read_here(sent, request, answer):
                answer.read()
            try:
                sent = flow.send(answer)
            except StopIteration:
                return

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        flow = self._flow(request)
        sent = next(flow)
        while True:
            answer = yield sent
            if _is_read_here(sent, request, answer):
                await answer.aread()
            try:
                sent = flow.send(answer)
            except StopIteration:
                return

    def _flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """What is sent, one after the other; the answer to the last one is the caller's."""
        sandbox = request.headers.get(SANDBOX)
        if sandbox is None:
            yield request
            return
        if sandbox not in self._tokens and not self._learn(sandbox, (yield _question(request, sandbox))):
            return
        request.headers[TOKEN] = self._tokens[sandbox]
        answer = yield request
        if answer.status_code == 401 and _can_be_sent_again(request):
            self._learn(sandbox, (yield _question(request, sandbox)))
            request.headers[TOKEN] = self._tokens[sandbox]
            yield request

    def _learn(self, sandbox: str, answer: httpx.Response) -> bool:
        if answer.status_code >= 400:
            return False
        self._tokens[sandbox] = answer.json()["access_token"]
        return True


def _is_read_here(sent: httpx.Request, request: httpx.Request, answer: httpx.Response) -> bool:
    """Not the answer that the caller asked for: it may be a stream."""
    return sent is not request or answer.status_code == 401


def _question(request: httpx.Request, sandbox: str) -> httpx.Request:
    url = request.url.copy_with(raw_path=f"/v1/sandboxes/{quote(sandbox, safe='')}/token".encode())
    own = {name: request.headers[name] for name in ("X-API-Key", "User-Agent", "Accept-Encoding") if name in request.headers}
    return httpx.Request("POST", url, headers=own, extensions={"timeout": _TIMEOUT})


def _can_be_sent_again(request: httpx.Request) -> bool:
    """Whether its body is not gone with the first time."""
    return isinstance(request.stream, httpx.ByteStream)
