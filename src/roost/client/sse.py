"""The live event stream: server-sent events, cut out of bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from roost.client.records import Event


@dataclass(slots=True)
class EventStream:
    """Feeds on bytes, gives events. `last_id` is what to resume after."""

    last_id: str | None = None
    _pending: bytes = b""
    _data: list[str] = field(default_factory=list)

    def feed(self, chunk: bytes) -> list[Event]:
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        events: list[Event] = []
        for raw in lines:
            line = raw.rstrip(b"\r").decode(errors="replace")
            if not line:
                if self._data:
                    events.append(Event.read(json.loads("\n".join(self._data))))
                    self._data.clear()
                continue
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                self._data.append(value)
            elif name == "id":
                self.last_id = value
        return events
