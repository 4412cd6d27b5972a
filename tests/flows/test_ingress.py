"""Who may reach a sandbox is its own for life: made with it, kept over sleep, and never a fork's."""

from __future__ import annotations

import pytest

from roost.domain.errors import Invalid
from roost.domain.sandbox import PUBLIC, Ingress, Sandbox
from tests.flows.world import ME, Roost

pytestmark = pytest.mark.anyio


async def test_one_that_is_not_public_gets_a_token_that_stays(roost: Roost) -> None:
    wanted = Ingress(public=False, token="chosen by a caller", mask_host="localhost:${PORT}", https_ports=(8443,))
    made = await roost.sandbox(ingress=wanted)
    assert made.ingress.token and made.ingress.token not in ("chosen by a caller", made.access_token)
    assert (made.ingress.mask_host, made.ingress.https_ports) == ("localhost:${PORT}", (8443,))
    route = roost.directory.locate(made.id)
    assert route is not None and route.ingress == made.ingress
    await roost.power.pause(ME, made.id)
    asleep = roost.directory.locate(made.id)
    assert asleep is not None and asleep.address is None and asleep.ingress == made.ingress
    assert (await roost.power.resume(ME, made.id)).sandbox.ingress == made.ingress


async def test_a_public_one_has_none(roost: Roost) -> None:
    made = await roost.sandbox()
    assert made.ingress == PUBLIC and made.ingress.token is None


async def test_a_fork_is_as_closed_as_its_parent_with_a_token_of_its_own(roost: Roost) -> None:
    parent = await roost.sandbox(ingress=Ingress(public=False, mask_host="x"))
    children = [child for child in await roost.forks.fork(ME, parent.id, 2) if isinstance(child, Sandbox)]
    assert len({child.ingress.token for child in (parent, *children)}) == 3
    assert {(child.ingress.public, child.ingress.mask_host) for child in children} == {(False, "x")}


@pytest.mark.parametrize(
    "ingress",
    [
        Ingress(mask_host="evil\r\nX-Admin: yes"),
        Ingress(mask_host=""),
        Ingress(mask_host="a b"),
        Ingress(mask_host="x" * 300),
        Ingress(https_ports=(0,)),
        Ingress(https_ports=(65536,)),
        Ingress(https_ports=tuple(range(1, 200))),
    ],
    ids=repr,
)
async def test_what_cannot_be_is_refused(roost: Roost, ingress: Ingress) -> None:
    with pytest.raises(Invalid):
        await roost.sandbox(ingress=ingress)
