"""`python3 companion/`: found by its directory, by an interpreter that knows nothing of the agent's packages."""

from __future__ import annotations

import os
import sys


def main() -> int:
    root = os.path.abspath(__file__)
    for _ in range(4):
        root = os.path.dirname(root)
    sys.path[0] = root
    # asyncio loads ssl only to do without it here.
    sys.modules.setdefault("ssl", None)  # type: ignore[arg-type]

    from roost_agent.desktop.companion.serve import run

    return run(os.environ.get("DISPLAY", ":0"))


if __name__ == "__main__":
    sys.exit(main())
