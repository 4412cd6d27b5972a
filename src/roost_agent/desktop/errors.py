"""What can go wrong with a desktop, as the caller sees it: `{"error": {"code", "message", …}}`."""

from __future__ import annotations

from roost_agent.errors import HttpError, printable


class DesktopError(HttpError):
    def __init__(self, status: int, code: str, message: str, **facts: object) -> None:
        super().__init__(status, message, **facts)
        self.code = code

    def body(self) -> dict[str, object]:
        return {"error": {"code": self.code, "message": printable(self.message), **self.facts}}


def invalid(message: str, **facts: object) -> DesktopError:
    return DesktopError(400, "invalid", message, **facts)


def no_desktop(display: str, why: str) -> DesktopError:
    return DesktopError(
        501,
        "no_desktop",
        f"This sandbox has no desktop: {why}. Make one that has (`roost create --template desktop`), or run an X server on"
        f" display {display} in this one, with the packages python3-xlib and python3-pil installed.",
        display=display,
    )
