"""A question to a person: an agent asks, somebody answers, or nobody does in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from roost.domain.ids import KeyId, QuestionId, SandboxId, TeamId

APPROVAL = ("approve", "deny")
"""What an approval offers unless it says otherwise. The first choice agrees."""


class QuestionKind(StrEnum):
    QUESTION = "question"
    APPROVAL = "approval"


class QuestionState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"  # nobody answered in time
    WITHDRAWN = "withdrawn"  # the asker no longer wants to know, or is dead


@dataclass(frozen=True, slots=True)
class Answer:
    choice: str | None
    text: str | None
    by: str  # the name of the key that answered
    key: KeyId | None  # None: somebody who came without one
    at: float


@dataclass(frozen=True, slots=True)
class Question:
    id: QuestionId
    team: TeamId
    sandbox: SandboxId
    sandbox_name: str | None  # when it was asked
    kind: QuestionKind
    text: str
    choices: tuple[str, ...]
    state: QuestionState
    created_at: float
    expires_at: float
    answer: Answer | None = None
    has_screenshot: bool = False
    wake_due: bool = False  # answered, and its sandbox may not have been woken for it yet
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Picture:
    """The screen that a question is about. Beside the question, so that lists need not carry it."""

    id: QuestionId
    media_type: str
    base64: str
    created_at: float
    revision: int = 0


_MAGIC: Mapping[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
}


def picture_type(data: bytes) -> str | None:
    """The media type of a picture, told by its first bytes; None for what is none that browsers draw and we take."""
    for media_type, beginnings in _MAGIC.items():
        if data.startswith(beginnings):
            return media_type
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None
