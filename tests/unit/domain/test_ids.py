from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from roost.domain import ids
from roost.domain.team import key_digest

MAKERS = {
    "i": ids.new_sandbox_id,
    "s": ids.new_snapshot_id,
    "t": ids.new_template_id,
    "k": ids.new_key_id,
}


@pytest.mark.parametrize(("letter", "make"), MAKERS.items())
def test_an_id_tells_its_kind_and_is_a_legal_host_label(letter: str, make: Callable[[ids.Random], str]) -> None:
    made = {make(random.Random(seed)) for seed in range(200)}
    assert len(made) == 200
    for id in made:
        assert id[0] == letter and len(id) == 21
        assert ids.is_id(id) and ids.is_name(id)


def test_chance_is_handed_in() -> None:
    assert ids.new_token(random.Random(1)) == ids.new_token(random.Random(1))
    assert len(ids.new_token(random.Random(1))) == 64


def test_api_keys_have_the_shape_that_clients_insist_on() -> None:
    key = ids.new_api_key(random.Random(1))
    assert key.startswith("e2b_") and len(key) == 44
    assert set(key[4:]) <= set("0123456789abcdef")
    assert key not in key_digest(key)


@pytest.mark.parametrize("name", ["a", "0", "web", "a-b", "x" * 63, "a--b", "9lives"])
def test_names_that_are_legal(name: str) -> None:
    assert ids.is_name(name)


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a_b", "a.b", "x" * 64, "a b", "é", "a\n", "a/b"])
def test_names_that_are_not(name: str) -> None:
    assert not ids.is_name(name)


@pytest.mark.parametrize("text", ["", "i", "I" + "0" * 20, "i" + "0" * 19, "i" + "0" * 21, "0" * 21, "i" + "0" * 20 + "\n"])
def test_what_is_no_id(text: str) -> None:
    assert not ids.is_id(text)
