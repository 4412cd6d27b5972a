"""What all schemas of `/v1` are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field


def _storable(text: str) -> str:
    """JSON can spell half a character (`\\ud800`); nothing behind this door can hold one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half a character") from None
    return text


Text = Annotated[str, AfterValidator(_storable)]
Pairs = dict[Text, Text]
# Finite, and within what a clock can hold: beyond that is a mistake, not a wish.
Seconds = Annotated[float, Field(allow_inf_nan=False, ge=-1e10, le=1e10)]
# What every JSON reader can hold.
Whole = Annotated[int, Field(ge=-(2**53), le=2**53)]
Timestamp = Annotated[str, Field(description="RFC 3339, UTC.", examples=["2026-01-31T12:00:00.250Z"])]


TAKEN = ConfigDict(extra="forbid", strict=True)
"""A body from a caller: a misspelt field is refused, never ignored."""
GIVEN = ConfigDict(json_schema_serialization_defaults_required=True)
"""An answer."""
