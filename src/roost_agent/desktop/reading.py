"""Reading requests: the right type, or a sentence that names the field. What fits the screen is judged by the companion."""

from __future__ import annotations

import json
import math
from typing import Any

from roost_agent.desktop.errors import invalid
from roost_agent.errors import HttpError
from roost_agent.http.connection import Exchange

MAX_REQUEST_BYTES = 1024 * 1024


class Fields:
    """The fields of a JSON body, or the parameters of a query, where everything is text."""

    def __init__(self, content: dict[str, Any], *, textual: bool = False) -> None:
        self._content = content
        self._textual = textual

    @classmethod
    async def of_body(cls, exchange: Exchange, limit_bytes: int = MAX_REQUEST_BYTES) -> Fields:
        """Raises HttpError 400 or 413."""
        raw = await exchange.body.read_all(limit_bytes)
        try:
            content = json.loads(raw or b"{}")
        except (ValueError, RecursionError) as error:
            raise invalid(f"The request is not valid JSON: {error}.") from error
        if not isinstance(content, dict):
            raise invalid("The request must be a JSON object.")
        return cls(content)

    @classmethod
    def of_query(cls, exchange: Exchange) -> Fields:
        return cls(exchange.head.parameters(), textual=True)

    def has(self, name: str) -> bool:
        return self._content.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """Without a default the field must be there."""
        value = self._content.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise _must_be(name, "a text")
        return value

    def number(self, name: str, *, least: float, most: float, default: float | None = None) -> float:
        """Without a default the field must be there."""
        value = self._content.get(name)
        if value is None and default is not None:
            return default
        kind = f"a number from {least:g} to {most:g}"
        if self._textual and isinstance(value, str):
            try:
                value = float(value)
            except ValueError as error:
                raise _must_be(name, kind) from error
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not (math.isfinite(value) and least <= value <= most)
        ):
            raise _must_be(name, kind)
        return value

    def whole(self, name: str, *, least: int, most: int, default: int | None = None) -> int:
        value = self.number(name, least=least, most=most, default=default)
        if value != int(value):
            raise _must_be(name, f"a whole number from {least} to {most}")
        return int(value)

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._content.get(name)
        if value is None:
            return default
        if self._textual:
            value = {"true": True, "1": True, "false": False, "0": False}.get(value.lower())
        if not isinstance(value, bool):
            raise _must_be(name, "true or false")
        return value

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        value = self.text(name, default)
        if value not in choices:
            raise _must_be(name, f"one of {', '.join(choices)}")
        return value

    def texts(self, name: str) -> list[str]:
        value = self._content.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise _must_be(name, "a list of texts")
        return value

    def numbers(self, name: str, count: int) -> list[int] | None:
        """`x,y,w,h` in a query, a list in a body."""
        value = self._content.get(name)
        if value is None:
            return None
        parts = value.split(",") if self._textual else value
        try:
            found = [int(part) for part in parts]
        except (TypeError, ValueError) as error:
            raise _must_be(name, f"{count} whole numbers") from error
        if len(found) != count:
            raise _must_be(name, f"{count} whole numbers")
        return found

    def points(self, name: str, *, least: int, most: int) -> list[list[float]]:
        value = self._content.get(name)
        wanted = f"a list of {least} to {most} points [x, y]"
        if not isinstance(value, list) or not least <= len(value) <= most:
            raise _must_be(name, wanted)
        for point in value:
            if not isinstance(point, list) or len(point) != 2 or not all(_is_coordinate(part) for part in point):
                raise _must_be(name, wanted)
        return value

    def place(self) -> list[float] | None:
        """`x` and `y`, both or neither."""
        if self.has("x") != self.has("y"):
            raise invalid("Give both x and y, or neither to stay where the pointer is.")
        return [self.coordinate("x"), self.coordinate("y")] if self.has("x") else None

    def coordinate(self, name: str) -> float:
        return self.number(name, least=-100_000, most=100_000)

    def scale(self) -> float:
        """Of the picture that the coordinates were read from."""
        value = self.number("scale", least=0, most=1, default=1.0)
        if value <= 0:
            raise _must_be("scale", "a number above 0, up to 1")
        return value


def _is_coordinate(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _must_be(name: str, kind: str) -> HttpError:
    return invalid(f"The field `{name}` must be {kind}.", field=name)
