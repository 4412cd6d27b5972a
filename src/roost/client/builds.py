"""Calls about templates that are built, as data; and what a build says, cut out of its stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from roost.client.calls import Call

Json = dict[str, Any]


def _raw(content: Any) -> Json:
    return content


def begin(request: Mapping[str, Any]) -> Call[Json]:
    return Call("POST", "/v1/builds", _raw, body={name: value for name, value in request.items() if value is not None})


def get(id: str) -> Call[Json]:
    return Call("GET", f"/v1/builds/{quote(id, safe='')}", _raw, repeatable=True)


def find(template: str | None = None, limit: int = 50) -> Call[list[Json]]:
    params = (("limit", str(limit)), *((("template", template),) if template else ()))
    return Call("GET", "/v1/builds", lambda content: content["builds"], params=params, repeatable=True)


def cancel(id: str) -> Call[Json]:
    return Call("POST", f"/v1/builds/{quote(id, safe='')}/cancel", _raw)


def find_upload(digest: str) -> Call[Json]:
    return Call("GET", f"/v1/uploads/{quote(digest, safe='')}", _raw, repeatable=True)


def tag(ref: str, tag: str) -> Call[Json]:
    return Call("POST", f"/v1/templates/{quote(ref, safe='')}/tags", _raw, body={"tag": tag}, repeatable=True)


def remove(ref: str) -> Call[list[Json]]:
    return Call("DELETE", f"/v1/templates/{quote(ref, safe='')}", lambda content: content["removed"])


def prune(unused_s: float) -> Call[int]:
    return Call("POST", "/v1/templates/prune", lambda content: content["layers"], body={"unused_s": unused_s}, timeout_s=600)


@dataclass(slots=True)
class BuildStream:
    """Feeds on bytes, gives (kind, content): `line` for each line of the log, `end` with the build at last. `last_id` is what to
    go on after."""

    last_id: str | None = None
    _pending: bytes = b""
    _kind: str = ""
    _data: list[str] = field(default_factory=list)

    def feed(self, chunk: bytes) -> list[tuple[str, Json]]:
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        events: list[tuple[str, Json]] = []
        for raw in lines:
            line = raw.rstrip(b"\r").decode(errors="replace")
            if not line:
                if self._data:
                    events.append((self._kind, json.loads("\n".join(self._data))))
                self._data.clear()
                continue
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                self._data.append(value)
            elif name == "event":
                self._kind = value
            elif name == "id":
                self.last_id = value
        return events
