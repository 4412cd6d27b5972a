"""What belongs to Roost besides its code: the definitions of templates and Mission Control's pages.

A wheel carries both inside the package (`scripts/wheel_hook.py` puts them there). In a clone they are folders at its top, and
the pages are built from theirs.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
CLONE = PACKAGE.parents[1]  # where `src` is, if this is a clone


def carried_templates(package: Path = PACKAGE, clone: Path = CLONE) -> Path:
    """The folder of the built-in templates' definitions."""
    inside = package / "templates"
    return inside if inside.is_dir() else clone / "templates"


def carried_pages(package: Path = PACKAGE) -> Path | None:
    """The built pages, in a folder named by the digest of their sources. None in a clone, which has the sources instead."""
    return next((folder for folder in sorted(package.glob("pages/*")) if (folder / "index.html").is_file()), None)


def page_sources(clone: Path = CLONE) -> Path:
    """Where a clone has the sources of the pages."""
    return clone / "web"
