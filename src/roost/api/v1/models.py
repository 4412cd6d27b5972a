"""The schemas of `/v1`: what is taken and what is given. Unknown fields are refused, so that a misspelt one is never
ignored.

Bounds that are rules of the house (how long a name, how many forks) are not repeated here: `control` checks them and
says why.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from roost.api.v1.network import NetworkBody, NetworkModel
from roost.api.v1.schema import GIVEN, TAKEN, Pairs, Seconds, Text, Timestamp, Whole
from roost.domain.events import EventKind
from roost.domain.lifecycle import State
from roost.domain.sandbox import OnTimeout
from roost.domain.snapshot import Purpose, SnapshotKind


class Taken(BaseModel):
    """A body from a caller."""

    model_config = TAKEN


class Asked(BaseModel):
    """The query of a request: all of it is text."""

    model_config = ConfigDict(extra="forbid")


class Given(BaseModel):
    """An answer."""

    model_config = GIVEN


class ErrorDetail(Given):
    """What went wrong. Further fields are the facts that the message names."""

    model_config = ConfigDict(extra="allow")

    code: Annotated[str, Field(description="A stable word for programs.", examples=["sandbox_not_found"])]
    message: Annotated[str, Field(description="Prose for people: what happened, to which thing, what to do.")]


class ErrorAnswer(Given):
    error: ErrorDetail


class SizeModel(Given):
    """What a sandbox may use. Zero means no limit."""

    cpus: float
    memory_mb: int
    disk_mb: int
    pids: int


class SizeBody(Taken):
    """What a sandbox may use. What is left out is the template's; zero means no limit."""

    cpus: Annotated[float | None, Field(allow_inf_nan=False)] = None
    memory_mb: Whole | None = None
    disk_mb: Whole | None = None
    pids: Whole | None = None


class PolicyFields(Taken):
    """When a sandbox sleeps by itself. Left out: it does not."""

    timeout_s: Annotated[Seconds | None, Field(description="At this age, do `on_timeout`.")] = None
    on_timeout: Annotated[OnTimeout, Field(strict=False)] = OnTimeout.PAUSE
    idle_s: Annotated[Seconds | None, Field(description="Sleep after so long without traffic, holds or work of its own.")] = None
    idle_cpu_share: Annotated[
        float, Field(allow_inf_nan=False, description="Below this share of one core the guest counts as idle.")
    ] = 0.05
    wake_on_traffic: Annotated[bool, Field(description="Whether a request to it wakes it.")] = True
    keep_memory: Annotated[bool, Field(description="Whether sleeping by itself keeps its memory.")] = True


class CreateBody(PolicyFields):
    template: Annotated[Text, Field(description="A template, or a snapshot by id or name.")] = "base"
    name: Annotated[Text | None, Field(description="Unique among the living; also its host name.")] = None
    metadata: Pairs = {}
    env: Annotated[Pairs, Field(description="Variables of every process in it.")] = {}
    size: SizeBody | None = None
    network: NetworkBody | None = None


class UpdateBody(PolicyFields):
    """Only what is mentioned changes. `metadata` is replaced as a whole."""

    name: Text | None = None
    metadata: Pairs = {}
    network: NetworkBody | None = None


class SandboxQuery(Asked):
    state: Annotated[list[State], Field(description="Any of these. Left out: all but the dead.")] = []
    name: Annotated[Text | None, Field(description="Names that begin so.")] = None
    template: Text | None = None
    metadata: Annotated[list[Text], Field(description="`key=value`; every pair given must be there.")] = []
    limit: Annotated[Whole, Field(description="Of a page, 1 to 100.")] = 100
    cursor: Annotated[Text | None, Field(description="`next_cursor` of the page before.")] = None


class SnapshotQuery(Asked):
    sandbox: Annotated[Text | None, Field(description="Only those of it, by id or name.")] = None
    limit: Whole = 100
    cursor: Text | None = None


class EventQueryModel(Asked):
    sandbox: Annotated[Text | None, Field(description="Only those of it, by id.")] = None
    kind: Annotated[list[EventKind], Field(description="Any of these.")] = []
    after: Annotated[Whole, Field(ge=0, description="A sequence: only later ones.")] = 0
    before: Annotated[Whole | None, Field(description="A sequence: only earlier ones.")] = None
    newest_first: bool = False
    limit: Whole = 100


class FollowQuery(Asked):
    sandbox: Text | None = None
    kind: list[EventKind] = []
    after: Annotated[Whole | None, Field(ge=0, description="Start behind this one; left out: with the next.")] = None


class KillQuery(Asked):
    keep: Annotated[bool, Field(description="Whether it can be undeleted for a while.")] = True


class MetricsQuery(Asked):
    start: Annotated[Seconds, Field(description="Seconds since 1970.")] = 0.0
    end: Annotated[Seconds, Field(description="Seconds since 1970.")] = 1e10


class PauseBody(Taken):
    memory: Annotated[bool, Field(description="False keeps the disk only: resume is then a boot.")] = True


class ResumeBody(Taken):
    cold: Annotated[bool, Field(description="Agree to boot from the disk and lose what was in memory.")] = False


class SnapshotBody(Taken):
    name: Text | None = None
    memory: bool = True


class ForkBody(Taken):
    count: Whole = 1
    names: Annotated[list[Text] | None, Field(description="One for each, if given.")] = None


class RollbackBody(Taken):
    snapshot: Annotated[Text, Field(description="One of its own, by id or name.")]


class ExtendBody(Taken):
    timeout_s: Annotated[Seconds, Field(description="From now on; may be shorter than what is left.")]


class HoldBody(Taken):
    seconds: Seconds
    reason: Annotated[Text, Field(description="Shown to whoever asks why it is awake.")] = ""


class HoldModel(Given):
    until: Timestamp
    reason: str


class OperationModel(Given):
    action: str
    started_at: Timestamp
    deadline_at: Timestamp


class DriverModel(Given):
    """The person at the keyboard."""

    who: str
    since: Timestamp
    link: Annotated[str, Field(description="By which they came.")]


class SandboxModel(Given):
    id: Annotated[str, Field(examples=["i0h3mn29fk4ttq0xv2c71"])]
    name: str | None
    state: State
    template: str
    created_at: Timestamp
    changed_at: Annotated[Timestamp, Field(description="Of its state: asleep, awake or dead since then.")]
    started_at: Annotated[Timestamp | None, Field(description="Of this incarnation.")]
    expires_at: Timestamp | None
    incarnation: Annotated[int, Field(description="Counts the processes that stood behind it.")]
    revision: Annotated[int, Field(description="Counts its changes: of two answers, the one with the smaller is the older.")]
    snapshot: Annotated[str | None, Field(description="The newest: where resume and rewind lead.")]
    parent: Annotated[str | None, Field(description="The sandbox it was forked from.")]
    metadata: Pairs
    size: SizeModel
    policy: PolicyFields
    network: Annotated[NetworkModel, Field(description="What it may reach, and who may reach it.")]
    hold: HoldModel | None
    driver: Annotated[DriverModel | None, Field(description="The person who drives; null: the agent does.")]
    operation: Annotated[OperationModel | None, Field(description="The move under way.")]
    reason: Annotated[str | None, Field(description="Why it died, or was rewound.")]
    undelete_until: Annotated[Timestamp | None, Field(description="Until then a dead one can be undeleted.")]
    has_desktop: Annotated[bool, Field(description="It has a screen.")]
    url: Annotated[str, Field(examples=["http://{port}-i0h3mn29fk4ttq0xv2c71.roost.localhost:4700"])]
    domain: str


class EnteredModel(SandboxModel):
    """A sandbox with its tokens: for whoever made it, or asked for them. No other answer has them."""

    access_token: Annotated[str, Field(description="Opens the agent inside it.")]
    traffic_token: Annotated[str | None, Field(description="Opens its ports when they are not public.")]


class ResumedModel(SandboxModel):
    cold: Annotated[bool, Field(description="It booted from its disk; what was in memory is gone.")]
    lost: Annotated[list[str], Field(description="Commands that ran in the memory that was left out.")]


class SandboxPage(Given):
    sandboxes: list[SandboxModel]
    next_cursor: Annotated[str | None, Field(description="Ask again with it for the next page; null: there is none.")]


class ForkFailure(ErrorDetail):
    index: Annotated[int, Field(description="Which of the children, counted from 0.")]


class ForkAnswer(Given):
    """Both may be filled: some children run, others could not be made."""

    sandboxes: list[EnteredModel]
    errors: list[ForkFailure]


class MetricModel(Given):
    """Counters since the incarnation began (cpu_s, received, sent), gauges of the moment (memory, disk)."""

    at: Timestamp
    cpu_s: float
    memory_bytes: int
    disk_bytes: int
    received_bytes: int
    sent_bytes: int


class MetricsAnswer(Given):
    metrics: list[MetricModel]


class ReasonModel(Given):
    kind: str
    detail: str
    since: Timestamp | None
    until: Timestamp | None


class ActivityModel(Given):
    """Why a sandbox is awake, and when it will sleep if nothing new happens."""

    awake: bool
    dozing: Annotated[bool, Field(description="Asleep, but still in memory: it wakes in milliseconds. A few seconds old.")]
    awake_because: list[ReasonModel]
    sleeps_at: Timestamp | None
    then: Annotated[OnTimeout | None, Field(description="What happens at `sleeps_at`.")]


class SnapshotModel(Given):
    id: str
    name: str | None
    kind: SnapshotKind
    purpose: Purpose
    template: str
    sandbox: str | None
    parent: str | None
    created_at: Timestamp
    memory_bytes: int


class SnapshotPage(Given):
    snapshots: list[SnapshotModel]
    next_cursor: str | None


class TemplateModel(Given):
    id: str
    name: str
    tag: str
    is_built_in: Annotated[bool, Field(description="Comes with Roost: everybody's.")]
    description: str
    has_desktop: Annotated[bool, Field(description="Its sandboxes have a screen.")]
    packages: Annotated[list[str], Field(description="What is installed, beside what those need.")]
    sandboxes: Annotated[int, Field(description="Living ones of the team that were made from it.")]
    memory_bytes: Annotated[int, Field(description="Of its snapshot, which every sandbox starts from.")]
    snapshot: str
    size: SizeModel
    user: str
    workdir: str
    created_at: Timestamp


class BuildModel(Given):
    """A template that is not there yet."""

    name: str
    step: Annotated[str, Field(description="What is being done.")]
    began_at: Timestamp
    failure: Annotated[str | None, Field(description="Why it could not be made so far.")]
    again_at: Annotated[Timestamp | None, Field(description="When it is tried again, after a failure.")]


class TemplateList(Given):
    templates: list[TemplateModel]
    being_made: list[BuildModel]


class EventModel(Given):
    sequence: Annotated[int, Field(description="Strictly increasing.")]
    kind: EventKind
    at: Timestamp
    sandbox: str | None
    facts: dict[str, Any]


class EventList(Given):
    events: list[EventModel]


class KeyBody(Taken):
    name: Annotated[Text, Field(description="What it is for.")]
    scope: Annotated[
        Text,
        Field(
            description="`operator`: all, and the machine. `full`: all sandboxes of the team. `read-only`: sees them, changes"
            " nothing. `sandbox:<id>`: that one."
        ),
    ] = "full"


class KeyModel(Given):
    id: str
    name: str
    hint: Annotated[str, Field(description="The last characters of the secret.")]
    scope: Annotated[str, Field(examples=["full"], description="How far it reaches.")]
    created_at: Timestamp


class NewKeyModel(KeyModel):
    secret: Annotated[str, Field(description="Shown this once and kept nowhere.")]


class KeyList(Given):
    keys: list[KeyModel]


class SleepAllAnswer(Given):
    """Who sleeps now, by id, and who could not be put to sleep."""

    sandboxes: list[str]
    errors: list[ErrorDetail]


class HealthModel(Given):
    status: Annotated[str, Field(examples=["ok"])]


class VersionModel(Given):
    version: str
    engine: str
    agent: str
    domain: str
    home: Annotated[str | None, Field(description="On its machine; null for whoever does not operate it.")]
    pid: Annotated[int | None, Field(description="As `home`.")]
