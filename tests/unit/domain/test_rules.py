from __future__ import annotations

import base64

import pytest

from roost.domain.rules import secrets_of

TOKEN = "sk-0123456789"
BASIC = base64.b64encode(b"ada:pass-phrase").decode()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Authorization", f"Bearer {TOKEN}", {f"Bearer {TOKEN}", TOKEN}),
        ("X-Api-Key", TOKEN, {TOKEN}),
        ("authorization", f"Basic {BASIC}", {f"Basic {BASIC}", BASIC, "ada:pass-phrase", "pass-phrase"}),
        ("Authorization", "Basic no-base64!", {"Basic no-base64!", "no-base64!"}),
        ("Cookie", "session=0123456789; theme=dark", {"session=0123456789; theme=dark", "0123456789"}),
        ("X-Team", "ours", set[str]()),  # a word, and no secret
        ("Authorization", "Bearer short", {"Bearer short"}),
        ("Accept", "application/json", set[str]()),  # what an answer may say too
        ("User-Agent", "an agent of ours", set[str]()),
        ("anthropic-version", "2023-06-01", set[str]()),
    ],
)
def test_what_answers_must_not_show(name: str, value: str, expected: set[str]) -> None:
    found = secrets_of({name: value})
    assert {text.encode() for text in expected} <= found
    plain = {form for form in found if b"%" not in form and b"+" not in form}
    assert plain == {text.encode() for text in expected}


def test_other_ways_of_writing_a_secret_are_known() -> None:
    found = secrets_of({"Authorization": 'Bearer a/b"c+d e\u00e9'})
    for form in (
        b'Bearer a/b"c+d e\xe9',
        'Bearer a/b"c+d e\u00e9'.encode(),
        'Bearer a/b\\"c+d e\u00e9'.encode(),
        'Bearer a\\/b\\"c+d e\u00e9'.encode(),
        b'Bearer a/b\\"c+d e\\u00e9',
        b"Bearer%20a%2Fb%22c%2Bd%20e%C3%A9",
        b"Bearer+a%2Fb%22c%2Bd+e%C3%A9",
        b"a%2Fb%22c%2Bd%20e%E9",
    ):
        assert form in found, form
