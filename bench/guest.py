"""What the cases need inside a sandbox."""

from __future__ import annotations

from pathlib import Path

from roost.client import Sandbox
from roost.setup.interpreter import GUEST_ROOT, Interpreter, this_machine


def guest_python(sandbox: Sandbox) -> list[str]:
    """The words that start Python: the template's own, or where it has none the agent's, which is in every sandbox."""
    has_one = sandbox.run(["sh", "-c", "command -v python3"]).code == 0
    return ["python3"] if has_one else Interpreter(Path(), "", this_machine()).command(GUEST_ROOT)
