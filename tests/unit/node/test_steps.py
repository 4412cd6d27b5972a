"""Work side by side: each goes to its own end, and the first error given is the one told."""

from __future__ import annotations

import anyio
import pytest

from roost.node.steps import Steps, both

pytestmark = pytest.mark.anyio


async def test_two_results_come_back_in_the_order_asked_for() -> None:
    second_is_done = anyio.Event()

    async def first() -> str:
        await second_is_done.wait()  # only possible if both are under way at once
        return "first"

    async def second() -> int:
        second_is_done.set()
        return 2

    assert await both(first(), second()) == ("first", 2)


async def test_a_failure_lets_the_other_end_before_it_is_raised_and_undone() -> None:
    happened: list[str] = []

    async def fails() -> None:
        raise ValueError("the disk")

    async def goes_on() -> None:
        await anyio.lowlevel.checkpoint()
        happened.append("the proof ended")

    async def undo() -> None:
        happened.append("undone")

    with pytest.raises(ValueError, match="the disk"):
        async with Steps("pause") as steps:
            await both(steps.do("disk", fails(), undo=undo), steps.do("prove", goes_on()))
    assert happened == ["the proof ended", "undone"]
