"""Is it legal? Every refusal names the thing and the way out. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from roost.domain.egress import Egress, is_never
from roost.domain.errors import Invalid
from roost.domain.ids import is_name, is_snapshot_name
from roost.domain.sandbox import Ingress, Size, SleepPolicy

MOST_PAIRS = 64
LONGEST_KEY = 128
LONGEST_VALUE_BYTES = 4096
MOST_ENV_BYTES = 64 * 1024
LONGEST_TIMEOUT_S = 366 * 24 * 3600.0
MOST_FORKS = 64
MOST_HTTPS_PORTS = 128
_HOST = re.compile(r"[A-Za-z0-9.:_\[\]-]{1,255}")
LONGEST_PAGE = 100
LEAST_MEMORY_MB = 64
LEAST_CPUS = 0.05
LARGEST = Size(cpus=256, memory_mb=4 * 1024**2, disk_mb=64 * 1024**2, pids=4 * 1024**2)


def check_name(name: str | None) -> None:
    if name is not None and not is_name(name):
        raise Invalid(
            "name_invalid",
            f"{name!r} cannot be a name: it becomes a host name, so it has 1 to 63 of a-z, 0-9 and inner hyphens.",
            name=name,
        )


def check_snapshot_name(name: str | None) -> None:
    if name is not None and not is_snapshot_name(name):
        raise Invalid(
            "name_invalid",
            f"{name[:140]!r} cannot be a snapshot's name: it has 1 to 128 of a-z, 0-9, hyphen and underscore, and may have a tag"
            " behind a colon.",
            name=name,
        )


def check_metadata(metadata: Mapping[str, str]) -> None:
    _check_pairs("metadata", metadata)


def check_egress(egress: Egress, *, private_proxies: bool) -> None:
    """What a policy says of itself it has checked; here is what this Roost's owner allows."""
    proxy = egress.proxy
    if proxy is not None and proxy.ip is not None and is_never(proxy.ip) and not private_proxies:
        raise Invalid(
            "egress_proxy_private",
            f"The proxy {proxy.address} has a private address, which this Roost's owner has not allowed."
            " Name a public one, or set private_proxies in the settings.",
            field="egress_proxy",
        )


def check_env(env: Mapping[str, str]) -> None:
    _check_pairs("env", env, longest_value_bytes=MOST_ENV_BYTES)
    for key in env:
        if "=" in key or "\0" in key or "\0" in env[key]:
            raise Invalid(
                "env_invalid",
                f"{key!r} cannot be an environment variable: no '=' in its name, no NUL in name or value.",
                key=key,
            )
    total_bytes = sum(len(key.encode()) + len(value.encode()) for key, value in env.items())
    if total_bytes > MOST_ENV_BYTES:
        raise Invalid(
            "env_too_large",
            f"The environment has {total_bytes} bytes; {MOST_ENV_BYTES} is the most. Put large values into files.",
            size_bytes=total_bytes,
        )


def _check_pairs(what: str, pairs: Mapping[str, str], longest_value_bytes: int = LONGEST_VALUE_BYTES) -> None:
    if len(pairs) > MOST_PAIRS and what == "metadata":
        raise Invalid(f"{what}_too_large", f"There are {len(pairs)} pairs of {what}; {MOST_PAIRS} is the most.", count=len(pairs))
    for key, value in pairs.items():
        if not key or len(key) > LONGEST_KEY:
            raise Invalid(f"{what}_invalid", f"The {what} key {key[:40]!r} must have 1 to {LONGEST_KEY} characters.", key=key)
        try:
            size_bytes = len(value.encode())
            key.encode()
        except UnicodeEncodeError:
            raise Invalid(f"{what}_invalid", f"The {what} value of {key!r} is not text.", key=key) from None
        if size_bytes > longest_value_bytes:
            raise Invalid(
                f"{what}_too_large",
                f"The {what} value of {key!r} has {size_bytes} bytes; {longest_value_bytes} is the most.",
                key=key,
                size_bytes=size_bytes,
            )


def check_seconds(what: str, seconds: float | None) -> None:
    if seconds is not None and not (0 < seconds <= LONGEST_TIMEOUT_S and math.isfinite(seconds)):
        raise Invalid(
            f"{what}_invalid",
            f"{what} is {seconds:.12g}: it must be more than 0 and at most {LONGEST_TIMEOUT_S:.12g} seconds."
            " Leave it out for a sandbox that runs until told otherwise.",
            value=seconds,
        )


def check_policy(policy: SleepPolicy) -> None:
    check_seconds("timeout_s", policy.timeout_s)
    check_seconds("idle_s", policy.idle_s)
    if not 0 <= policy.idle_cpu_share <= LARGEST.cpus:
        raise Invalid(
            "idle_cpu_share_invalid",
            f"idle_cpu_share is {policy.idle_cpu_share:g}: it is a share of one core, so 0.05 means 5 percent.",
            value=policy.idle_cpu_share,
        )


def check_ingress(ingress: Ingress) -> None:
    mask = ingress.mask_host
    if mask is not None and not _HOST.fullmatch(mask.replace("${PORT}", "65535")):
        raise Invalid(
            "mask_host_invalid",
            f"{mask[:80]!r} cannot be a Host: it is a host name or address, with a port behind a colon if need be."
            " ${PORT} stands for the port that a request is for.",
            mask_host=mask[:255],
        )
    if len(ingress.https_ports) > MOST_HTTPS_PORTS:
        raise Invalid(
            "https_ports_invalid",
            f"There are {len(ingress.https_ports)} ports with TLS; {MOST_HTTPS_PORTS} is the most.",
            count=len(ingress.https_ports),
        )
    for port in ingress.https_ports:
        if not 0 < port < 65536:
            raise Invalid("https_ports_invalid", f"{port} is not a port: ports are the numbers 1 to 65535.", port=port)


def check_size(size: Size) -> None:
    for what in ("cpus", "memory_mb", "disk_mb", "pids"):
        value, most = getattr(size, what), getattr(LARGEST, what)
        if not 0 <= value <= most:
            raise Invalid(
                "size_invalid", f"{what} is {value:.12g}: it must be 0 (no limit) to {most:.12g}.", field=what, value=value
            )
    if 0 < size.cpus < LEAST_CPUS:
        raise Invalid(
            "size_invalid", f"cpus is {size.cpus:.12g}: {LEAST_CPUS} of a core is the least.", field="cpus", value=size.cpus
        )
    if 0 < size.memory_mb < LEAST_MEMORY_MB:
        raise Invalid(
            "size_invalid",
            f"memory_mb is {size.memory_mb}: a sandbox needs {LEAST_MEMORY_MB} at least.",
            field="memory_mb",
            value=size.memory_mb,
        )


def check_room(memory_mb: int, held_bytes: int) -> None:
    """Whether what a sandbox starts from fits into its memory, with some to work in."""
    held_mb = held_bytes >> 20
    least_mb = held_mb + LEAST_MEMORY_MB
    if 0 < memory_mb < least_mb:
        raise Invalid(
            "size_invalid",
            f"memory_mb is {memory_mb}: what it starts from holds {held_mb} already. Ask for {least_mb} at least.",
            field="memory_mb",
            value=memory_mb,
        )


def check_fork_count(count: int) -> None:
    if not 1 <= count <= MOST_FORKS:
        raise Invalid("count_invalid", f"{count} forks at once are not possible: 1 to {MOST_FORKS} are.", count=count)


def check_limit(limit: int) -> None:
    if not 1 <= limit <= LONGEST_PAGE:
        raise Invalid("limit_invalid", f"A page of {limit} is not possible: 1 to {LONGEST_PAGE} are.", limit=limit)
