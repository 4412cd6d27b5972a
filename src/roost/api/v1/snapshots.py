"""Snapshots: find, look into, delete. Taking one is something a sandbox does: see `moves`."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.v1 import models, rendering
from roost.api.v1.models import Asked, Given, Text, Timestamp
from roost.api.v1.responses import errors
from roost.domain.file import FileType

router = APIRouter(prefix="/v1/snapshots", tags=["snapshots"], route_class=KeyedRoute)

_LAST_MOMENT = 253402300799.0  # of the year 9999
Ref = Annotated[str, Path(description="A snapshot's id or name.")]


class FileQuery(Asked):
    path: Annotated[Text, Field(description="As the sandbox knew it.", examples=["/home/user"])] = "/"


class FileModel(Given):
    name: str
    type: FileType
    size: int
    mtime: Timestamp


class FileList(Given):
    """Directories first, then by name."""

    entries: list[FileModel]
    truncated: Annotated[bool, Field(description="There are more than can be shown.")]


@router.get("", operation_id="listSnapshots", summary="List snapshots, newest first", responses=errors(404))
async def list_(caller: Caller, use: Use, query: Annotated[models.SnapshotQuery, Query()]) -> models.SnapshotPage:
    page = await use.snapshots.list(caller, sandbox=query.sandbox, limit=query.limit, cursor=query.cursor)
    return models.SnapshotPage(snapshots=[rendering.snapshot(record) for record in page.items], next_cursor=page.next_cursor)


@router.get("/{ref}", operation_id="getSnapshot", summary="Get a snapshot", responses=errors(404))
async def get(caller: Caller, use: Use, ref: Ref) -> models.SnapshotModel:
    return rendering.snapshot(await use.snapshots.get(caller, ref))


@router.get("/{ref}/files", operation_id="listSnapshotFiles", summary="Look into a snapshot", responses=errors(404))
async def files(caller: Caller, use: Use, ref: Ref, query: Annotated[FileQuery, Query()]) -> FileList:
    """What a directory held then."""
    listing = await use.snapshots.files(caller, ref, query.path)
    entries = [
        FileModel(name=each.name, type=each.type, size=each.size_bytes, mtime=rendering.timestamp(_sane(each.modified_at)))
        for each in listing.entries
    ]
    return FileList(entries=entries, truncated=listing.truncated)


@router.get(
    "/{ref}/file",
    operation_id="readSnapshotFile",
    summary="Read a file of a snapshot",
    response_class=Response,
    responses={
        200: {"description": "Its bytes.", "content": {"application/octet-stream": {"schema": {"type": "string"}}}},
        **errors(404),
    },
)
async def file(caller: Caller, use: Use, ref: Ref, query: Annotated[FileQuery, Query()]) -> Response:
    """As it was then; 5 MB at most. Always as a download: what a sandbox wrote never becomes a page of ours."""
    content = await use.snapshots.file(caller, ref, query.path)
    name = quote(query.path.rstrip("/").rpartition("/")[2] or "file", safe="")
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return Response(content, media_type="application/octet-stream", headers=headers)


@router.delete("/{ref}", status_code=204, operation_id="deleteSnapshot", summary="Delete a snapshot", responses=errors(404, 409))
async def delete(caller: Caller, use: Use, ref: Ref) -> Response:
    """Sandboxes that were made from it do not need it. One that sleeps in it does: then it is refused."""
    await use.snapshots.delete(caller, ref)
    return Response(status_code=204)


def _sane(at: float) -> float:
    """A guest can date its files as it likes, also to a year that no calendar of ours has."""
    return min(max(at, 0.0), _LAST_MOMENT)
