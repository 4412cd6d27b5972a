"""Numbers that two programs must agree on, and cannot share."""

from __future__ import annotations

import re
from pathlib import Path

from roost.domain.ids import AGENT_PORT
from roost_agent.options import DEFAULT_PORT

TOP = Path(__file__).resolve().parents[2]


def test_the_agents_port_is_defined_once_in_each_program() -> None:
    assert DEFAULT_PORT == AGENT_PORT
    server = [path for path in (TOP / "src/roost").rglob("*.py") if re.search(rf"\b{AGENT_PORT}\b", path.read_text())]
    assert [path.relative_to(TOP).as_posix() for path in server] == ["src/roost/domain/ids.py"]
    assert f"AGENT_PORT = {AGENT_PORT};" in (TOP / "web/src/api/agent.ts").read_text()
