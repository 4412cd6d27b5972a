"""Questions to people: asked for a sandbox, waited for, answered. Calls as data."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from roost.client.agent import AgentAccess
from roost.client.calls import Call
from roost.client.records import Page
from roost.client.wire import Streaming

Json = Mapping[str, Any]
WAIT_S = 50.0  # of one call; asked again until it is closed
ANSWER_MARGIN_S = 30.0
TTL_S = 24 * 3600.0
OPEN = "open"
PICTURE = {"format": "jpeg", "quality": "70", "width": "1280"}


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """`state`: open, answered, expired or withdrawn. `choice` and `text` are the answer, `by` who gave it."""

    id: str
    sandbox: str
    sandbox_name: str | None
    kind: str
    text: str
    choices: tuple[str, ...]
    state: str
    created_at: datetime
    expires_at: datetime
    choice: str | None
    answer: str | None
    by: str | None
    raw: Json = field(repr=False, compare=False)

    @property
    def is_agreed(self) -> bool:
        """Whether it was answered with the first of its choices: an approval's yes."""
        return self.state == "answered" and bool(self.choices) and self.choice == self.choices[0]

    @staticmethod
    def read(content: Json) -> QuestionRecord:
        answer: Json = content.get("answer") or {}
        return QuestionRecord(
            id=content["id"],
            sandbox=content["sandbox"],
            sandbox_name=content.get("sandbox_name"),
            kind=content["kind"],
            text=content["text"],
            choices=tuple(content["choices"]),
            state=content["state"],
            created_at=datetime.fromisoformat(content["created_at"]),
            expires_at=datetime.fromisoformat(content["expires_at"]),
            choice=answer.get("choice"),
            answer=answer.get("text"),
            by=answer.get("by"),
            raw=content,
        )


def ask(
    sandbox: str,
    text: str,
    *,
    choices: Sequence[str] = (),
    approval: bool = False,
    ttl_s: float = TTL_S,
    screenshot: bytes | None = None,
) -> Call[QuestionRecord]:
    body: dict[str, Any] = {
        "kind": "approval" if approval else "question",
        "text": text,
        "choices": list(choices),
        "ttl_s": ttl_s,
    }
    if screenshot is not None:
        body["screenshot"] = base64.b64encode(screenshot).decode()
    return Call("POST", f"/v1/sandboxes/{quote(sandbox, safe='')}/questions", QuestionRecord.read, body=body)


def get(id: str, *, wait_s: float = 0.0) -> Call[QuestionRecord]:
    """As it is; with `wait_s`, as it is once it is closed, or after that time."""
    params = (("wait_s", f"{wait_s:g}"),) if wait_s else ()
    return Call("GET", _path(id), QuestionRecord.read, params=params, timeout_s=wait_s + ANSWER_MARGIN_S, repeatable=True)


def find(**filters: Any) -> Call[Page[QuestionRecord]]:
    """Filters: state, sandbox, limit, cursor."""

    def read(content: Json) -> Page[QuestionRecord]:
        return Page(tuple(QuestionRecord.read(item) for item in content["questions"]), content.get("next_cursor"), raw=content)

    params = tuple((name, str(value)) for name, value in filters.items() if value is not None)
    return Call("GET", "/v1/questions", read, params=params, repeatable=True)


def answer(id: str, *, choice: str | None = None, text: str | None = None) -> Call[QuestionRecord]:
    return Call("POST", f"{_path(id)}/answer", QuestionRecord.read, body={"choice": choice, "text": text})


def withdraw(id: str) -> Call[None]:
    return Call("DELETE", _path(id), lambda _: None, repeatable=True)


def picture(access: AgentAccess) -> Streaming:
    """The sandbox's screen, small enough to go with a question."""
    return Streaming("GET", "/desktop/screenshot", access.headers(), params=PICTURE)


def _path(id: str) -> str:
    return f"/v1/questions/{quote(id, safe='')}"
