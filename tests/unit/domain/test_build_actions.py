"""The key of a layer: everything that matters, on every machine the same, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain import build as b
from roost.domain.build_actions import Action, CopyFiles, FetchFile, MakeDirectory, MakeUser, RunCommand, WriteFile, layer_key

RUN = RunCommand(("sh", "-c", "make"), {"A": "1", "B": "2"}, "/app", "user", (b.CacheMount("/c", "c"), b.SecretMount("s", "/s")))
ACTIONS: tuple[Action, ...] = (
    RUN,
    CopyFiles(b.FromContext("u"), ("a", "b"), "/x/"),
    WriteFile("text", "/x", "EOF"),
    FetchFile("https://example.com/a", "/x"),
    MakeDirectory("/x"),
    MakeUser("x"),
)

# Of fields that are neither in the action's key nor meant to be.
SILENT = {("RunCommand", "proxies"), ("CopyFiles", "origin")}


def other(value: object) -> object:
    match value:
        case bool():
            return not value
        case str():
            return value + "x"
        case int() | None:
            return 0o711
        case tuple():
            return (*value, *(value[:1] or ("x",)))
        case b.FromContext():
            return b.FromStage(3)
        case _:
            return {"OTHER": "1"}


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
def test_every_field_counts_that_should(action: Action) -> None:
    key = layer_key("parent", action)
    for each in fields(action):
        if each.name == "kind":
            continue
        changed = replace(action, **{each.name: other(getattr(action, each.name))})
        counts = (type(action).__name__, each.name) not in SILENT
        assert (layer_key("parent", changed) != key) is counts, each.name


def test_keys_tell_kinds_parents_and_files_apart() -> None:
    keys = [layer_key("p", action) for action in ACTIONS]
    keys += [layer_key("q", RUN), layer_key("p", RUN, ["d1"]), layer_key("p", RUN, ["d1", "d2"]), layer_key("p", RUN, ["d1d2"])]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 and int(key, 16) >= 0 for key in keys)


@given(st.dictionaries(st.text(), st.text()))
def test_the_order_of_variables_does_not_count(env: dict[str, str]) -> None:
    backwards = dict(reversed(env.items()))
    assert layer_key("p", replace(RUN, env=env)) == layer_key("p", replace(RUN, env=backwards))


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_different_words_have_different_keys(some: list[str], others: list[str]) -> None:
    keys = {layer_key("p", replace(RUN, words=tuple(words))) for words in (some, others)}
    assert len(keys) == (1 if some == others else 2)


def test_sharing_and_need_do_not_count() -> None:
    patient = replace(RUN, mounts=(b.CacheMount("/c", "c", is_shared=False), b.SecretMount("s", "/s", is_required=True)))
    assert layer_key("p", patient) == layer_key("p", RUN)


def test_a_key_is_the_same_in_another_process_and_for_ever() -> None:
    known = "130b03c5"
    assert layer_key("parent", RUN, ["d"]).startswith(known), "another key: nothing that was built before is found any more"
    program = (
        "from roost.domain.build_actions import *; from roost.domain import build as b; print(layer_key('parent',"
        " RunCommand(('sh','-c','make'), {'B':'2','A':'1'}, '/app', 'user',"
        " (b.CacheMount('/c','c'), b.SecretMount('s','/s'))), ['d']))"
    )
    for seed in ("0", "1"):
        told = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        assert told.stdout.strip().startswith(known)
