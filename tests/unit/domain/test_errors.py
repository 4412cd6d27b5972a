from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from roost.domain import errors

CONCRETE = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.RoostError) and "__init__" in vars(kind) and kind is not errors.RoostError
]


def make(kind: type[errors.RoostError]) -> errors.RoostError:
    """One with a distinct word for everything it is told."""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    values = {each.name: 7 if each.annotation in ("int", "float") else f"<{each.name}>" for each in parameters}
    return kind(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", CONCRETE)
def test_an_error_names_its_things_in_prose_and_as_facts(kind: type[errors.RoostError]) -> None:
    error = make(kind)
    assert error.code and error.code == error.code.lower() and " " not in error.code
    assert str(error) == error.message and error.message[0].isupper()
    for fact, value in error.facts.items():
        if fact != "kind":
            assert str(value) in error.message, f"{fact} is not in: {error.message}"


@pytest.mark.parametrize("kind", CONCRETE)
def test_an_error_survives_being_carried_elsewhere(kind: type[errors.RoostError]) -> None:
    error = make(kind)
    for carried in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(carried) is kind and carried is not error
        assert (carried.code, carried.message, carried.facts) == (error.code, error.message, error.facts)


def test_codes_are_told_apart() -> None:
    codes = [make(kind).code for kind in CONCRETE]
    assert len(codes) == len(set(codes))


def test_every_error_is_in_one_family() -> None:
    families = (errors.Refused, errors.Unavailable, errors.TimedOut, errors.Fault)
    for kind in CONCRETE:
        assert sum(issubclass(kind, family) for family in families) == 1, kind
