"""The calls to a sandbox's desktop, as data. `Desktop` and `AsyncDesktop` both run these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roost.client.agent import AgentAccess
from roost.client.calls import Call
from roost.client.pictures import Point, Screen, Window
from roost.client.wire import Streaming

# A long text of many strange characters, or a long way for the mouse.
_INPUT_S = 960.0
_GRACE_S = 30.0


def _get(
    access: AgentAccess, route: str, read: Any, timeout_s: float = 60.0, params: tuple[tuple[str, str], ...] = ()
) -> Call[Any]:
    return Call("GET", route, read, params=params, headers=access.headers(), timeout_s=timeout_s, repeatable=True)


def _post(access: AgentAccess, route: str, read: Any, **body: Any) -> Call[Any]:
    given = {name: value for name, value in body.items() if value is not None}
    return Call("POST", route, read, body=given, headers=access.headers(), timeout_s=_INPUT_S)


def _cursor(content: Any) -> Point:
    return Point.read(content["cursor"])


def picture_params(**given: Any) -> dict[str, str]:
    """The query of a screenshot or a stream of frames; what is None is left to the sandbox."""
    params: dict[str, str] = {}
    for name, value in given.items():
        if value is None:
            continue
        if isinstance(value, bool):
            params[name] = "true" if value else "false"
        elif isinstance(value, Sequence) and not isinstance(value, str):
            params[name] = ",".join(str(part) for part in value)
        else:
            params[name] = str(value)
    return params


def screenshot(access: AgentAccess, params: Mapping[str, str]) -> Streaming:
    return Streaming("GET", "/desktop/screenshot", access.headers(), params=params)


def frames(access: AgentAccess, params: Mapping[str, str]) -> Streaming:
    return Streaming("GET", "/desktop/frames", access.headers(), params=params)


def screen(access: AgentAccess) -> Call[Screen]:
    return _get(access, "/desktop", Screen.read)


def resize(access: AgentAccess, width: int, height: int) -> Call[Screen]:
    return _post(access, "/desktop/size", Screen.read, width=width, height=height)


def move(access: AgentAccess, x: float, y: float, scale: float | None) -> Call[Point]:
    return _post(access, "/desktop/move", _cursor, x=x, y=y, scale=scale)


def click(access: AgentAccess, x: float | None, y: float | None, **how: Any) -> Call[Point]:
    return _post(access, "/desktop/click", _cursor, x=x, y=y, **how)


def drag(access: AgentAccess, path: Sequence[Sequence[float]], **how: Any) -> Call[Point]:
    return _post(access, "/desktop/drag", _cursor, path=[list(point) for point in path], **how)


def scroll(access: AgentAccess, dx: int, dy: int, **how: Any) -> Call[Point]:
    return _post(access, "/desktop/scroll", _cursor, dx=dx, dy=dy, **how)


def type_text(access: AgentAccess, text: str) -> Call[Point]:
    return _post(access, "/desktop/type", _cursor, text=text)


def key(access: AgentAccess, keys: str) -> Call[Point]:
    return _post(access, "/desktop/key", _cursor, keys=keys)


def press(access: AgentAccess, button: str | None, key: str | None) -> Call[Point]:
    return _post(access, "/desktop/press", _cursor, button=button, key=key)


def release(access: AgentAccess, button: str | None, key: str | None) -> Call[Point]:
    return _post(access, "/desktop/release", _cursor, button=button, key=key)


def clipboard(access: AgentAccess) -> Call[str]:
    return _get(access, "/desktop/clipboard", lambda content: content["text"])


def set_clipboard(access: AgentAccess, text: str) -> Call[None]:
    return Call("PUT", "/desktop/clipboard", lambda _: None, body={"text": text}, headers=access.headers(), repeatable=True)


def windows(access: AgentAccess) -> Call[list[Window]]:
    return _get(access, "/desktop/windows", lambda content: [Window.read(item) for item in content["windows"]])


def focus(access: AgentAccess, window: str) -> Call[Window]:
    return _post(access, "/desktop/windows/focus", Window.read, id=window)


def close(access: AgentAccess, window: str) -> Call[bool]:
    return _post(access, "/desktop/windows/close", lambda content: bool(content["closed"]), id=window)


def open_url(access: AgentAccess, url: str) -> Call[int]:
    return _post(access, "/desktop/open", lambda content: int(content["pid"]), url=url)


def open_program(access: AgentAccess, program: str, arguments: Sequence[str]) -> Call[int]:
    return _post(access, "/desktop/open", lambda content: int(content["pid"]), program=program, args=list(arguments))


def still(access: AgentAccess, for_s: float, timeout_s: float) -> Call[bool]:
    params = (("for_ms", str(round(for_s * 1000))), ("timeout_ms", str(round(timeout_s * 1000))))
    return _get(access, "/desktop/still", lambda content: bool(content["still"]), timeout_s + _GRACE_S, params)
