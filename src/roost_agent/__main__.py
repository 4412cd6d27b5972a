"""`python -m roost_agent`, or the directory itself given to an interpreter that knows no packages."""

from __future__ import annotations

import os
import sys


def main() -> int:
    # asyncio loads ssl only to do without it here; it would be the largest part of the agent.
    sys.modules.setdefault("ssl", None)  # type: ignore[arg-type]

    import asyncio
    import gc

    from roost_agent.awake import AwakeLoop
    from roost_agent.options import USAGE, UsageError, parse
    from roost_agent.serve import serve

    try:
        options = parse(sys.argv[1:])
    except UsageError as error:
        sys.stderr.write(f"roost_agent: {error}\n{USAGE}")
        return 2
    os.umask(0o022)
    # What is loaded now stays: the collector need not look at it again, nor dirty its pages.
    gc.collect()
    gc.freeze()
    with asyncio.Runner(loop_factory=AwakeLoop) as runner:
        runner.run(serve(options))
    return 0


if __name__ == "__main__":
    if not __package__:
        sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main())
