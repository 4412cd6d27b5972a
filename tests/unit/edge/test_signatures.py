from __future__ import annotations

import json
from collections.abc import Iterable
from urllib.parse import urlencode

from roost.contracts.routes import Route
from roost.domain.ids import SandboxId, TeamId
from roost.edge.admission.access import sign
from roost.edge.admission.resolve import Target
from roost.edge.admission.signatures import Signatures
from roost.edge.http.head import parse_request
from roost.edge.limits import AGENT_PORT, EdgeLimits
from roost.edge.pages import ErrorAnswer
from roost.testing.clock import ManualClock
from roost.testing.routes import FakeRoutes


class CountingRoutes(FakeRoutes):
    """Counts the routes that were looked at."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.looked_at = 0
        for number in range(count):
            self.place(Route(SandboxId(f"i{number}"), TeamId("t"), 1, None, f"token-{number}", wakes=True))

    def living(self) -> Iterable[Route]:
        for route in list(super().living()):
            self.looked_at += 1
            yield route


def make(count: int = 10, **limits: int) -> tuple[Signatures, CountingRoutes, ManualClock]:
    routes, clock = CountingRoutes(count), ManualClock()
    return Signatures(routes, clock, EdgeLimits(**limits)), routes, clock


def url(token: str, path: str = "a b", *, write: bool = False, user: str = "", expiration: str | None = None) -> str:
    query = {"path": path, "signature": sign(path, user, token, write=write, expiration=expiration)}
    query |= {"username": user} if user else {}
    return "/files?" + urlencode(query | ({"signature_expiration": expiration} if expiration else {}))


def ask(signatures: Signatures, target: str, method: str = "GET", *headers: str) -> Target | tuple[int, object] | None:
    head = parse_request("\r\n".join((f"{method} {target} HTTP/1.1", "Host: x", *headers, "", "")).encode())
    found = signatures.resolve(head)
    if isinstance(found, ErrorAnswer):
        return found.status, json.loads(found.body)["message"] if found.body else None
    return found


def agent_of(sandbox: str) -> Target:
    return Target(SandboxId(sandbox), AGENT_PORT, by_name=False)


def test_the_signature_finds_its_sandbox_asleep_or_not() -> None:
    signatures, _, _ = make()
    for number in (0, 3, 9):
        assert ask(signatures, url(f"token-{number}", user="root", expiration="99")) == agent_of(f"i{number}")
        upload = url(f"token-{number}", write=True)
        assert ask(signatures, upload, "POST") == agent_of(f"i{number}")
        assert ask(signatures, upload) == (401, "invalid signature"), "an upload's signature is not for reading"


def test_what_is_not_a_signed_file_url_is_the_apis() -> None:
    signatures, routes, _ = make()
    for target in ("/", "/files", "/files?path=a", "/v1/files?signature=v1_" + "a" * 43, "/health?signature=x"):
        assert ask(signatures, target) is None
    assert ask(signatures, "/files?signature=x", "DELETE") is None
    assert routes.looked_at == 0


def test_what_cannot_be_a_signature_costs_no_hash() -> None:
    signatures, routes, _ = make()
    for text in ("", "x", "v1_short", "v1_" + "a" * 44, "v1_" + "é" * 43, "v2_" + "a" * 43):
        assert ask(signatures, "/files?" + urlencode({"path": "a", "signature": text})) == (401, "invalid signature")
    assert routes.looked_at == 0


def test_a_url_is_searched_for_once_found_or_not() -> None:
    signatures, routes, _ = make()
    good, bad = url("token-9"), url("nobody's")
    for _ in range(5):
        assert ask(signatures, good) == agent_of("i9")
        assert ask(signatures, bad) == (401, "invalid signature")
    assert routes.looked_at == 20


def test_a_signature_of_one_path_is_not_remembered_for_another() -> None:
    signatures, _, _ = make()
    good = url("token-1", "one")
    assert ask(signatures, good.replace("path=one", "path=two")) == (401, "invalid signature")
    assert ask(signatures, good) == agent_of("i1")
    assert ask(signatures, good.replace("path=one", "path=two")) == (401, "invalid signature")


def test_only_so_many_are_remembered_and_the_ones_in_use_stay() -> None:
    signatures, routes, _ = make(1, signatures_kept=2)
    used = url("token-0", "used")
    for number in range(5):
        ask(signatures, used)
        ask(signatures, url("token-0", str(number)))
    assert routes.looked_at == 6, "the one in use was searched for once"
    ask(signatures, url("token-0", "0"))
    assert routes.looked_at == 7, "the oldest was forgotten"


def test_strangers_share_a_budget_that_fills_up_again_and_known_urls_need_none() -> None:
    signatures, routes, clock = make(10, signature_hashes_per_s=25)
    known = url("token-9")
    assert isinstance(ask(signatures, known), Target)
    answers = [ask(signatures, url(f"stranger-{number}")) for number in range(4)]
    assert [answer[0] for answer in answers if isinstance(answer, tuple)] == [401, 401, 429, 429]
    assert isinstance(ask(signatures, known), Target)
    assert routes.looked_at == 30
    clock.advance(1.0)
    assert ask(signatures, url("stranger-3")) == (401, "invalid signature")


def test_a_browser_may_ask_first() -> None:
    signatures, routes, _ = make()
    assert ask(signatures, url("token-1"), "OPTIONS", "Access-Control-Request-Method: POST") == (204, None)
    assert routes.looked_at == 0
