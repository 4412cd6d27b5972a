"""What can be asked of another process: a name, and the types of the question and the answer.

    KILL: Method[KillOrder, Captured | None] = Method("kill", KillOrder, Captured | None, repeatable=True)

The same line serves both sides. `bytes` go as they are; anything else that pydantic knows goes as JSON and is checked on arrival.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from roost.domain.errors import Fault, Invalid
from roost.rpc.frames import MOST_BYTES

Q = TypeVar("Q")
A = TypeVar("A")
T = TypeVar("T")


class Method(Generic[Q, A]):
    def __init__(self, name: str, question: Any, answer: Any, *, repeatable: bool = False) -> None:
        """`repeatable`: may be asked again when the other process ended before it answered."""
        self.name = name
        self.question: Codec[Q] = Codec(question, f"question {name!r}")
        self.answer: Codec[A] = Codec(answer, f"answer to {name!r}")
        self.repeatable = repeatable


class Codec(Generic[T]):
    def __init__(self, type: Any, what: str) -> None:
        self._adapter: TypeAdapter[T] | None = None if type is bytes else TypeAdapter(type)
        self._what = what

    def encode(self, value: T) -> bytes:
        """Raises Invalid for text that is no Unicode, Fault for what is too large to be sent."""
        if self._adapter is None:
            assert isinstance(value, bytes)
            encoded = value
        else:
            try:
                encoded = self._adapter.dump_json(value)
            except (PydanticSerializationError, UnicodeEncodeError) as error:
                raise Invalid("text_invalid", f"The {self._what} holds what is no Unicode text.") from error
        if len(encoded) > MOST_BYTES - 4096:  # room for the name and the context
            raise Fault("message_too_large", f"The {self._what} has {len(encoded)} bytes; a process takes {MOST_BYTES} at once.")
        return encoded

    def decode(self, encoded: bytes) -> T:
        """Raises Fault for what does not fit the type."""
        if self._adapter is None:
            return encoded  # pyright: ignore[reportReturnType]
        try:
            return self._adapter.validate_json(encoded)
        except ValidationError as error:
            # Not the values: they may be secret.
            places = ", ".join(".".join(map(str, each["loc"])) + ": " + each["msg"] for each in error.errors()[:3])
            raise Fault("message_invalid", f"The {self._what} does not fit: {places}.") from error
