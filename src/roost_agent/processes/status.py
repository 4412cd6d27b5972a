"""How a process ended, in the words of Go's os/exec, which E2B's clients compare."""

from __future__ import annotations

import os
from typing import Any

_SIGNALS = [
    "signal 0",
    "hangup",
    "interrupt",
    "quit",
    "illegal instruction",
    "trace/breakpoint trap",
    "aborted",
    "bus error",
    "floating point exception",
    "killed",
    "user defined signal 1",
    "segmentation fault",
    "user defined signal 2",
    "broken pipe",
    "alarm clock",
    "terminated",
    "stack fault",
    "child exited",
    "continued",
    "stopped (signal)",
    "stopped",
    "stopped (tty input)",
    "stopped (tty output)",
    "urgent I/O condition",
    "CPU time limit exceeded",
    "file size limit exceeded",
    "virtual timer expired",
    "profiling timer expired",
    "window changed",
    "I/O possible",
    "power failure",
    "bad system call",
]


class Ending:
    __slots__ = ("exit_code", "exited", "status")

    def __init__(self, exit_code: int, status: str, *, exited: bool) -> None:
        self.exit_code = exit_code
        self.status = status
        self.exited = exited

    @classmethod
    def of(cls, wait_status: int) -> Ending:
        if os.WIFEXITED(wait_status):
            code = os.WEXITSTATUS(wait_status)
            return cls(code, f"exit status {code}", exited=True)
        number = os.WTERMSIG(wait_status)
        name = _SIGNALS[number] if number < len(_SIGNALS) else f"signal {number}"
        dumped = " (core dumped)" if os.WCOREDUMP(wait_status) else ""
        return cls(-1, f"signal: {name}{dumped}", exited=False)

    def event(self) -> dict[str, Any]:
        end: dict[str, Any] = {"exitCode": self.exit_code, "exited": self.exited, "status": self.status}
        if self.exit_code != 0:
            end["error"] = self.status
        return {"event": {"end": end}}
