from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from roost.contracts.routes import Route
from roost.contracts.store import Change
from roost.control.fleet.routes import Directory, RouteTable
from roost.domain.errors import SandboxNotFound, Unavailable
from roost.domain.ids import LinkId, NodeId, SandboxId, SnapshotId, TeamId
from roost.domain.lifecycle import State
from roost.domain.link import Link, LinkMode
from roost.domain.sandbox import Driver, Sandbox, Size, SleepPolicy

pytestmark = pytest.mark.anyio
RECORD = Sandbox(
    id=SandboxId("i1"),
    team=TeamId("t"),
    name=None,
    template="base",
    origin=SnapshotId("s0"),
    node=NodeId("n1"),
    state=State.CREATING,
    incarnation=1,
    size=Size(),
    access_token="secret",
    created_at=0,
    started_at=0,
    changed_at=0,
    revision=1,
)


def at(state: State, revision: int, incarnation: int = 1, lost: int = 0) -> Sandbox:
    return replace(RECORD, state=state, revision=revision, incarnation=incarnation, endpoint="198.18.0.2", lost=lost)


def put(table: RouteTable, record: Sandbox | Link) -> None:
    table.hear([Change(1, type(record), record.id, record)])


def delete(table: RouteTable, record: Sandbox | Link) -> None:
    table.hear([Change(1, type(record), record.id, None)])


def address(table: RouteTable) -> str | None:
    route = table.locate("i1")
    assert route is not None
    return route.address


def test_the_address_is_shown_while_traffic_is_let_through() -> None:
    table = RouteTable()
    put(table, at(State.CREATING, 1))
    assert address(table) is None
    put(table, at(State.RUNNING, 2))
    assert address(table) == "198.18.0.2"
    put(table, at(State.SNAPSHOTTING, 3))
    assert address(table) == "198.18.0.2"
    put(table, at(State.PAUSING, 4))
    assert address(table) is None
    put(table, at(State.RUNNING, 5))
    assert address(table) == "198.18.0.2", "the pause failed: it is where it was"


def test_a_lost_process_is_told() -> None:
    table = RouteTable()

    def lost() -> int:
        route = table.locate("i1")
        assert route is not None
        return route.lost

    put(table, at(State.RUNNING, 1, incarnation=2))
    assert lost() == 0
    put(table, at(State.PAUSED, 2, incarnation=2, lost=2))
    assert lost() == 2
    put(table, at(State.RUNNING, 3, incarnation=3, lost=2))
    assert lost() == 2, "who was slow to hear of the sleep hears of it now"


def test_a_record_that_is_gone_from_the_store_is_forgotten() -> None:
    table = RouteTable()
    put(table, at(State.RUNNING, 5))
    put(table, at(State.DEAD, 6))
    delete(table, at(State.DEAD, 6))
    put(table, at(State.RUNNING, 1))
    assert address(table) == "198.18.0.2", "an id is never used again; only memory is freed"


def test_what_was_there_before_the_first_change_is_loaded() -> None:
    table = RouteTable()
    table.load([at(State.RUNNING, 4)], [LINK, replace(LINK, id=LinkId("l2"), digest="other", sandbox=SandboxId("gone"))])
    assert address(table) == "198.18.0.2" and links(table) == {"digest": LINK}
    put(table, at(State.PAUSED, 3))
    assert address(table) == "198.18.0.2", "an older version comes late"


@pytest.mark.parametrize("state", [State.KILLING, State.DEAD])
def test_the_end_takes_the_route_away_and_nothing_late_brings_it_back(state: State) -> None:
    table = RouteTable()
    put(table, at(State.RUNNING, 1))
    put(table, at(state, 3))
    assert table.locate("i1") is None and len(table) == 0
    put(table, at(State.RUNNING, 2))
    assert table.locate("i1") is None


def test_of_two_writes_the_newer_record_wins_in_any_order() -> None:
    table = RouteTable()
    put(table, at(State.RUNNING, 1))
    put(table, replace(at(State.RUNNING, 3), policy=SleepPolicy(wake_on_traffic=False)))
    put(table, at(State.RUNNING, 2))
    route = table.locate("i1")
    assert route is not None and not route.wakes


async def test_every_reader_sees_every_change_merged_by_sandbox() -> None:
    table = RouteTable()
    early = table.changes()
    put(table, at(State.RUNNING, 1))
    late = table.changes()
    for revision in range(2, 1000):
        put(table, at(State.PAUSING if revision % 2 else State.RUNNING, revision))
    put(table, replace(at(State.RUNNING, 1), id=SandboxId("i2")))
    for reader in (early, late):
        routes = [await anext(reader), await anext(reader)]
        assert {route.sandbox for route in routes} == {"i1", "i2"}
        assert routes[0].address is None, "the newest: 999 is odd"


LINK = Link(LinkId("l1"), SandboxId("i1"), TeamId("t"), LinkMode.CONTROL, "anna", "digest", 0, 60)


def links(table: RouteTable) -> dict[str, Link]:
    route = table.locate("i1")
    assert route is not None
    return dict(route.links)


def test_links_and_who_drives_are_in_the_route() -> None:
    table = RouteTable()
    put(table, LINK)
    assert table.locate("i1") is None, "a link alone makes no sandbox"
    driver = Driver(LINK.id, "anna", 5.0)
    put(table, replace(at(State.RUNNING, 1), driver=driver))
    route = table.locate("i1")
    assert route is not None and (route.driver, dict(route.links)) == (driver, {"digest": LINK})
    put(table, replace(LINK, id=LinkId("l2"), digest="other"))
    put(table, at(State.PAUSING, 2))
    assert list(links(table)) == ["digest", "other"] and table.locate("i1") != route
    delete(table, LINK)
    delete(table, LINK)
    assert list(links(table)) == ["other"]
    assert [link.id for link in table.links()] == ["l2"]
    put(table, at(State.DEAD, 3))
    assert table.links() == [], "links of a dead sandbox go with it"


async def test_changes_of_links_are_told_and_so_is_their_end_by_time() -> None:
    table = RouteTable()
    put(table, at(State.RUNNING, 1))
    changes = table.changes()
    put(table, LINK)
    assert "digest" in (await anext(changes)).links
    table.remind(SandboxId("i1"))
    assert (await anext(changes)).sandbox == "i1"
    delete(table, LINK)
    assert not (await anext(changes)).links


async def test_an_unchanged_route_is_no_change() -> None:
    table = RouteTable()
    put(table, at(State.RUNNING, 1))
    changes = table.changes()
    put(table, replace(at(State.RUNNING, 2), metadata={"a": "b"}))
    put(table, at(State.DEAD, 3))
    change = await anext(changes)
    assert (change.sandbox, change.address, change.wakes) == ("i1", None, False)


async def test_a_reader_waits_for_what_comes() -> None:
    table = RouteTable()
    changes = table.changes()
    seen: list[Route] = []

    async def read() -> None:
        seen.append(await anext(changes))

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        assert not seen
        put(table, at(State.RUNNING, 1))
    assert seen[0].address == "198.18.0.2"


class Waking:
    def __init__(self, table: RouteTable, record: Sandbox | None, *, never: bool = False) -> None:
        self._table, self._record, self._never = table, record, never

    async def ensure_running(self, sandbox: SandboxId, why: str) -> Sandbox:
        if self._never:
            await anyio.sleep_forever()
        if self._record is None:
            raise SandboxNotFound(sandbox)
        put(self._table, self._record)
        return self._record


async def test_waking_returns_the_route_with_its_address() -> None:
    table = RouteTable()
    directory = Directory(table=table, waker=Waking(table, at(State.RUNNING, 1)))
    route = await directory.wake(RECORD.id, "traffic")
    assert route.address == "198.18.0.2" and directory.locate("i1") == route


async def test_waking_what_is_not_there_or_falls_asleep_again() -> None:
    table = RouteTable()
    with pytest.raises(SandboxNotFound):
        await Directory(table=table, waker=Waking(table, None)).wake(RECORD.id, "traffic")
    with pytest.raises(SandboxNotFound):
        await Directory(table=table, waker=Waking(table, at(State.DEAD, 9))).wake(RECORD.id, "traffic")
    other = RouteTable()
    with pytest.raises(Unavailable):
        await Directory(table=other, waker=Waking(other, at(State.PAUSED, 1))).wake(RECORD.id, "traffic")
