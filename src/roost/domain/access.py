"""Who asks, and what they may: `allow(principal, verb, thing)` is the one rule.

Another team's things are hidden: they look like none. So are a team's other sandboxes to whoever is there for one sandbox alone.
What somebody may see but not do is forbidden, in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from roost.domain.errors import Forbidden, Invalid, RoostError
from roost.domain.ids import KeyId, SandboxId, TeamId, is_id


class Role(StrEnum):
    OPERATOR = "operator"  # all of its team's, and the machine
    FULL = "full"  # all of its team's
    READ_ONLY = "read-only"  # sees its team's; changes nothing and gets no token
    SANDBOX = "sandbox"  # one sandbox, and nothing beside it


@dataclass(frozen=True, slots=True)
class Scope:
    """How far a key reaches. Written as the role, and `sandbox:<id>` for one sandbox."""

    role: Role
    sandbox: SandboxId | None = None  # of role SANDBOX alone

    def __post_init__(self) -> None:
        if (self.role is Role.SANDBOX) != (self.sandbox is not None):
            raise Invalid("scope_invalid", "A scope names a sandbox if it is for one, and only then: `sandbox:<id>`.")

    def __str__(self) -> str:
        return self.role.value if self.sandbox is None else f"{self.role.value}:{self.sandbox}"

    @staticmethod
    def parse(text: str) -> Scope:
        """Raises Invalid."""
        role, colon, sandbox = text.partition(":")
        if not colon and role in (Role.OPERATOR, Role.FULL, Role.READ_ONLY):
            return Scope(Role(role))
        if role == Role.SANDBOX and is_id(sandbox):
            return Scope(Role.SANDBOX, SandboxId(sandbox))
        raise Invalid(
            "scope_invalid",
            f"{text[:60]!r} is no scope of a key. There are operator, full, read-only and sandbox:<id of a sandbox>.",
            scope=text[:60],
        )


OPERATOR, FULL, READ_ONLY = Scope(Role.OPERATOR), Scope(Role.FULL), Scope(Role.READ_ONLY)


class Via(StrEnum):
    """By what somebody is known."""

    KEY = "key"
    SESSION = "session"  # a browser that was signed in with a key
    LINK = "link"
    GUEST = "guest"  # a program inside a sandbox, known by the wire it comes from


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks."""

    team: TeamId
    scope: Scope
    key: KeyId | None  # the key behind it; None: a guest, or somebody with a link
    name: str = ""  # for people: the key's name, the link's label
    via: Via = Via.KEY


class Verb(StrEnum):
    LOOK = "look"  # see it, list them, follow what happens
    CHANGE = "change"  # what is there: sleep, wake, settings, links, answers, its end
    MAKE = "make"  # another sandbox: create, fork, undelete
    ENTER = "enter"  # get what opens the inside of it: its tokens
    ASK = "ask"  # a person
    ANSWER = "answer"  # what an agent asked: as a person, so never by what an agent holds
    GRANT = "grant"  # API keys
    OPERATE = "operate"  # the machine


@dataclass(frozen=True, slots=True)
class Thing:
    """What somebody asks about. Without a team it is everybody's: a built-in template, the machine."""

    team: TeamId | None = None
    sandbox: SandboxId | None = None  # the one it is, or belongs to
    scope: Scope | None = None  # of a key: its own


MACHINE = Thing()


class Access(StrEnum):
    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    HIDDEN = "hidden"  # as if it were not there


_OF_A_TEAM = frozenset(Verb) - {Verb.OPERATE}
_VERBS = {
    Role.OPERATOR: frozenset(Verb),
    Role.FULL: _OF_A_TEAM,
    Role.READ_ONLY: frozenset({Verb.LOOK}),
    Role.SANDBOX: frozenset({Verb.LOOK, Verb.CHANGE, Verb.ENTER, Verb.ASK}),
}
_BY = {
    Via.KEY: frozenset(Verb),
    Via.SESSION: frozenset(Verb),
    Via.LINK: frozenset({Verb.LOOK}),
    Via.GUEST: frozenset({Verb.LOOK, Verb.ASK}),
}


def allow(principal: Principal, verb: Verb, thing: Thing) -> Access:
    scope = principal.scope
    if thing.team is not None and thing.team != principal.team:
        return Access.HIDDEN
    if scope.sandbox is not None and thing.sandbox is not None and thing.sandbox != scope.sandbox:
        return Access.HIDDEN
    allowed = verb in _VERBS[scope.role]
    if scope.sandbox is not None and thing.sandbox is None:
        allowed = verb is Verb.LOOK  # a list: what is in it is looked at one by one
    allowed = allowed and verb in _BY[principal.via]
    if thing.scope is not None and thing.scope.role is Role.OPERATOR:
        allowed = allowed and scope.role is Role.OPERATOR  # nobody gives, or takes, more than they have
    return Access.ALLOWED if allowed else Access.FORBIDDEN


def require(principal: Principal, verb: Verb, thing: Thing, missing: RoostError) -> None:
    """Raises Forbidden, in words; and `missing`, as if there were no such thing, for what is hidden."""
    match allow(principal, verb, thing):
        case Access.ALLOWED:
            return
        case Access.HIDDEN:
            raise missing
        case Access.FORBIDDEN:
            raise forbidden(principal, verb)
        case unknown:
            assert_never(unknown)


def within(principal: Principal, sandbox: str) -> dict[str, str]:
    """What a list holds for the principal, as fields of its records and their values. `sandbox` is the field that names the
    sandbox of each."""
    only = principal.scope.sandbox
    return {"team": principal.team} if only is None else {"team": principal.team, sandbox: only}


def sees(principal: Principal, team: TeamId, sandbox: SandboxId) -> bool:
    """Whether a sandbox is in the principal's lists."""
    return allow(principal, Verb.LOOK, Thing(team, sandbox)) is Access.ALLOWED


def link_holder(team: TeamId, sandbox: SandboxId, who: str) -> Principal:
    """A person who has a link to a sandbox. What they may do beyond looking is the link's own matter."""
    return Principal(team, Scope(Role.SANDBOX, sandbox), None, who, Via.LINK)


def guest_of(team: TeamId, sandbox: SandboxId, name: str | None = None) -> Principal:
    """A program inside a sandbox."""
    return Principal(team, Scope(Role.SANDBOX, sandbox), None, name or sandbox, Via.GUEST)


def forbidden(principal: Principal, verb: Verb) -> Forbidden:
    """In words, for whoever may see a thing but not do this with it."""
    needed = "operator" if verb is Verb.OPERATE else "full"
    return Forbidden(
        "scope_too_small",
        f"This needs a key with the scope `{needed}`; yours is `{principal.scope}`."
        " `roost keys create --scope` makes keys; ask whoever runs this Roost for one.",
        scope=str(principal.scope),
        verb=verb.value,
    )
