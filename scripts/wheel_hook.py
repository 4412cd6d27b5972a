"""What a wheel carries besides code: the templates' definitions, and Mission Control's pages, built now if they are not yet.

Hatchling runs this for `python -m hatchling build` and `uv build`. An editable installation uses the clone's own folders.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "standard":
            return
        top = Path(self.root)
        sys.path.insert(0, str(top / "src"))  # of set-up only what needs nothing but the standard library
        from roost.setup.commands import Commands
        from roost.setup.web import ensure_web

        web = ensure_web(_cache(top), Commands(), lambda line: print(f"pages: {line}", file=sys.stderr), top / "web")
        build_data["force_include"] |= {
            str(top / "templates"): "roost/templates",
            str(web.path): f"roost/pages/{web.digest}",
        }


def _cache(top: Path) -> Path:
    """The machine's, if it is ours to write to."""
    cache = Path(os.environ.get("ROOST_CACHE") or "/var/cache/roost")
    nearest = next(folder for folder in (cache, *cache.parents) if folder.exists())
    return cache if os.access(nearest, os.W_OK) else top / "dist" / "cache"
