from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.client import Roost, Screenshot
from roost.client.pictures import FrameReader
from roost.client.screen_calls import picture_params
from roost.domain.errors import Invalid, Unavailable, Unsupported

from ..cli.server import Server

PICTURES = st.lists(
    st.tuples(st.binary(max_size=200), st.integers(1, 9000), st.integers(1, 9000), st.floats(0.01, 1)), max_size=5
)


@pytest.fixture
def roost(server: Server) -> Iterator[Roost]:
    """Its sandboxes have no screen, whatever the machine has that the tests run on."""
    httpx.post(f"{server.router.agent_url}/init", json={"envVars": {"DISPLAY": ":29998"}}, timeout=60, trust_env=False)
    with Roost(server.url, server.key) as roost:
        yield roost
        for record in roost.sandboxes():
            roost.get(record.id).kill()
    httpx.post(f"{server.router.agent_url}/init", json={"envVars": {}}, timeout=60, trust_env=False)


@given(PICTURES, st.data())
def test_pictures_are_cut_out_of_a_stream_however_it_is_split(
    sent: list[tuple[bytes, int, int, float]], data: st.DataObject
) -> None:
    raw = b"--mark\r\n"
    for content, width, height, scale in sent:
        head = f"Content-Type: image/jpeg\r\nContent-Length: {len(content)}\r\n"
        head += f"Roost-Width: {width}\r\nRoost-Height: {height}\r\nRoost-Scale: {scale!r}\r\n\r\n"
        raw += head.encode() + content + b"\r\n--mark\r\n"
    reader, found = FrameReader(), list[Screenshot]()
    while raw:
        size = data.draw(st.integers(1, len(raw)))
        found += reader.feed(raw[:size])
        raw = raw[size:]
    assert found == [Screenshot(content, "image/jpeg", width, height, scale) for content, width, height, scale in sent]


def test_what_is_no_picture_is_told() -> None:
    with pytest.raises(Unavailable, match="no screenshot"):
        FrameReader().feed(b"--mark\r\nContent-Type: text/html\r\n\r\n")


def test_what_is_wanted_of_a_picture_as_a_query() -> None:
    assert picture_params(scale=None, region=(1, 2, 3, 4), cursor=False, format="png", quality=7) == {
        "region": "1,2,3,4",
        "cursor": "false",
        "format": "png",
        "quality": "7",
    }


def test_a_sandbox_without_a_desktop_is_unsupported(roost: Roost) -> None:
    desktop = roost.create().desktop
    for use in (desktop.screen, desktop.screenshot, desktop.windows, desktop.clipboard, desktop.click, desktop.wait_still):
        with pytest.raises(Unsupported) as caught:
            use()
        assert caught.value.code == "no_desktop"


def test_what_the_agent_refuses_comes_as_the_clients_own_error(roost: Roost) -> None:
    with pytest.raises(Invalid, match="both x and y") as caught:
        roost.create().desktop.click(x=1)
    assert caught.value.code == "invalid"
