"""Files for builds: archives, each under the digest of its content."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.v1 import build_models as models
from roost.api.v1.responses import errors

router = APIRouter(prefix="/v1/uploads", tags=["builds"], route_class=KeyedRoute)

Digest = Annotated[str, Path(description="SHA-256 of what is sent, in hexadecimal digits.")]


@router.put(
    "/{digest}", operation_id="putUpload", summary="Upload files for a build", status_code=201, responses=errors(404, 413, 429),
    openapi_extra={"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}},
)  # fmt: skip
async def put(caller: Caller, use: Use, digest: Digest, request: Request) -> models.UploadModel:
    """A tar, or one with gzip: files, directories and links. Kept for an hour after a build last needed it."""
    announced = request.headers.get("content-length", "")
    length = int(announced) if announced.isdigit() and len(announced) < 16 else None
    upload = await use.uploads.put(caller, digest, request.stream(), length)
    return models.UploadModel(digest=upload.digest, size_bytes=upload.size_bytes)


@router.get("/{digest}", operation_id="getUpload", summary="Whether files are there", responses=errors(404))
async def get(caller: Caller, use: Use, digest: Digest) -> models.UploadModel:
    """Who asks this before a build need not send what is there."""
    upload = await use.uploads.find(caller, digest)
    return models.UploadModel(digest=upload.digest, size_bytes=upload.size_bytes)
