"""What the doors need of the house: the control objects, and a few facts about this server."""

from __future__ import annotations

from dataclasses import dataclass, fields

from roost.api.session import Sessions
from roost.control.compose import Control


@dataclass(frozen=True, slots=True)
class About:
    """Facts that do not change while the server runs."""

    version: str
    domain: str  # sandboxes are reached at <port>-<sandbox>.<domain>
    port: int  # of the public address
    home: str
    pid: int
    engine: str
    agent: str
    scheme: str = "http"


@dataclass(frozen=True, slots=True, kw_only=True)
class Services(Control):
    about: About
    sessions: Sessions

    @classmethod
    def of(cls, control: Control, about: About, sessions: Sessions) -> Services:
        nouns = {noun.name: getattr(control, noun.name) for noun in fields(Control)}
        return cls(about=about, sessions=sessions, **nouns)
