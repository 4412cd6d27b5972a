"""Every call of `/v1` as data: what is asked and how the answer is read. `Roost` and `AsyncRoost` both run these."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from roost.client.records import (
    Entered,
    Event,
    Fork,
    Metric,
    Page,
    Resumed,
    SandboxRecord,
    SnapshotRecord,
    TemplateRecord,
)

T = TypeVar("T")
Params = tuple[tuple[str, str], ...]

ANSWER_S = 60.0
MOVE_S = 330.0  # beyond the server's own limit for a move, so that its answer is heard and not ours guessed


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    method: str
    path: str
    read: Callable[[Any], T]
    params: Params = ()
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = ANSWER_S
    repeatable: bool = False  # asked twice it does no more than asked once: sent again when the connection breaks


def _params(**given: Any) -> Params:
    pairs: list[tuple[str, str]] = []
    for name, value in given.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            pairs += [(name, f"{key}={item}") for key, item in value.items()]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            pairs += [(name, str(item)) for item in value]
        else:
            pairs.append((name, str(value)))
    return tuple(pairs)


def _present(**given: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _page(key: str, read: Callable[[Any], T]) -> Callable[[Any], Page[T]]:
    return lambda content: Page(tuple(read(item) for item in content[key]), content.get("next_cursor"), raw=content)


def _raw(content: Any) -> dict[str, Any]:
    return content


def _nothing(_content: Any) -> None:
    return None


def _sandbox_path(ref: str, *verb: str) -> str:
    return "/".join(("/v1/sandboxes", quote(ref, safe=""), *verb))


def create(request: Mapping[str, Any], idempotency_key: str | None = None) -> Call[Entered]:
    """Always under a key, so that a create whose answer was lost can be asked again and makes no second sandbox."""
    key = idempotency_key or uuid.uuid4().hex
    return Call(
        "POST",
        "/v1/sandboxes",
        Entered.read,
        body=_present(**request),
        headers={"Idempotency-Key": key},
        timeout_s=MOVE_S,
        repeatable=True,
    )


def list_sandboxes(**filters: Any) -> Call[Page[SandboxRecord]]:
    return Call("GET", "/v1/sandboxes", _page("sandboxes", SandboxRecord.read), params=_params(**filters), repeatable=True)


def get_sandbox(ref: str) -> Call[SandboxRecord]:
    return Call("GET", _sandbox_path(ref), SandboxRecord.read, repeatable=True)


def update_sandbox(ref: str, changes: Mapping[str, Any]) -> Call[SandboxRecord]:
    return Call("PATCH", _sandbox_path(ref), SandboxRecord.read, body=changes, repeatable=True)


def kill(ref: str, *, keep: bool = True) -> Call[None]:
    """With `keep` it can be undeleted for a while."""
    params = () if keep else _params(keep="false")
    return Call("DELETE", _sandbox_path(ref), _nothing, params=params, timeout_s=MOVE_S, repeatable=True)


def undelete(id: str) -> Call[Entered]:
    return Call("POST", _sandbox_path(id, "undelete"), Entered.read, timeout_s=MOVE_S)


def enter(ref: str) -> Call[Entered]:
    """The sandbox with the tokens that open it."""
    return Call("POST", _sandbox_path(ref, "token"), Entered.read, repeatable=True)


def rotate_tokens(ref: str) -> Call[Entered]:
    """As `enter`, with new tokens; the old ones open nothing any more."""
    return Call("POST", _sandbox_path(ref, "token", "rotate"), Entered.read)


def roll_back(ref: str, snapshot: str) -> Call[SandboxRecord]:
    body = {"snapshot": snapshot}
    return Call("POST", _sandbox_path(ref, "rollback"), SandboxRecord.read, body=body, timeout_s=2 * MOVE_S)


def pause(ref: str, *, memory: bool = True) -> Call[SandboxRecord]:
    return Call(
        "POST",
        _sandbox_path(ref, "pause"),
        SandboxRecord.read,
        body={"memory": memory},
        timeout_s=MOVE_S,
        repeatable=True,
    )


def resume(ref: str, *, cold: bool = False) -> Call[Resumed]:
    return Call("POST", _sandbox_path(ref, "resume"), Resumed.read, body={"cold": cold}, timeout_s=MOVE_S, repeatable=True)


def snapshot(ref: str, *, name: str | None = None, memory: bool = True) -> Call[SnapshotRecord]:
    body = _present(name=name, memory=memory)
    return Call("POST", _sandbox_path(ref, "snapshots"), SnapshotRecord.read, body=body, timeout_s=MOVE_S)


def fork(ref: str, count: int = 1, names: Sequence[str] | None = None) -> Call[Fork]:
    body = _present(count=count, names=list(names) if names else None)
    return Call("POST", _sandbox_path(ref, "fork"), Fork.read, body=body, timeout_s=2 * MOVE_S)


def extend(ref: str, timeout_s: float) -> Call[SandboxRecord]:
    return Call("POST", _sandbox_path(ref, "extend"), SandboxRecord.read, body={"timeout_s": timeout_s}, repeatable=True)


def hold(ref: str, seconds: float, reason: str) -> Call[SandboxRecord]:
    body = {"seconds": seconds, "reason": reason}
    return Call("POST", _sandbox_path(ref, "hold"), SandboxRecord.read, body=body, repeatable=True)


def release(ref: str) -> Call[SandboxRecord]:
    return Call("DELETE", _sandbox_path(ref, "hold"), SandboxRecord.read, repeatable=True)


def metrics(ref: str, start: float | None = None, end: float | None = None) -> Call[list[Metric]]:
    return Call(
        "GET",
        _sandbox_path(ref, "metrics"),
        lambda content: [Metric.read(item) for item in content["metrics"]],
        params=_params(start=start, end=end),
        repeatable=True,
    )


def dozing() -> Call[set[str]]:
    """Which sandboxes sleep and are still in memory."""
    return Call("GET", "/v1/fleet", _dozing, repeatable=True)


def _dozing(answer: Any) -> set[str]:
    return {each["sandbox"]["id"] for each in _raw(answer)["sandboxes"] if each["activity"]["dozing"]}


def activity(ref: str) -> Call[dict[str, Any]]:
    return Call("GET", _sandbox_path(ref, "activity"), _raw, repeatable=True)


def list_snapshots(**filters: Any) -> Call[Page[SnapshotRecord]]:
    return Call("GET", "/v1/snapshots", _page("snapshots", SnapshotRecord.read), params=_params(**filters), repeatable=True)


def get_snapshot(ref: str) -> Call[SnapshotRecord]:
    return Call("GET", f"/v1/snapshots/{quote(ref, safe='')}", SnapshotRecord.read, repeatable=True)


def delete_snapshot(ref: str) -> Call[None]:
    return Call("DELETE", f"/v1/snapshots/{quote(ref, safe='')}", _nothing)


def list_templates() -> Call[list[TemplateRecord]]:
    return Call(
        "GET",
        "/v1/templates",
        lambda content: [TemplateRecord.read(item) for item in content["templates"]],
        repeatable=True,
    )


def list_templates_being_made() -> Call[list[dict[str, Any]]]:
    return Call("GET", "/v1/templates", lambda content: content["being_made"], repeatable=True)


def get_template(name: str) -> Call[TemplateRecord]:
    return Call("GET", f"/v1/templates/{quote(name, safe='')}", TemplateRecord.read, repeatable=True)


def list_events(**filters: Any) -> Call[list[Event]]:
    return Call(
        "GET",
        "/v1/events",
        lambda content: [Event.read(item) for item in content["events"]],
        params=_params(**filters),
        repeatable=True,
    )


def list_keys() -> Call[dict[str, Any]]:
    return Call("GET", "/v1/keys", _raw, repeatable=True)


def create_key(name: str, scope: str = "full") -> Call[dict[str, Any]]:
    """Scopes: operator, full, read-only, sandbox:<id>."""
    return Call("POST", "/v1/keys", _raw, body={"name": name, "scope": scope})


def revoke_key(id: str) -> Call[None]:
    return Call("DELETE", f"/v1/keys/{quote(id, safe='')}", _nothing)


def health() -> Call[dict[str, Any]]:
    return Call("GET", "/v1/health", _raw, timeout_s=5, repeatable=True)


def version() -> Call[dict[str, Any]]:
    return Call("GET", "/v1/version", _raw, repeatable=True)


def node() -> Call[dict[str, Any]]:
    return Call("GET", "/v1/node", _raw, repeatable=True)


def sleep_all() -> Call[dict[str, Any]]:
    """Pauses every running sandbox of every team, for an operator; the answer comes when the last one sleeps."""
    return Call("POST", "/v1/node/sleep-all", _raw, body={}, timeout_s=10 * MOVE_S, repeatable=True)
