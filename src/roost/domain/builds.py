"""A build: the record of a template that is being made, and what else is kept for it. `domain.build` is what it is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from roost.domain.build import Copy, Definition, FromContext, ImageSettings
from roost.domain.ids import BuildId, NodeId, SnapshotId, TeamId, TemplateId
from roost.domain.sandbox import Size


class BuildState(StrEnum):
    ANNOUNCED = "announced"  # its definition is still to come
    QUEUED = "queued"
    BUILDING = "building"
    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNFINISHED = frozenset({BuildState.QUEUED, BuildState.BUILDING})


class StepState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CACHED = "cached"  # its result was there already
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class BuildStep:
    """One step of a stage that is needed, in the order of the definition."""

    stage: int
    line: int
    text: str
    state: StepState = StepState.WAITING
    started_at: float | None = None
    ended_at: float | None = None


@dataclass(frozen=True, slots=True)
class BuildFailure:
    code: str
    message: str
    step: int | None = None  # by its place in `Build.steps`; None: before the first, or after the last
    line: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Build:
    id: BuildId
    team: TeamId
    name: str  # of the template
    tag: str
    state: BuildState
    created_at: float
    size: Size = field(default_factory=Size)
    description: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    steps: tuple[BuildStep, ...] = ()
    failure: BuildFailure | None = None
    template: TemplateId | None = None
    uses_cache: bool = True  # False: every step runs
    attempts: int = 0  # how often it was begun: one that ends the server each time is given up
    is_cancelled: bool = False  # somebody asked for it; whoever builds ends it
    more_tags: tuple[str, ...] = ()  # beside `tag`
    needs_secrets: bool = False  # values that are in memory only: it cannot be resumed without them
    revision: int = 0


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """The definition of a build, beside it: it is large and never changes."""

    id: BuildId
    team: TeamId
    definition: Definition
    created_at: float
    revision: int = 0


@dataclass(frozen=True, slots=True)
class LogLine:
    at: float
    text: str
    step: int | None = None  # by its place in `Build.steps`
    stream: str = "stdout"  # or "stderr", or "build": said by the builder itself


@dataclass(frozen=True, slots=True)
class BuildLog:
    """Some lines of a build's log, in order."""

    id: str  # "<build>/<number>": see `log_id`
    build: BuildId
    created_at: float
    first: int  # the number of the first line, from 0
    lines: tuple[LogLine, ...]
    revision: int = 0


def log_id(build: BuildId, page: int) -> str:
    return f"{build}/{page:06d}"


@dataclass(frozen=True, slots=True)
class Layer:
    """A disk as a step left it, kept under the key of everything that went into it."""

    id: str  # the key: see `domain.layers`
    team: TeamId
    node: NodeId
    snapshot: SnapshotId
    created_at: float
    used_at: float
    text: str = ""  # the step, for people
    settings: ImageSettings | None = None  # of an imported image
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Upload:
    """Files that came for a build: an archive that lies on a node under the digest of its content."""

    id: str  # "<team>/<digest>"
    team: TeamId
    node: NodeId
    digest: str  # sha256, hex
    size_bytes: int
    created_at: float
    used_at: float
    revision: int = 0


def upload_id(team: TeamId, digest: str) -> str:
    return f"{team}/{digest}"


def uploads_of(definition: Definition) -> frozenset[str]:
    """The files that a build needs, by digest."""
    steps = (step for stage in definition.stages for step in stage.steps)
    return frozenset(step.origin.upload for step in steps if isinstance(step, Copy) and isinstance(step.origin, FromContext))
