"""The desktop's routes in an agent without a screen: what is wrong is said before anything is started."""

from __future__ import annotations

import getpass
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .guest import Guest

NOWHERE = ":29998"


@pytest.fixture
def screenless(shared_agent: Guest) -> Iterator[Guest]:
    shared_agent.init(defaultUser=getpass.getuser(), accessToken="", envVars={"DISPLAY": NOWHERE})
    yield shared_agent
    shared_agent.init(envVars={})


def refusal(guest: Guest, method: str, path: str, **request: Any) -> tuple[int, dict[str, Any]]:
    answer = guest.http.request(method, path, **request)
    return answer.status_code, answer.json()["error"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/desktop", None),
        ("GET", "/desktop/screenshot", None),
        ("GET", "/desktop/frames", None),
        ("GET", "/desktop/still", None),
        ("GET", "/desktop/windows", None),
        ("GET", "/desktop/clipboard", None),
        ("PUT", "/desktop/clipboard", {"text": "a"}),
        ("POST", "/desktop/move", {"x": 1, "y": 2}),
        ("POST", "/desktop/click", {}),
        ("POST", "/desktop/drag", {"path": [[1, 2], [3, 4]]}),
        ("POST", "/desktop/scroll", {"dy": 1}),
        ("POST", "/desktop/type", {"text": "a"}),
        ("POST", "/desktop/key", {"keys": "a"}),
        ("POST", "/desktop/press", {"key": "shift"}),
        ("POST", "/desktop/release", {}),
        ("POST", "/desktop/size", {"width": 800, "height": 600}),
        ("POST", "/desktop/windows/focus", {"id": "0x1"}),
        ("POST", "/desktop/windows/close", {"id": "0x1"}),
        ("POST", "/desktop/open", {"program": "true"}),
    ],
)
def test_every_verb_says_that_there_is_no_desktop_and_the_way_out(screenless: Guest, method: str, path: str, body: Any) -> None:
    status, error = refusal(screenless, method, path, json=body)
    assert (status, error["code"], error["display"]) == (501, "no_desktop", NOWHERE)
    assert "roost create --template desktop" in error["message"]


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("move", {"x": 1}, "`y` must be a number"),
        ("move", {"x": "1", "y": 2}, "`x` must be a number"),
        ("move", {"x": 1, "y": 2, "scale": 0}, "`scale` must be a number above 0"),
        ("click", {"x": 1}, "both x and y"),
        ("click", {"button": "lower"}, "one of left, middle"),
        ("click", {"count": 1.5}, "`count` must be a whole number"),
        ("click", {"modifiers": "ctrl"}, "`modifiers` must be a list of texts"),
        ("drag", {"path": [[1, 2]]}, "a list of 2 to 1000 points"),
        ("drag", {"path": [[1, 2], [3]]}, "points [x, y]"),
        ("scroll", {"dy": 1000}, "from -200 to 200"),
        ("type", {}, "`text` must be a text"),
        ("type", {"text": "x" * 100_001}, "100001 characters are too many"),
        ("press", {}, "either button, or key"),
        ("release", {"button": "left", "key": "a"}, "or neither"),
        ("size", {"width": 10, "height": 600}, "`width` must be a number from 64 to 8192"),
        ("windows/focus", {"id": "first"}, "'first' is no window's id"),
        ("open", {"url": "--help"}, "is no address"),
        ("open", {"url": "a:b", "program": "c"}, "either url, or program"),
    ],
)
def test_requests_that_make_no_sense_are_refused_in_words(screenless: Guest, path: str, body: Any, says: str) -> None:
    status, error = refusal(screenless, "POST", f"/desktop/{path}", json=body)
    assert (status, error["code"]) == (400, "invalid")
    assert says in error["message"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("format=gif", "one of png, jpeg, webp"),
        ("quality=0", "from 1 to 100"),
        ("quality=high", "`quality` must be a number"),
        ("scale=2", "from 0 to 1"),
        ("scale=nan", "from 0 to 1"),
        ("region=1,2,3", "4 whole numbers"),
        ("cursor=maybe", "true or false"),
        ("scale=0.5&width=3", "not both"),
    ],
)
def test_pictures_that_cannot_be_are_refused_in_words(screenless: Guest, query: str, says: str) -> None:
    status, error = refusal(screenless, "GET", f"/desktop/screenshot?{query}")
    assert (status, error["code"]) == (400, "invalid")
    assert says in error["message"]


def test_what_is_no_json_is_refused(screenless: Guest) -> None:
    assert "not valid JSON" in refusal(screenless, "POST", "/desktop/move", content=b"{")[1]["message"]
    assert "JSON object" in refusal(screenless, "POST", "/desktop/move", json=[])[1]["message"]


def test_the_token_guards_the_desktop(fresh_agent: Guest) -> None:
    fresh_agent.init(accessToken="secret")
    assert fresh_agent.http.get("/desktop").status_code == 401
    answer = fresh_agent.http.get("/desktop", headers={"X-Access-Token": "secret"})
    assert answer.status_code != 401


def test_an_x_server_that_does_not_answer_is_told_with_its_reason(fresh_agent: Guest) -> None:
    """A socket that nobody listens on: left by a server that was killed, or an image without the modules."""
    sockets = Path("/tmp/.X11-unix")
    sockets.mkdir(exist_ok=True)
    stale = sockets / "X29997"
    stale.touch()
    try:
        assert stat.S_ISREG(stale.stat().st_mode)
        fresh_agent.init(envVars={"DISPLAY": ":29997"})
        status, error = refusal(fresh_agent, "GET", "/desktop")
    finally:
        stale.unlink()
    assert (status, error["code"]) == (501, "no_desktop")
    assert "python3-xlib" in error["message"]
    assert any(why in error["message"] for why in ("does not answer", "lacks a module", "cannot be started"))
