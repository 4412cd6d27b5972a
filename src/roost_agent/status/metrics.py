"""`GET /metrics` and `GET /envs`: the sandbox in numbers, and its variables."""

from __future__ import annotations

import asyncio
import os
import time

from roost_agent import procfs
from roost_agent.http.connection import Exchange
from roost_agent.sandbox import Sandbox

_MIB = 1024 * 1024


class Metrics:
    def __init__(self) -> None:
        self._last = (asyncio.get_running_loop().time(), procfs.cpu_seconds(procfs.rows()))

    async def __call__(self, exchange: Exchange) -> None:
        memory = procfs.memory_bytes()
        total = memory.get("MemTotal", 0)
        cached = memory.get("Cached", 0) + memory.get("SReclaimable", 0)
        used = max(0, total - memory.get("MemFree", 0) - memory.get("Buffers", 0) - cached)
        disk = os.statvfs("/")
        processors = os.cpu_count() or 1
        exchange.answer_json(
            {
                "ts": int(time.time()),
                "cpu_count": processors,
                "cpu_used_pct": round(self._cpu_share(processors), 2),
                "mem_total": total,
                "mem_used": used,
                "mem_cache": cached,
                "mem_total_mib": total // _MIB,
                "mem_used_mib": used // _MIB,
                "disk_used": (disk.f_blocks - disk.f_bfree) * disk.f_frsize,
                "disk_total": disk.f_blocks * disk.f_frsize,
            }
        )

    def _cpu_share(self, processors: int) -> float:
        """Percent of all processors since the last call."""
        now = asyncio.get_running_loop().time()
        used = procfs.cpu_seconds(procfs.rows())
        before, used_before = self._last
        self._last = (now, used)
        if now <= before:
            return 0.0
        return min(100.0, max(0.0, 100 * (used - used_before) / (now - before) / processors))


class Variables:
    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def __call__(self, exchange: Exchange) -> None:
        exchange.answer_json(self._sandbox.environment(), headers=[("Cache-Control", "no-store")])
