from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.contracts.routes import Route
from roost.domain.ids import SandboxId, TeamId
from roost.edge.admission.access import PRIVATE, AccessStep, admit, is_private, sign, signature_refusal
from roost.edge.admission.resolve import Target
from roost.edge.http.head import parse_request
from roost.edge.limits import AGENT_PORT
from roost.edge.pages import ErrorAnswer

ID = SandboxId("i0123456789abcdefghij")
TOKEN = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"
NOW = 1_700_000_000.0


def decide(line: str, *headers: str, port: int = AGENT_PORT, **route: Any) -> Any:
    head = parse_request("\r\n".join((f"{line} HTTP/1.1", "Host: x", *headers, "", "")).encode())
    facts = {"address": None, "wakes": True, "access_token": TOKEN} | route
    step = admit(Route(ID, TeamId("t"), 3, **facts), head, Target(ID, port), NOW)
    return (step.status, json.loads(step.body)["message"]) if isinstance(step, ErrorAnswer) and step.body else step


def test_a_running_sandbox_is_left_to_check_its_token_itself() -> None:
    assert decide("GET /envs", address="10.0.0.1") is AccessStep.FORWARD
    assert decide("GET /", address="10.0.0.1", port=80) is AccessStep.FORWARD


def test_what_is_shown_to_a_running_one_must_be_good_now() -> None:
    """A token that was rotated opens nothing, whether or not the guest was told."""
    awake: dict[str, Any] = {"address": "10.0.0.1"}
    assert decide("POST /process.Process/Start", f"X-Access-Token: {TOKEN}", **awake) is AccessStep.FORWARD
    status, why = decide("POST /process.Process/Start", f"X-Access-Token: {TOKEN}x", **awake)
    assert status == 401 and why.startswith("unauthorized access")
    assert decide("GET /files?path=a", "X-Access-Token: old", **awake) == (
        401,
        "access token present in header but does not match",
    )
    old = sign("a", "user", "old", write=False, expiration=None).replace("+", "%2B")
    assert decide(f"GET /files?path=a&username=user&signature={old}", **awake) == (401, "invalid signature")
    good = sign("a", "user", TOKEN, write=False, expiration=None).replace("+", "%2B")
    assert decide(f"GET /files?path=a&username=user&signature={good}", **awake) is AccessStep.FORWARD
    assert decide("GET /health", **awake) is AccessStep.FORWARD
    assert decide("GET /files?path=a", **awake) is AccessStep.FORWARD, "the agent says that it needs a token"


@pytest.mark.parametrize("path", ["ä/ö.txt", "a b", "ключ", "a+b", "\udcff"])
def test_signatures_are_read_as_the_agent_reads_them(path: str) -> None:
    raw = path.encode("utf-8", "surrogateescape")
    signature = quote(sign(path, "", TOKEN, write=False, expiration=None))
    for written in (quote(raw), *([raw.decode("latin-1")] if b" " not in raw and b"+" not in raw else [])):
        query = f"path={written}&signature={signature}".encode("latin-1")
        assert signature_refusal(query, TOKEN, write=False, now=NOW) is None


def test_a_sleeping_one_is_woken_by_who_may() -> None:
    assert decide("GET /", port=80) is AccessStep.WAKE
    assert decide("GET /health", f"X-Access-Token: {TOKEN}") is AccessStep.WAKE
    assert decide("GET /health", access_token="") is AccessStep.WAKE
    assert decide("GET /health")[0] == 401
    assert decide("GET /health", "X-Access-Token: ")[0] == 401
    assert decide("GET /health", f"X-Access-Token: {TOKEN}x") == (401, "access token present in header but does not match")
    assert decide("GET /", port=80, wakes=False) == (502, "The sandbox was not found")
    assert decide("GET /health", f"X-Access-Token: {TOKEN}", wakes=False) == (502, "The sandbox was not found")


def test_private_routes_are_hidden_awake_and_asleep() -> None:
    for address in (None, "10.0.0.1"):
        assert decide("POST /init", f"X-Access-Token: {TOKEN}", address=address)[0] == 404
    assert decide("POST /init", address="10.0.0.1", port=80) is AccessStep.FORWARD


def test_signed_urls_wake_for_what_they_are_signed_for() -> None:
    reading = sign("a b", "user", TOKEN, write=False, expiration=None)
    query = f"path=a+b&username=user&signature={reading.replace('+', '%2B')}"
    assert decide(f"GET /files?{query}") is AccessStep.WAKE
    assert decide(f"POST /files?{query}") == (401, "invalid signature")
    assert decide(f"GET /envs?{query}")[0] == 401
    assert decide("GET /files?path=a") == (401, "missing signature query parameter")


def test_signature_as_e2bs_clients_make_it() -> None:
    expected = "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E"
    assert sign("hello.txt", "user", TOKEN, write=False, expiration=None) == expected


def test_signatures_expire() -> None:
    def refusal(expiration: str) -> str | None:
        signature = sign("f", "", TOKEN, write=True, expiration=expiration).replace("+", "%2B")
        query = f"path=f&signature={signature}&signature_expiration={expiration}"
        return signature_refusal(query.encode(), TOKEN, write=True, now=NOW)

    assert refusal("1700000000") is None
    assert refusal("1699999999") == "signature is already expired"
    assert refusal("soon") == "signature is already expired"


@pytest.mark.parametrize(
    "target", [b"/files", b"/files?path=/init", b"/process.Process/Start", b"/health", b"/", b"*", b"/initial", b"/files/init"]
)
def test_public_paths(target: bytes) -> None:
    assert not is_private(target)


def _encode(byte: int, times: int) -> bytes:
    text = b"%%%02x" % byte
    for _ in range(times - 1):
        text = text.replace(b"%", b"%25")
    return text


@given(
    st.sampled_from(sorted(PRIVATE)),
    st.lists(st.sampled_from([b"/", b"/.", b"/x/..", b"/%2e", b"/%2F", b"\\", b"/..", b"/%5c"]), max_size=5),
    st.lists(st.integers(0, 9), max_size=9),
    st.sampled_from([b"", b"/", b"/x", b"?q", b";p", b"/..", b"%20", b"%00"]),
)
def test_no_disguise_of_a_private_path_is_public(word: bytes, lead: list[bytes], encoded: list[int], tail: bytes) -> None:
    """`encoded` says how often each letter is percent-encoded, up to twice."""
    letters = [_encode(byte, times % 3) if (times := dict(enumerate(encoded)).get(place, 0)) % 3 else bytes([byte])
               for place, byte in enumerate(word)]  # fmt: skip
    assert is_private(b"".join(lead) + b"/" + b"".join(letters) + tail)
