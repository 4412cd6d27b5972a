"""Identities. Lowercase letters and digits only, so that each is legal in a host name.

The first letter tells the kind: i sandbox (as E2B's clients expect), s snapshot, t template, n node, k key, l link, q question,
b build.
"""

from __future__ import annotations

import re
from typing import NewType, Protocol

SandboxId = NewType("SandboxId", str)
SnapshotId = NewType("SnapshotId", str)
TemplateId = NewType("TemplateId", str)
NodeId = NewType("NodeId", str)
TeamId = NewType("TeamId", str)
KeyId = NewType("KeyId", str)
LinkId = NewType("LinkId", str)
QuestionId = NewType("QuestionId", str)
BuildId = NewType("BuildId", str)

AGENT_PORT = 49983
"""Where the agent of every sandbox listens: the one port that is guarded by a token of its own."""

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_LENGTH = 20
_ID = re.compile(r"[a-z][0-9a-z]{20}")
_SNAPSHOT_NAME = re.compile(r"[a-z0-9_-]{1,128}(:[a-z0-9_.-]{1,128})?")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class Random(Protocol):
    """Where random numbers come from: `random.SystemRandom` in earnest, a seeded one in tests."""

    def choices(self, population: str, *, k: int) -> list[str]: ...


def _new(letter: str, random: Random) -> str:
    return letter + "".join(random.choices(_ALPHABET, k=_LENGTH))


def new_sandbox_id(random: Random) -> SandboxId:
    return SandboxId(_new("i", random))


def new_snapshot_id(random: Random) -> SnapshotId:
    return SnapshotId(_new("s", random))


def new_template_id(random: Random) -> TemplateId:
    return TemplateId(_new("t", random))


def new_node_id(random: Random) -> NodeId:
    return NodeId(_new("n", random))


def new_key_id(random: Random) -> KeyId:
    return KeyId(_new("k", random))


def new_link_id(random: Random) -> LinkId:
    return LinkId(_new("l", random))


def new_question_id(random: Random) -> QuestionId:
    return QuestionId(_new("q", random))


def new_build_id(random: Random) -> BuildId:
    return BuildId(_new("b", random))


def new_token(random: Random) -> str:
    """A bearer secret of 256 bits."""
    return "".join(random.choices("0123456789abcdef", k=64))


def new_api_key(random: Random) -> str:
    """In the shape that E2B's older clients insist on: `e2b_` and 40 hex digits."""
    return "e2b_" + "".join(random.choices("0123456789abcdef", k=40))


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def is_snapshot_name(text: str) -> bool:
    """A snapshot's name is no host name: it may hold underscores, and end in a tag, `name:tag`."""
    return _SNAPSHOT_NAME.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """A name is a legal host label: 1-63 of a-z, 0-9 and inner hyphens."""
    return _NAME.fullmatch(text) is not None
