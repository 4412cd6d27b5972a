"""The schemas of builds, layers and uploads."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from roost.api.v1.models import Asked, Given, SizeBody, SizeModel, Taken, TemplateModel
from roost.api.v1.rendering import size as size_model
from roost.api.v1.rendering import timestamp as timestamp_of
from roost.api.v1.schema import Pairs, Text, Timestamp
from roost.domain.build import Definition
from roost.domain.builds import Build, BuildFailure, BuildState, BuildStep, LogLine, StepState
from roost.domain.errors import Invalid
from roost.domain.template import LATEST

_DEFINITION: TypeAdapter[Definition] = TypeAdapter(Definition)


class BuildBody(Taken):
    name: Annotated[Text, Field(description="Of the template: 1-63 of a-z, 0-9 and inner hyphens.")]
    tag: Annotated[Text, Field(description="Under which the template is kept; a tag that there is names the new one then.")] = (
        LATEST
    )
    definition: Annotated[
        dict[str, Any], Field(description="Stages, each a base and steps, every part with its `kind`: see docs/templates.md.")
    ]
    description: Text = ""
    size: Annotated[SizeBody | None, Field(description="Of the sandboxes that it is built in, and of those made from it.")] = None
    cache: Annotated[bool, Field(description="False: every step runs.")] = True
    secrets: Annotated[
        Pairs, Field(default_factory=dict, description="Values for the secrets that steps name. Kept in memory only.")
    ]


class BuildQuery(Asked):
    template: Annotated[str | None, Field(description="Only those of this name.")] = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class LogQuery(Asked):
    after: Annotated[int, Field(ge=0, description="From this line on; the first is 0.")] = 0
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1000
    follow: Annotated[bool, Field(description="Server-sent events, until the build has ended.")] = False


class TagBody(Taken):
    tag: Annotated[Text, Field(description="That names the same template from now on.")]


class PruneBody(Taken):
    unused_s: Annotated[float, Field(ge=0, allow_inf_nan=False, description="Only layers that no build used for so long.")] = 0.0


class BuildStepModel(Given):
    stage: int
    line: int
    text: str
    state: StepState
    started_at: Timestamp | None
    ended_at: Timestamp | None


class BuildFailureModel(Given):
    code: str
    message: str
    step: Annotated[int | None, Field(description="By its place in `steps`.")]
    line: int | None
    text: str


class TemplateBuildModel(Given):
    """A template that is built, or was."""

    id: str
    template: Annotated[str, Field(description="Its name and tag.")]
    name: str
    tag: str
    state: BuildState
    created_at: Timestamp
    started_at: Timestamp | None
    ended_at: Timestamp | None
    size: SizeModel
    steps: list[BuildStepModel]
    failure: BuildFailureModel | None


class BuildList(Given):
    builds: list[TemplateBuildModel]


class LogLineModel(Given):
    at: Timestamp
    text: str
    step: Annotated[int | None, Field(description="By its place in the build's `steps`.")]
    stream: Annotated[str, Field(description="stdout, stderr, or build: said by the builder itself.")]


class LogPage(Given):
    lines: list[LogLineModel]
    next: Annotated[int, Field(description="What to ask for `after` with, next.")]


class UploadModel(Given):
    digest: str
    size_bytes: int


class RemovedTemplates(Given):
    removed: list[TemplateModel]


class PruneAnswer(Given):
    layers: Annotated[int, Field(description="How many are gone.")]


def definition(given: dict[str, Any]) -> Definition:
    """Raises Invalid, naming what does not fit."""
    try:
        return _DEFINITION.validate_python(given)
    except ValidationError as error:
        first = max(error.errors(include_url=False, include_input=False), key=lambda each: len(each["loc"]))
        where = ".".join(str(part) for part in first["loc"])
        raise Invalid("definition_invalid", f"The definition is not usable at {where!r}: {first['msg']}.", field=where) from error


def build(record: Build) -> TemplateBuildModel:
    return TemplateBuildModel(
        id=record.id,
        template=record.name if record.tag == LATEST else f"{record.name}:{record.tag}",
        name=record.name,
        tag=record.tag,
        state=record.state,
        created_at=timestamp_of(record.created_at),
        started_at=_maybe(record.started_at),
        ended_at=_maybe(record.ended_at),
        size=size_model(record.size),
        steps=[_step(step) for step in record.steps],
        failure=_failure(record.failure) if record.failure else None,
    )


def line(said: LogLine) -> LogLineModel:
    return LogLineModel(at=timestamp_of(said.at), text=said.text, step=said.step, stream=said.stream)


def _step(step: BuildStep) -> BuildStepModel:
    return BuildStepModel(
        stage=step.stage,
        line=step.line,
        text=step.text,
        state=step.state,
        started_at=_maybe(step.started_at),
        ended_at=_maybe(step.ended_at),
    )


def _failure(failure: BuildFailure) -> BuildFailureModel:
    return BuildFailureModel(code=failure.code, message=failure.message, step=failure.step, line=failure.line, text=failure.text)


def _maybe(at: float | None) -> Timestamp | None:
    return None if at is None else timestamp_of(at)
