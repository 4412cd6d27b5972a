"""Mission Control's pages: `/` and everything under `/app/`. The pages themselves are built at set-up, from `web/`.

Nothing of a sandbox is ever served here: requests for a sandbox never reach this application. What the pages may load and whom
they may talk to is in `web_policy`.
"""

from __future__ import annotations

import mimetypes
import re
import secrets
from pathlib import Path

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from roost.api.services import About
from roost.api.web_policy import content_security_policy

NONCE = "ROOST_NONCE"  # vite.config.ts puts it where the real one belongs
BASE = "/app"
FOREVER = "public, max-age=31536000, immutable"
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")  # one step, nothing hidden: no way out of the folder

MISSING = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>Roost</title>
<style nonce="ROOST_NONCE">
body { font: 16px/1.6 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1.5rem }
code { font-family: ui-monospace, monospace }
</style>
<h1>Mission Control is not built yet</h1>
<p>The server runs, but its pages are missing. On its machine, run <code>roost setup</code> (or <code>make setup</code>) and
start it again; or, in a checkout, <code>npm ci &amp;&amp; npm run build</code> in <code>web/</code>.</p>
<p>Everything else works: the <code>roost</code> command, and the API described at <a href="/openapi.json">/openapi.json</a>.</p>
</html>
"""


def web_routes(about: About, pages: Path | None) -> list[BaseRoute]:
    """`pages` is the folder that holds the built pages; without one the page says how to build them."""

    async def page(request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        html = await _read(pages / "index.html") if pages is not None else None
        files = await anyio.to_thread.run_sync(_files, pages) if pages is not None else []
        status = 503 if html is None else 200
        return HTMLResponse(
            (html or MISSING).replace(NONCE, nonce),
            status,
            headers={
                "Content-Security-Policy": content_security_policy(about, request.headers.get("host", ""), files, nonce),
                "Cross-Origin-Opener-Policy": "same-origin",
                **_guards("no-cache"),
            },
        )

    async def asset(request: Request) -> Response:
        found = await _find(pages, "assets", request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        return await _file(request, found, FOREVER)

    async def beside(request: Request) -> Response:
        """A file beside the page, like its icon; every other path is a place within the pages."""
        found = await _find(pages, "", request.path_params["path"])
        return await _file(request, found, "no-cache") if found is not None else await page(request)

    return [
        Route("/", page, include_in_schema=False),
        Route(BASE, page, include_in_schema=False),
        Route(f"{BASE}/assets/{{name:path}}", asset, include_in_schema=False),
        Route(f"{BASE}/{{path:path}}", beside, include_in_schema=False),
    ]


def _guards(caching: str) -> dict[str, str]:
    return {
        "Cache-Control": caching,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


async def _file(request: Request, path: Path, caching: str) -> Response:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    headers = {**_guards(caching), "Vary": "Accept-Encoding"}
    compressed = path.with_name(f"{path.name}.gz")
    if "gzip" in request.headers.get("accept-encoding", "") and await anyio.Path(compressed).is_file():
        return FileResponse(compressed, media_type=kind, headers={**headers, "Content-Encoding": "gzip"})
    return FileResponse(path, media_type=kind, headers=headers)


async def _find(pages: Path | None, folder: str, name: str) -> Path | None:
    if pages is None or not _FILE.fullmatch(name) or name == "index.html":
        return None
    path = pages / folder / name
    return path if await anyio.Path(path).is_file() else None


def _files(pages: Path) -> list[str]:
    """The paths under which the files of the pages are served."""
    return [f"{BASE}/{file.relative_to(pages).as_posix()}" for file in pages.rglob("*") if _FILE.fullmatch(file.name)]


async def _read(path: Path) -> str | None:
    try:
        return await anyio.Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
