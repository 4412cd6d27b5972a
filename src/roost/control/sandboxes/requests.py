"""What callers say when they create, change or list sandboxes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum

from roost.control.sandboxes.checks import (
    check_egress,
    check_env,
    check_ingress,
    check_metadata,
    check_name,
    check_policy,
    check_size,
)
from roost.domain.egress import OPEN, Egress
from roost.domain.errors import Invalid
from roost.domain.lifecycle import State
from roost.domain.sandbox import PUBLIC, Ingress, Size, SizeChange, SleepPolicy

LONGEST_KEY = 256

PolicyChange = Callable[[SleepPolicy], SleepPolicy]
EgressChange = Callable[[Egress], Egress]
IngressChange = Callable[[Ingress], Ingress]


@dataclass(frozen=True, slots=True)
class CreateSandbox:
    """What a new sandbox is to be. `template` may also be a snapshot of the team's, by id or name."""

    template: str = "base"
    name: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    policy: SleepPolicy = field(default_factory=SleepPolicy)
    size: SizeChange = field(default_factory=SizeChange)  # of the template's
    egress: Egress = OPEN
    ingress: Ingress = PUBLIC  # one that is not public gets its token here
    idempotency_key: str | None = None

    def digest(self) -> str:
        content = {key: value for key, value in asdict(self).items() if key != "idempotency_key"}
        content["size"] = content["size"] if self.size != SizeChange() else None
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Unset(Enum):
    """Not mentioned, so not changed. None may be a value."""

    UNSET = "unset"


UNSET = Unset.UNSET


@dataclass(frozen=True, slots=True)
class SandboxChanges:
    name: str | Unset | None = UNSET
    metadata: Mapping[str, str] | Unset = UNSET
    policy: SleepPolicy | PolicyChange | Unset = UNSET  # a change is made to the policy as it is then
    egress: EgressChange | Unset = UNSET
    ingress: IngressChange | Unset = UNSET


@dataclass(frozen=True, slots=True)
class SandboxFilter:
    """Which sandboxes, in which order. No states means the living ones."""

    states: tuple[State, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    template: str | None = None
    name_prefix: str | None = None
    created_from: float | None = None
    started_after: float | None = None
    oldest_first: bool = False
    limit: int = 100
    cursor: str | None = None


def check_request(request: CreateSandbox, *, private_proxies: bool = False) -> None:
    """Raises Invalid, naming what is wrong with it."""
    check_name(request.name)
    check_metadata(request.metadata)
    check_env(request.env)
    check_policy(request.policy)
    check_ingress(request.ingress)
    check_egress(request.egress, private_proxies=private_proxies)
    check_size(request.size.of(Size()))
    key = request.idempotency_key
    if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isprintable()):
        raise Invalid("idempotency_key_invalid", f"An idempotency key has 1 to {LONGEST_KEY} printable characters.", key=key[:40])
