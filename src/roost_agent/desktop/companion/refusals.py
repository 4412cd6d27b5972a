"""What the companion cannot do, as its caller is told."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    def __init__(self, status: int, code: str, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.facts = facts

    def fields(self) -> dict[str, Any]:
        return {"status": self.status, "code": self.code, "message": self.message, "facts": self.facts}


def invalid(message: str, **facts: Any) -> Refusal:
    return Refusal(400, "invalid", message, **facts)
