from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain.address import (
    GATEWAY_ADDRESS,
    GUEST_ADDRESS,
    GUEST_NETWORK,
    POOL,
    SlotPlan,
    capacity,
    check_instance,
    choose_range,
    dns_address,
    plan_slot,
    slot_index_at,
    slot_index_named,
)
from roost.domain.errors import Exhausted, Invalid

RANGE = IPv4Network("198.18.32.0/20")
INSTANCES = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=5, max_size=5)
INDICES = st.integers(1, capacity(RANGE))


def test_a_range_holds_all_its_thirties_but_the_nodes_own() -> None:
    assert capacity(RANGE) == 1023
    assert dns_address(RANGE) == IPv4Address("198.18.32.1")


def test_the_addresses_of_a_slot() -> None:
    plan = plan_slot("abc12", RANGE, 3)
    assert plan.guest_netns == "roost-abc12-g3"
    assert plan.router_netns == "roost-abc12-r3"
    assert plan.host_link == "rabc12w3"
    assert plan.host_address == IPv4Address("198.18.32.13")
    assert plan.router_address == IPv4Address("198.18.32.14")
    assert plan.host_mac == "02:00:c6:12:20:0d"
    assert plan.router_mac == "02:00:c6:12:20:0e"


def test_guest_and_gateway_share_a_link() -> None:
    assert set(GUEST_NETWORK.hosts()) == {GATEWAY_ADDRESS, GUEST_ADDRESS}


@given(INSTANCES, INDICES)
def test_a_slot_is_found_by_its_address_and_by_its_names(instance: str, index: int) -> None:
    plan = plan_slot(instance, RANGE, index)
    assert slot_index_at(RANGE, plan.router_address) == index
    for name in (plan.guest_netns, plan.router_netns, plan.host_link):
        assert slot_index_named(instance, name) == index
    assert len(plan.host_link) <= 15  # the kernel's limit


@given(INDICES, INDICES)
def test_no_two_slots_share_anything(one: int, other: int) -> None:
    first, second = plan_slot("abc12", RANGE, one), plan_slot("abc12", RANGE, other)
    shared = set(_everything_in(first)) & set(_everything_in(second))
    assert bool(shared) == (one == other)
    assert dns_address(RANGE) not in (first.host_address, first.router_address)


def _everything_in(plan: SlotPlan) -> tuple[object, ...]:
    return (
        plan.guest_netns,
        plan.router_netns,
        plan.host_link,
        plan.host_address,
        plan.router_address,
        plan.host_mac,
        plan.router_mac,
    )


@given(INSTANCES, INSTANCES, INDICES)
def test_names_of_another_instance_are_not_ours(ours: str, theirs: str, index: int) -> None:
    plan = plan_slot(theirs, RANGE, index)
    found = {slot_index_named(ours, name) for name in (plan.guest_netns, plan.router_netns, plan.host_link)}
    assert found == ({index} if ours == theirs else {None})


@pytest.mark.parametrize("name", ["eth0", "roost-abc12-g", "roost-abc12-g0", "roost-abc12-x1", "rabc12w1x", "rabc12dns"])
def test_a_name_that_is_no_slots(name: str) -> None:
    assert slot_index_named("abc12", name) is None


@pytest.mark.parametrize("address", ["198.18.32.1", "198.18.32.2", "198.18.32.5", "198.18.32.7", "198.18.48.6", "10.0.0.6"])
def test_an_address_that_is_no_slots(address: str) -> None:
    assert slot_index_at(RANGE, IPv4Address(address)) is None


@pytest.mark.parametrize("index", [-1, 0, 1024])
def test_a_slot_that_does_not_fit_is_refused(index: int) -> None:
    with pytest.raises(Invalid, match=f"no slot {index} "):
        plan_slot("abc12", RANGE, index)


@pytest.mark.parametrize("name", ["", "abcd", "abcdef", "ABCDE", "ab-cd", "abcd\n", "äbcde"])
def test_an_instance_name_that_would_not_fit_an_interface_is_refused(name: str) -> None:
    with pytest.raises(Invalid):
        check_instance(name)


@given(INSTANCES)
def test_a_free_range_comes_from_the_pool_and_is_the_same_every_time(instance: str) -> None:
    chosen = choose_range(instance, POOL, {}, ())
    assert chosen.prefixlen == 20
    assert chosen.subnet_of(POOL)
    assert choose_range(instance, POOL, {}, ()) == chosen


@given(st.lists(INSTANCES, min_size=32, max_size=32, unique=True))
def test_instances_fill_the_pool_without_overlap(instances: list[str]) -> None:
    taken: dict[IPv4Network, str] = {}
    for instance in instances:
        taken[choose_range(instance, POOL, taken, ())] = instance
    assert set(taken) == set(POOL.subnets(new_prefix=20))
    with pytest.raises(Exhausted, match="in use on this machine"):
        choose_range("other" if "other" not in instances else "9other"[:5], POOL, taken, ())
    assert all(choose_range(instance, POOL, taken, ()) == network for network, instance in taken.items())


def test_a_range_held_outside_the_pool_is_kept() -> None:
    held = IPv4Network("10.99.0.0/20")
    assert choose_range("abc12", POOL, {held: "abc12"}, ()) == held


def test_what_the_machine_uses_itself_is_passed_over() -> None:
    first = choose_range("abc12", POOL, {}, ())
    second = choose_range("abc12", POOL, {}, [IPv4Network((first[77], 32))])
    assert second != first
    with pytest.raises(Exhausted):
        choose_range("abc12", POOL, {}, [POOL])


def test_a_pool_smaller_than_a_range_is_refused() -> None:
    with pytest.raises(Invalid, match="too small"):
        choose_range("abc12", IPv4Network("198.18.0.0/21"), {}, ())
