"""Builds of templates, as E2B's SDKs and its command line ask for them: announced, given files, started, and asked after."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.e2b import definitions, names
from roost.api.e2b.models import BuildRequested, BuildStart, Ref, TagsAssigned, TagsRemoved
from roost.api.e2b.rendering import build_id
from roost.api.services import Services
from roost.api.v1.rendering import timestamp
from roost.control.builds.builds import Announcement
from roost.domain.access import Principal
from roost.domain.build_failures import BuildNotFound, UploadNotFound
from roost.domain.builds import Build, BuildState, LogLine
from roost.domain.errors import Invalid, Unauthenticated
from roost.domain.ids import KeyId
from roost.domain.sandbox import Size, SizeChange
from roost.domain.template import Template

LOG_LINES = 100  # in one answer, as E2B's clients expect
UPLOAD_LASTS_S = 3600
_UPLOAD = "upload"
_BUILDS = uuid.UUID("2f1c6cb9-9d52-4c46-9d7b-3a0a1b8a7e11")
_STATUS = {
    BuildState.ANNOUNCED: "waiting",
    BuildState.QUEUED: "building",
    BuildState.BUILDING: "building",
    BuildState.READY: "ready",
    BuildState.FAILED: "error",
    BuildState.CANCELLED: "error",
}
_LEVEL = {"stdout": "info", "stderr": "warn", "build": "info"}

router = APIRouter(tags=["templates"], route_class=KeyedRoute)
open_router = APIRouter(tags=["templates"])  # the address itself says who may

Id = Annotated[str, Path(description="A build's id.")]
Hash = Annotated[str, Path(description="E2B's hash of the files.")]


@router.post("/v3/templates", status_code=202, operation_id="requestTemplateBuild")
async def announce(caller: Caller, use: Use, body: BuildRequested) -> JSONResponse:
    given = body.name or body.alias or ""
    name = names.parse(given, caller.team)
    first = [name.tag] if ":" in given or not body.tags else []
    tags = tuple(dict.fromkeys(definitions.our_tag(tag) for tag in [*first, *(body.tags or [])]))
    asked = SizeChange(cpus=body.cpuCount, memory_mb=body.memoryMB)
    build = await use.builds.announce(caller, Announcement(name.alias, tags, asked.of(Size())))
    shown = [definitions.e2b_tag(tag) for tag in tags]
    template = await _known(use, caller, name.alias)
    answer = {
        "templateID": template.id if template else name.alias,
        "buildID": public_id(build),
        "public": False,
        "names": [name.alias],
        "aliases": [name.alias],
        "tags": shown,
    }
    return JSONResponse(answer, 202)


@router.get("/templates/{ref}/files/{digest}", status_code=201, operation_id="getTemplateFiles")
async def files(caller: Caller, use: Use, ref: Ref, digest: Hash, request: Request) -> JSONResponse:
    """Whether the files are there, and where to put them. The address is good for an hour, for these files alone."""
    try:
        await use.uploads.find_named(caller, digest)
        is_present = True
    except UploadNotFound:
        is_present = False
    key = caller.key
    if key is None:
        raise Unauthenticated("no_key", "Files of a build are sent with an API key.")
    sealed = use.sessions.seal_for(_UPLOAD, f"{key}-{digest}")
    return JSONResponse({"present": is_present, "url": f"{request.base_url}e2b/uploads/{sealed}"}, 201)


@open_router.put("/e2b/uploads/{sealed}", status_code=201, operation_id="putTemplateFiles")
async def upload(request: Request, use: Use, sealed: Annotated[str, Path(description="As it was given.")]) -> Response:
    opened = use.sessions.open_for(_UPLOAD, sealed, UPLOAD_LASTS_S)
    if opened is None:
        raise Unauthenticated("upload_address", "This address for files is too old, or was never given. Ask for another.")
    key, _, digest = opened.partition("-")
    caller = await use.keys.stand_for(KeyId(key))
    announced = request.headers.get("content-length", "")
    length = int(announced) if announced.isdigit() and len(announced) < 16 else None
    await use.uploads.put_named(caller, digest, request.stream(), length)
    return Response(status_code=201)


@router.post("/v2/templates/{ref}/builds/{build}", status_code=202, operation_id="startTemplateBuild")
async def start(caller: Caller, use: Use, ref: Ref, build: Id, body: BuildStart) -> Response:
    found = await _find(use, caller, ref, build)
    uploads = {digest: (await use.uploads.find_named(caller, digest)).digest for digest in definitions.files_of(body)}
    uses_cache = not body.force and not any(step.force for step in body.steps)
    definition = definitions.translate(body, caller.team, uploads)
    await use.builds.start(caller, found.id, definition, uses_cache=uses_cache)
    return Response(status_code=202)


@router.get("/templates/{ref}/builds/{build}/status", operation_id="getTemplateBuildStatus")
async def status(
    caller: Caller,
    use: Use,
    ref: Ref,
    build: Id,
    offset: Annotated[int, Query(alias="logsOffset", ge=0)] = 0,
    limit: Annotated[int, Query(ge=0, le=LOG_LINES)] = LOG_LINES,
) -> JSONResponse:
    found = await _find(use, caller, ref, build)  # before its log: one that has ended has said all that it will
    _, lines = await use.builds.read_log(caller, found.id, offset, limit) if limit else (0, [])
    return JSONResponse(_told(found, ref, lines))


@router.get("/templates/{ref}/builds/{build}/logs", operation_id="getTemplateBuildLogs")
async def logs(
    caller: Caller,
    use: Use,
    ref: Ref,
    build: Id,
    cursor: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=0, le=LOG_LINES)] = LOG_LINES,
) -> JSONResponse:
    found = await _find(use, caller, ref, build)
    _, lines = await use.builds.read_log(caller, found.id, cursor, limit)
    return JSONResponse({"logs": [_entry(line, found) for line in lines]})


@router.post("/templates/tags", status_code=201, operation_id="assignTemplateTags")
async def assign(caller: Caller, use: Use, body: TagsAssigned) -> JSONResponse:
    source = names.parse(body.target, caller.team)
    template = await use.templates.get(caller, _ours(source))
    for tag in body.tags:
        await use.template_tags.tag(caller, template.ref, definitions.our_tag(tag.lower()))
    return JSONResponse({"tags": [tag.lower() for tag in body.tags], "buildID": build_id(template.snapshot)}, 201)


@router.delete("/templates/tags", status_code=204, operation_id="removeTemplateTags")
async def remove(caller: Caller, use: Use, body: TagsRemoved) -> Response:
    name = names.parse(body.name, caller.team)
    if names.DEFAULT_TAG in body.tags:
        raise Invalid("default_tag", "The tag `default` stays as long as its template. Delete the template instead.")
    for tag in body.tags:
        await use.templates.get(caller, f"{name.alias}:{tag}")
    for tag in body.tags:
        await use.template_tags.remove(caller, f"{name.alias}:{tag}")
    return Response(status_code=204)


def public_id(build: Build) -> str:
    """E2B's builds have UUIDs: the same one always gets the same."""
    return str(uuid.uuid5(_BUILDS, build.id))


async def _find(use: Services, caller: Principal, ref: str, wanted: str) -> Build:
    """Raises BuildNotFound."""
    template = await _known(use, caller, ref)
    alias = template.name if template else names.parse(ref, caller.team).alias
    for build in await use.builds.list(caller, alias):
        if public_id(build) == wanted:
            return build
    raise BuildNotFound(wanted)


async def _known(use: Services, caller: Principal, ref: str) -> Template | None:
    for template in await use.templates.list(caller):
        if template.team is not None and ref in (template.id, template.name):
            return template
    return None


def _ours(name: names.Name) -> str:
    return name.alias if name.tag == names.DEFAULT_TAG else f"{name.alias}:{name.tag}"


def _told(build: Build, ref: str, lines: list[LogLine]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "templateID": ref,
        "buildID": public_id(build),
        "status": _STATUS[build.state],
        "logs": [],
        "logEntries": [_entry(line, build) for line in lines],
    }
    if build.state is BuildState.FAILED and build.failure is not None:
        told["reason"] = {"message": _reason(build), "step": definitions.failed_step(build), "logEntries": []}
    elif build.state is BuildState.CANCELLED:
        told["reason"] = {"message": "The build was cancelled.", "logEntries": []}
    return told


def _reason(build: Build) -> str:
    failure = build.failure
    assert failure is not None
    if failure.step is None or not failure.text.startswith("RUN "):
        return failure.message
    why = failure.message
    if why.startswith("Invalid username"):  # as envd says it, word for word
        why = "unauthenticated: invalid" + why.removeprefix("Invalid").removesuffix(". It said nothing.")
    return f"failed to run command '{failure.text[4:]}': command failed: {why}"


def _entry(line: LogLine, build: Build) -> dict[str, Any]:
    entry: dict[str, Any] = {"timestamp": timestamp(line.at), "message": line.text, "level": _LEVEL.get(line.stream, "info")}
    if line.step is not None:
        number = build.steps[line.step].line
        entry["step"] = "base" if number == definitions.BASE_LINE else str(number)
    return entry
