"""A command of a template: one of its steps, what it starts, what says that it is ready."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TemplateCommand:
    """A shell command inside the sandbox, who runs it, and for how long at most."""

    command: str
    user: str = "root"
    timeout_s: float = 600
