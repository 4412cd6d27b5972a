from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain.access import (
    FULL,
    MACHINE,
    OPERATOR,
    READ_ONLY,
    Access,
    Principal,
    Role,
    Scope,
    Thing,
    Verb,
    Via,
    allow,
    forbidden,
)
from roost.domain.errors import Invalid
from roost.domain.ids import KeyId, SandboxId, TeamId

OURS, THEIRS = TeamId("ours"), TeamId("theirs")
MINE, OTHER = SandboxId("i" + "0" * 20), SandboxId("i" + "1" * 20)
ONE = Scope(Role.SANDBOX, MINE)
SCOPES = (OPERATOR, FULL, READ_ONLY, ONE)


def of(scope: Scope, via: Via = Via.KEY) -> Principal:
    return Principal(OURS, scope, KeyId("k"), "somebody", via)


def verbs(principal: Principal, thing: Thing) -> set[Verb]:
    return {verb for verb in Verb if allow(principal, verb, thing) is Access.ALLOWED}


def test_what_each_scope_may_do_with_a_sandbox_of_its_team() -> None:
    thing = Thing(OURS, MINE)
    assert verbs(of(OPERATOR), thing) == set(Verb)
    assert verbs(of(FULL), thing) == set(Verb) - {Verb.OPERATE}
    assert verbs(of(READ_ONLY), thing) == {Verb.LOOK}
    assert verbs(of(ONE), thing) == {Verb.LOOK, Verb.CHANGE, Verb.ENTER, Verb.ASK}
    assert verbs(of(ONE, Via.GUEST), thing) == {Verb.LOOK, Verb.ASK}


def test_the_machine_is_the_operators() -> None:
    assert [scope for scope in SCOPES if allow(of(scope), Verb.OPERATE, MACHINE) is Access.ALLOWED] == [OPERATOR]


def test_a_key_for_one_sandbox_has_nothing_of_the_team_but_lists() -> None:
    assert verbs(of(ONE), Thing(OURS)) == {Verb.LOOK}
    assert all(allow(of(ONE), verb, Thing(OURS, OTHER)) is Access.HIDDEN for verb in Verb)


def test_keys_of_operators_are_given_and_taken_by_operators() -> None:
    for scope in SCOPES:
        allowed = [asker for asker in SCOPES if allow(of(asker), Verb.GRANT, Thing(OURS, scope=scope)) is Access.ALLOWED]
        assert allowed == ([OPERATOR] if scope is OPERATOR else [OPERATOR, FULL])


@given(
    scope=st.sampled_from(SCOPES),
    verb=st.sampled_from(Verb),
    via=st.sampled_from(Via),
    sandbox=st.sampled_from((None, MINE, OTHER)),
    key=st.sampled_from((None, *SCOPES)),
)
def test_another_teams_things_look_like_none(
    scope: Scope, verb: Verb, via: Via, sandbox: SandboxId | None, key: Scope | None
) -> None:
    stranger = replace(of(scope, via), team=THEIRS)
    assert allow(stranger, verb, Thing(OURS, sandbox, key)) is Access.HIDDEN


def test_scopes_are_written_and_read() -> None:
    for scope in SCOPES:
        assert Scope.parse(str(scope)) == scope
    for text in ("", "root", "sandbox", "sandbox:", "sandbox:agent", "full:" + MINE, "Operator", "sandbox:" + MINE + "x"):
        with pytest.raises(Invalid):
            Scope.parse(text)
    with pytest.raises(Invalid):
        Scope(Role.FULL, MINE)


def test_a_refusal_says_what_is_needed_and_what_one_has() -> None:
    assert "`operator`; yours is `full`" in forbidden(of(FULL), Verb.OPERATE).message
