"""Links to a sandbox's screen and ports, and who drives: the records and the calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from roost.client.calls import Call
from roost.client.records import Json


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """To the screen, with a mode, or to a port. `token`, `url` and, for a screen, `websocket` are there only where the link was
    made: they hold its secret."""

    id: str
    mode: str | None
    label: str
    created_at: datetime
    expires_at: datetime
    port: int | None = None
    token: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    websocket: str | None = field(default=None, repr=False)
    raw: Json = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def read(content: Json) -> LinkRecord:
        return LinkRecord(
            id=content["id"],
            mode=content["mode"],
            label=content.get("label", ""),
            created_at=datetime.fromisoformat(content["created_at"]),
            expires_at=datetime.fromisoformat(content["expires_at"]),
            port=content.get("port"),
            token=content.get("token"),
            url=content.get("url"),
            websocket=content.get("websocket"),
            raw=content,
        )


def make(
    ref: str, *, control: bool = False, port: int | None = None, seconds: float = 3600.0, label: str = ""
) -> Call[LinkRecord]:
    body: dict[str, Any] = {"seconds": seconds, "label": label}
    if control:
        body["mode"] = "control"
    if port is not None:
        body["port"] = port
    return Call("POST", _path(ref), LinkRecord.read, body=body)


def list_links(ref: str) -> Call[list[LinkRecord]]:
    return Call("GET", _path(ref), lambda content: [LinkRecord.read(item) for item in content["links"]], repeatable=True)


def revoke(ref: str, id: str) -> Call[None]:
    return Call("DELETE", f"{_path(ref)}/{quote(id, safe='')}", lambda _: None)


def seat(token: str) -> Call[dict[str, Any]]:
    """What a link opens, and who drives there."""
    return Call("GET", "/v1/driver", lambda content: content, params=(("token", token),), repeatable=True)


def take_over(token: str, *, force: bool = False) -> Call[dict[str, Any]]:
    body = {"token": token, "force": force}
    return Call("POST", "/v1/driver/take", lambda content: content, body=body, repeatable=True)


def hand_back(token: str) -> Call[None]:
    return Call("POST", "/v1/driver/give", lambda _: None, body={"token": token}, repeatable=True)


def _path(ref: str) -> str:
    return f"/v1/sandboxes/{quote(ref, safe='')}/links"
