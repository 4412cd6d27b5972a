"""The OCI spec of a sandbox. Pure: data in, data out.

A snapshot carries the spec that it ran with, since it restores only with an equal one. What may differ between two clones is
named in `relocate`: the root's path, the network namespace, the cgroup, the limits, where volumes come from, and whether it is
a clone at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roost.domain.sandbox import Size

Spec = dict[str, Any]

SPEC_VERSION = 2  # of what `boot_spec` makes; templates of another one are made anew
AGENT_MOUNT = "/.roost"
VOLUMES_MOUNT = "/.roost-volumes"  # what is attached to a sandbox while it runs appears below (`attachments`)
HOSTNAME = "roost"  # the agent sets the real one
_CPU_PERIOD_US = 100_000
_OPEN_FILES = 1 << 20
# Read by Roost's engine at a restore (`setup/gvisor/tcp-after-restore.patch`); others ignore it.
_CONTINUES = "dev.gvisor.internal.restore.continues"

# Inside gVisor these rule over the guest's own kernel only.
_CAPABILITIES = [
    "CAP_AUDIT_CONTROL", "CAP_AUDIT_READ", "CAP_AUDIT_WRITE", "CAP_BLOCK_SUSPEND", "CAP_CHOWN", "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_IPC_LOCK", "CAP_IPC_OWNER", "CAP_KILL", "CAP_LEASE",
    "CAP_LINUX_IMMUTABLE", "CAP_MAC_ADMIN", "CAP_MAC_OVERRIDE", "CAP_MKNOD", "CAP_NET_ADMIN", "CAP_NET_BIND_SERVICE",
    "CAP_NET_BROADCAST", "CAP_NET_RAW", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_ADMIN",
    "CAP_SYS_BOOT", "CAP_SYS_CHROOT", "CAP_SYS_NICE", "CAP_SYS_PACCT", "CAP_SYS_PTRACE", "CAP_SYS_RESOURCE",
    "CAP_SYS_TIME", "CAP_SYS_TTY_CONFIG", "CAP_SYSLOG", "CAP_WAKE_ALARM",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent as a sandbox boots it: its directory is mounted read-only and kept as long as any snapshot needs it."""

    version: str
    path: Path
    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ContainerPlace:
    """What differs between two clones of one snapshot."""

    root: Path
    netns: str
    cgroup: str
    size: Size
    volumes: Path  # on the host; of a shared mount
    continues: bool = False  # the one that was saved is gone and this is it; its TCP sequence numbers go on


def boot_spec(agent: Agent, place: ContainerPlace, *, keeps_tmp: bool = False) -> Spec:
    """A spec for a cold boot with the agent as PID 1. With `keeps_tmp` its /tmp is on its disk, not in memory."""
    tmp = {"destination": "/tmp", "type": "tmpfs", "source": "tmp", "options": _in_memory(place.size, 2)}
    spec: Spec = {
        "ociVersion": "1.0.2",
        "hostname": HOSTNAME,
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": list(agent.argv),
            "env": [f"{name}={value}" for name, value in sorted(agent.env.items())],
            "cwd": "/",
            "capabilities": dict.fromkeys(("bounding", "effective", "inheritable", "permitted"), _CAPABILITIES),
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": _OPEN_FILES, "soft": _OPEN_FILES}],
        },
        "root": {},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
            {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": _in_memory(place.size, 4)},
            *(() if keeps_tmp else (tmp,)),
            {"destination": AGENT_MOUNT, "type": "bind", "source": str(agent.path), "options": ["bind", "ro"]},
            {"destination": VOLUMES_MOUNT, "type": "bind", "source": "", "options": ["rw", "rbind", "rslave"]},
        ],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")] + [{"type": "network"}]},
    }
    return relocate(spec, place)


def relocate(spec: Spec, place: ContainerPlace) -> Spec:
    """The same spec for another clone. The given one stays as it is; they share what does not differ."""
    namespaces = [
        {**namespace, "path": place.netns} if namespace["type"] == "network" else namespace
        for namespace in spec["linux"]["namespaces"]
    ]
    linux = {
        **spec["linux"],
        "namespaces": namespaces,
        "cgroupsPath": place.cgroup,
        "resources": _resources(place.size),
    }
    mounts = [  # an image of an older Roost has no mount for volumes, and restores without one
        {**mount, "source": str(place.volumes)} if mount["destination"] == VOLUMES_MOUNT else mount for mount in spec["mounts"]
    ]
    annotations = {**spec.get("annotations", {}), _CONTINUES: "true" if place.continues else "false"}
    return {**spec, "root": {"path": str(place.root)}, "mounts": mounts, "linux": linux, "annotations": annotations}


def _in_memory(size: Size, share: int) -> list[str]:
    """Files there are memory that no killed process gives back: all of them full, a quarter is left. A sandbox with less memory
    than this is told by its agent (`roost_agent.hooks.memory_files`)."""
    options = ["nosuid", "nodev", "mode=1777"]
    return [*options, f"size={size.memory_mb // share}m"] if size.memory_mb else options


def _resources(size: Size) -> dict[str, Any]:
    resources: dict[str, Any] = {}
    if size.cpus:
        resources["cpu"] = {"period": _CPU_PERIOD_US, "quota": int(size.cpus * _CPU_PERIOD_US)}
    if size.memory_mb:
        resources["memory"] = {"limit": size.memory_mb << 20}
    if size.pids:
        resources["pids"] = {"limit": size.pids}
    return resources
