"""E2B's timeouts as Roost's: a policy, which holds for every waking, and the deadline that runs now."""

from __future__ import annotations

from dataclasses import replace

from roost.api.access import Caller, Use
from roost.control.sandboxes.checks import LONGEST_TIMEOUT_S
from roost.control.sandboxes.requests import SandboxChanges
from roost.domain.errors import Invalid
from roost.domain.sandbox import Sandbox, SleepPolicy

DEFAULT_S = 300.0
DEFAULT_V1_S = 15.0
LEAST_AFTER_WAKING_S = 300.0  # traffic wakes a sandbox for its timeout, and for no less than this
AT_ONCE_S = 0.001  # E2B's zero: the deadline is now


def asked_for(timeout_s: float | None, default_s: float) -> float:
    """How long a caller wants it to run. Raises Invalid. There is no maximum: what no clock can hold is as long as can be."""
    wanted_s = default_s if timeout_s is None else timeout_s
    if wanted_s <= 0:
        raise Invalid("timeout_invalid", f"timeout is {wanted_s:g}: it must be more than 0 seconds.", timeout=wanted_s)
    return min(wanted_s, LONGEST_TIMEOUT_S)


def from_now(timeout_s: float) -> float:
    """For a sandbox that runs: zero and less mean now."""
    return min(max(timeout_s, AT_ONCE_S), LONGEST_TIMEOUT_S)


def lasting(policy: SleepPolicy, timeout_s: float) -> SleepPolicy:
    """The policy of a sandbox that is to run for so long, now and whenever traffic wakes it."""
    return replace(policy, timeout_s=max(timeout_s, LEAST_AFTER_WAKING_S) if policy.wake_on_traffic else timeout_s)


async def prepare(caller: Caller, use: Use, record: Sandbox, policy: SleepPolicy) -> None:
    """Before it wakes: it may run as long as it is about to be told, so that it does not sleep again before it was told."""
    if policy != record.policy:
        await use.sandboxes.update(caller, record.id, SandboxChanges(policy=policy))


async def begin(caller: Caller, use: Use, record: Sandbox, timeout_s: float) -> Sandbox:
    """It runs for so long from now, whatever its policy gave it."""
    if record.policy.timeout_s == timeout_s and record.expires_at is not None:
        return record
    return await use.sandboxes.extend(caller, record.id, timeout_s)
