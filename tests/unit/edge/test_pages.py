from __future__ import annotations

import json

import pytest

from roost.domain.errors import Fault, Forbidden, Gone, SandboxDead, SandboxNotFound, TimedOut, Unavailable
from roost.edge import pages
from roost.edge.http.head import RequestHead, parse_request


def head(method: str = "GET", *lines: str) -> RequestHead:
    return parse_request("\r\n".join((f"{method} / HTTP/1.1", "Host: x", *lines, "", "")).encode())


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Accept: text/html,application/xhtml+xml,*/*;q=0.8"], True),
        (["Accept: */*, text/html", "Sec-Fetch-Mode: navigate"], True),
        (["Accept: text/html", "Sec-Fetch-Mode: navigate"], True),
        (["Accept: text/html", "Sec-Fetch-Mode: cors"], True),
        (["Accept: application/json, text/html"], False),
        (["Accept: */*"], False),
        ([], False),
    ],
)
def test_who_gets_a_page(lines: list[str], expected: bool) -> None:
    assert pages.wants_page(head("GET", *lines)) is expected
    assert not pages.wants_page(head("POST", *lines))


def test_an_answer_is_rendered_whole() -> None:
    answer = pages.sandbox_not_found("i1", head())
    raw = answer.render(head_only=False, close=True)
    fields, _, body = raw.partition(b"\r\n\r\n")
    assert fields.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert b"\r\nContent-Length: %d\r\n" % len(body) in fields
    assert fields.endswith(b"Connection: close")
    assert json.loads(body) == {"sandboxId": "i1", "message": "The sandbox was not found", "code": 502}
    assert answer.render(head_only=True, close=True) == fields + b"\r\n\r\n"
    assert b"Content-Length" not in pages.preflight().render(head_only=False, close=False)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SandboxNotFound("i1"), 502),
        (SandboxDead("i1"), 502),
        (Gone("gone", "gone"), 502),
        (TimedOut("slow", "slow"), 503),
        (Unavailable("busy", "busy"), 503),
        (Forbidden("no", "no"), 403),
        (Fault("bug", "bug"), 500),
    ],
)
def test_every_failed_wake_has_an_answer(error: Exception, status: int) -> None:
    assert isinstance(error, Unavailable | TimedOut | Gone | SandboxNotFound | Forbidden | Fault)
    answer = pages.wake_failed("i1", head(), error)
    assert answer.status == json.loads(answer.body)["code"] == status
    assert (b"Retry-After" in dict(answer.fields)) == (status == 503)


def test_what_came_from_outside_is_escaped_in_pages() -> None:
    browser = head("GET", "Accept: text/html")
    error = Unavailable("x", "<script>alert(1)</script>")
    for answer in (
        pages.wake_failed("i1", browser, error),
        pages.no_answer("i1", 80, browser, "<script>"),
        pages.sandbox_not_found("<script>", browser),
    ):
        assert answer.content_type.startswith(b"text/html")
        assert b"<script>" not in answer.body
