"""Errors on their way to the process that asked: the same class, code, message and facts there."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic_core import to_jsonable_python

from roost.domain.errors import Fault, RoostError, Unavailable, rebuild
from roost.rpc.frames import MOST_BYTES, read_json


class PeerLost(Unavailable):
    """The other process ended before it answered, or there is none now. It may have done what it was asked, or not."""

    def __init__(self, peer: str, detail: str) -> None:
        super().__init__(
            "process_lost",
            f"The {peer} process of Roost {detail}. It is started again by itself; the server's log tells why it ended.",
            process=peer,
        )


def pack_failure(error: BaseException) -> bytes:
    told = error if isinstance(error, RoostError) else Fault("internal_error", f"{type(error).__name__}: see the log.")
    classes = [kind.__name__ for kind in type(told).__mro__ if issubclass(kind, RoostError)]
    facts = to_jsonable_python(told.facts, fallback=str, inf_nan_mode="strings")
    packed = json.dumps({"classes": classes, "code": told.code, "message": told.message, "facts": facts}).encode()
    if len(packed) > MOST_BYTES:  # facts may hold a command's whole output
        return pack_failure(rebuild(type(told), told.code, told.message[:10_000], {}))
    return packed


def unpack_failure(payload: bytes) -> RoostError:
    """Of a class that is not known here the nearest one above it. Raises BadFrame."""
    told = read_json(payload)
    known = {kind.__name__: kind for kind in _all(RoostError)}
    kind = next((known[name] for name in told.get("classes", ()) if name in known), Fault)
    facts = told.get("facts")
    return rebuild(kind, str(told.get("code")), str(told.get("message")), facts if isinstance(facts, dict) else {})


def _all(kind: type[RoostError]) -> Iterator[type[RoostError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _all(below)
