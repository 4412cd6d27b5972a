"""The calls to a sandbox's desktop, as data. `Desktop` and `AsyncDesktop` both run these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roost.client.agent import Door
from roost.client.calls import Call
from roost.client.pictures import Point, Screen, Window
from roost.client.wire import Streaming

# A long text of many strange characters, or a long way for the mouse.
_INPUT_S = 960.0
_GRACE_S = 30.0


def _get(door: Door, route: str, read: Any, timeout_s: float = 60.0, params: tuple[tuple[str, str], ...] = ()) -> Call[Any]:
    return Call("GET", route, read, params=params, headers=door.headers(), timeout_s=timeout_s, repeatable=True)


def _post(door: Door, route: str, read: Any, **body: Any) -> Call[Any]:
    given = {name: value for name, value in body.items() if value is not None}
    return Call("POST", route, read, body=given, headers=door.headers(), timeout_s=_INPUT_S)


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


def screenshot(door: Door, params: Mapping[str, str]) -> Streaming:
    return Streaming("GET", "/desktop/screenshot", door.headers(), params=params)


def frames(door: Door, params: Mapping[str, str]) -> Streaming:
    return Streaming("GET", "/desktop/frames", door.headers(), params=params)


def screen(door: Door) -> Call[Screen]:
    return _get(door, "/desktop", Screen.read)


def resize(door: Door, width: int, height: int) -> Call[Screen]:
    return _post(door, "/desktop/size", Screen.read, width=width, height=height)


def move(door: Door, x: float, y: float, scale: float | None) -> Call[Point]:
    return _post(door, "/desktop/move", _cursor, x=x, y=y, scale=scale)


def click(door: Door, x: float | None, y: float | None, **how: Any) -> Call[Point]:
    return _post(door, "/desktop/click", _cursor, x=x, y=y, **how)


def drag(door: Door, path: Sequence[Sequence[float]], **how: Any) -> Call[Point]:
    return _post(door, "/desktop/drag", _cursor, path=[list(point) for point in path], **how)


def scroll(door: Door, dx: int, dy: int, **how: Any) -> Call[Point]:
    return _post(door, "/desktop/scroll", _cursor, dx=dx, dy=dy, **how)


def type_text(door: Door, text: str) -> Call[Point]:
    return _post(door, "/desktop/type", _cursor, text=text)


def key(door: Door, keys: str) -> Call[Point]:
    return _post(door, "/desktop/key", _cursor, keys=keys)


def press(door: Door, button: str | None, key: str | None) -> Call[Point]:
    return _post(door, "/desktop/press", _cursor, button=button, key=key)


def release(door: Door, button: str | None, key: str | None) -> Call[Point]:
    return _post(door, "/desktop/release", _cursor, button=button, key=key)


def clipboard(door: Door) -> Call[str]:
    return _get(door, "/desktop/clipboard", lambda content: content["text"])


def set_clipboard(door: Door, text: str) -> Call[None]:
    return Call("PUT", "/desktop/clipboard", lambda _: None, body={"text": text}, headers=door.headers(), repeatable=True)


def windows(door: Door) -> Call[list[Window]]:
    return _get(door, "/desktop/windows", lambda content: [Window.read(item) for item in content["windows"]])


def focus(door: Door, window: str) -> Call[Window]:
    return _post(door, "/desktop/windows/focus", Window.read, id=window)


def close(door: Door, window: str) -> Call[bool]:
    return _post(door, "/desktop/windows/close", lambda content: bool(content["closed"]), id=window)


def open_url(door: Door, url: str) -> Call[int]:
    return _post(door, "/desktop/open", lambda content: int(content["pid"]), url=url)


def open_program(door: Door, program: str, arguments: Sequence[str]) -> Call[int]:
    return _post(door, "/desktop/open", lambda content: int(content["pid"]), program=program, args=list(arguments))


def still(door: Door, for_s: float, timeout_s: float) -> Call[bool]:
    params = (("for_ms", str(round(for_s * 1000))), ("timeout_ms", str(round(timeout_s * 1000))))
    return _get(door, "/desktop/still", lambda content: bool(content["still"]), timeout_s + _GRACE_S, params)
