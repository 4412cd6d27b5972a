"""Orders are read off the record alone: the same record, the same order, after any crash."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roost.control.lifecycle.orders import capture_order, create_order, resume_order
from roost.domain.errors import Fault
from roost.domain.ids import NodeId, SandboxId, SnapshotId, TeamId
from roost.domain.lifecycle import Action, State
from roost.domain.sandbox import Operation, Sandbox, Size

OPERATION = Operation(Action.CREATE, 0, 1)
RECORD = Sandbox(
    id=SandboxId("i1"),
    team=TeamId("t"),
    name="web",
    template="base",
    origin=SnapshotId("s0"),
    node=NodeId("n1"),
    state=State.CREATING,
    incarnation=1,
    size=Size(cpus=1),
    access_token="secret",
    created_at=0,
    started_at=0,
    changed_at=0,
    env={"A": "1"},
    user="dev",
    workdir="/srv",
)


def test_a_first_create_clones_and_gives_a_fresh_identity() -> None:
    order = create_order(RECORD, OPERATION)
    assert (order.source, order.cold, order.in_place, order.size) == ("s0", False, False, Size(cpus=1))
    identity = order.identity
    assert (identity.hostname, identity.fresh, identity.user, identity.workdir) == ("web", True, "dev", "/srv")
    assert (identity.access_token, identity.env) == ("secret", {"A": "1"})


def test_a_create_from_a_disk_boots() -> None:
    order = create_order(RECORD, replace(OPERATION, keep_memory=False))
    assert order.cold and not order.in_place and order.identity.fresh


def test_a_create_of_one_that_lived_before_boots_its_own_disk_as_itself() -> None:
    order = create_order(replace(RECORD, incarnation=4), OPERATION)
    assert (order.incarnation, order.cold, order.in_place, order.identity.fresh) == (4, True, True, False)


def test_without_a_name_the_id_is_the_host_name() -> None:
    assert create_order(replace(RECORD, name=None), OPERATION).identity.hostname == "i1"


def test_a_resume_names_its_snapshot_and_keeps_the_identity() -> None:
    operation = Operation(Action.RESUME, 0, 1, snapshot=SnapshotId("s7"), keep_memory=False)
    order = resume_order(replace(RECORD, incarnation=2), operation)
    assert (order.source, order.incarnation, order.cold, order.identity.fresh) == ("s7", 2, True, False)


def test_a_capture_names_what_it_came_from() -> None:
    operation = Operation(Action.PAUSE, 0, 1, snapshot=SnapshotId("s7"))
    assert capture_order(RECORD, operation).parent == "s0"
    assert capture_order(replace(RECORD, snapshot=SnapshotId("s3")), operation).parent == "s3"


@pytest.mark.parametrize("make", [resume_order, capture_order])
def test_an_operation_without_its_snapshot_is_our_fault(make: object) -> None:
    assert callable(make)
    with pytest.raises(Fault, match="i1"):
        make(RECORD, Operation(Action.RESUME, 0, 1))
