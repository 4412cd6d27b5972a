"""How a template is made: stages, each a base and a list of steps.

Every front end (a Dockerfile, E2B's builder, an own definition) translates to this, and one builder carries it out. A step is
what somebody wrote, before its variables are known: only with the base's settings in hand does `roost.domain.build_steps` say
what it changes and what has to be done inside the sandbox.

`kind` tells apart what else would look alike once it is data: in a record, and in a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from roost.domain.template_command import TemplateCommand


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """What an image says beside its files: how its programs are to run. Names are those of the OCI image specification."""

    env: Mapping[str, str] = field(default_factory=dict)
    user: str = ""  # "" is root; may be "name", "1000", "name:group"
    workdir: str = "/"
    shell: tuple[str, ...] = ("/bin/sh", "-c")
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()  # "8080/tcp"
    volumes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    stop_signal: str = ""
    health: TemplateCommand | None = None  # what succeeds once the services are up; its user "" is the image's


@dataclass(frozen=True, slots=True)
class Place:
    """Where somebody wrote it, for messages. Never part of what a step means."""

    line: int  # from 1
    text: str


# Where a stage begins


@dataclass(frozen=True, slots=True)
class FromImage:
    reference: str  # as written: "debian:12", "registry.local:5000/team/app@sha256:…"
    kind: Literal["image"] = "image"


@dataclass(frozen=True, slots=True)
class FromTemplate:
    name: str
    tag: str = ""
    kind: Literal["template"] = "template"


@dataclass(frozen=True, slots=True)
class FromStage:
    stage: int  # an earlier one, by its number
    kind: Literal["stage"] = "stage"


@dataclass(frozen=True, slots=True)
class FromNothing:
    """`FROM scratch`: an empty root filesystem."""

    kind: Literal["scratch"] = "scratch"


Base = FromImage | FromTemplate | FromStage | FromNothing


# Where copied files come from


@dataclass(frozen=True, slots=True)
class FromContext:
    """The files that came with the build. `upload` names the archive: a digest (sha256, hex) of its content."""

    upload: str
    kind: Literal["context"] = "context"


Origin = FromContext | FromStage | FromImage


# What is done inside


@dataclass(frozen=True, slots=True)
class CacheMount:
    """A directory that is kept between builds and is never part of the template."""

    target: str
    id: str
    owner: str = "0:0"
    mode: int = 0o755
    is_shared: bool = True  # False: one build at a time
    kind: Literal["cache"] = "cache"


@dataclass(frozen=True, slots=True)
class SecretMount:
    """A file, or a variable, that exists while the command runs, and in no layer, log or key."""

    id: str
    target: str = ""  # "" : /run/secrets/ID, or no file if there is a variable
    variable: str = ""
    owner: str = "0:0"
    mode: int = 0o400
    is_required: bool = False
    kind: Literal["secret"] = "secret"


@dataclass(frozen=True, slots=True)
class FileMount:
    """A file that exists while the command runs only: a heredoc that names its own interpreter (`#!`)."""

    target: str
    content: str
    mode: int = 0o755
    kind: Literal["file"] = "file"


Mount = CacheMount | SecretMount | FileMount


@dataclass(frozen=True, slots=True)
class Run:
    """A command. As text it is for the shell of the stage; as words it is started as it is."""

    command: str | tuple[str, ...]
    place: Place
    user: str | None = None  # None: the stage's
    mounts: tuple[Mount, ...] = ()
    has_network: bool = True
    kind: Literal["run"] = "run"


Mode = int | str | None
"""None: as the file has it. Text: as chmod takes it, octal or like "u=rwX,go=rX"; variables are replaced in it."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Files of an origin, by patterns, to a path inside. A target that ends in "/" is a directory."""

    origin: Origin
    sources: tuple[str, ...]
    target: str
    place: Place
    owner: str = ""  # "" : root, or whom the front end names
    mode: Mode = None
    exclude: tuple[str, ...] = ()
    unpacks: bool = False  # archives of the origin are unpacked, as ADD does
    keeps_parents: bool = False
    kind: Literal["copy"] = "copy"


@dataclass(frozen=True, slots=True)
class Write:
    """A file whose content stands in the definition itself (a heredoc)."""

    content: str
    target: str
    place: Place
    owner: str = ""
    mode: Mode = 0o644
    name: str = ""  # what it is called inside a target that is a directory
    expands: bool = True  # variables in the content
    kind: Literal["write"] = "write"


@dataclass(frozen=True, slots=True)
class Fetch:
    """A file from the network, fetched by the sandbox itself, under its own rules."""

    url: str  # http(s), or a git repository
    target: str
    place: Place
    checksum: str = ""  # "sha256:…"; a changed file is noticed by this alone
    owner: str = ""
    mode: Mode = None
    keeps_git_dir: bool = False
    kind: Literal["fetch"] = "fetch"


# What changes settings alone


@dataclass(frozen=True, slots=True)
class DeclareArgument:
    """A build argument is known from here on in this stage: as given by whoever builds, else its default, else not set."""

    name: str
    default: str | None
    place: Place
    kind: Literal["argument"] = "argument"


@dataclass(frozen=True, slots=True)
class SetEnv:
    pairs: tuple[tuple[str, str], ...]
    place: Place
    kind: Literal["env"] = "env"


@dataclass(frozen=True, slots=True)
class SetWorkdir:
    """It is made if it is missing."""

    path: str
    place: Place
    kind: Literal["workdir"] = "workdir"


@dataclass(frozen=True, slots=True)
class SetUser:
    user: str
    place: Place
    is_made: bool = False  # E2B's builder makes a user that is missing; a Dockerfile does not
    kind: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class SetShell:
    words: tuple[str, ...]
    place: Place
    kind: Literal["shell"] = "shell"


@dataclass(frozen=True, slots=True)
class SetStart:
    """ENTRYPOINT and CMD: None leaves the one there is, text is for the stage's shell. A new entrypoint forgets the base's
    command."""

    place: Place
    entrypoint: str | tuple[str, ...] | None = None
    command: str | tuple[str, ...] | None = None
    kind: Literal["start"] = "start"


@dataclass(frozen=True, slots=True)
class SetLabels:
    pairs: tuple[tuple[str, str], ...]
    place: Place
    kind: Literal["labels"] = "labels"


@dataclass(frozen=True, slots=True)
class SetPorts:
    ports: tuple[str, ...]
    place: Place
    kind: Literal["ports"] = "ports"


@dataclass(frozen=True, slots=True)
class SetVolumes:
    paths: tuple[str, ...]
    place: Place
    kind: Literal["volumes"] = "volumes"


@dataclass(frozen=True, slots=True)
class SetHealth:
    check: TemplateCommand | None  # None: HEALTHCHECK NONE
    place: Place
    kind: Literal["health"] = "health"


@dataclass(frozen=True, slots=True)
class SetStopSignal:
    signal: str
    place: Place
    kind: Literal["stop-signal"] = "stop-signal"


Step = (
    Run
    | Copy
    | Write
    | Fetch
    | DeclareArgument
    | SetEnv
    | SetWorkdir
    | SetUser
    | SetShell
    | SetStart
    | SetLabels
    | SetPorts
    | SetVolumes
    | SetHealth
    | SetStopSignal
)


@dataclass(frozen=True, slots=True)
class Stage:
    name: str  # "" where nobody named it
    base: Base
    steps: tuple[Step, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Definition:
    """The last stage that `target` names becomes the template; a stage that it does not need is not built."""

    stages: tuple[Stage, ...]
    target: int = -1
    arguments: Mapping[str, str] = field(default_factory=dict)  # what whoever builds gave
    escape: str = "\\"  # the character that escapes in words
    notes: tuple[str, ...] = ()  # what stands in it and has no effect, for whoever builds
    secrets: tuple[str, ...] = ()  # names; values travel apart
    start: TemplateCommand | None = None  # else entrypoint and command of the last stage
    ready: TemplateCommand | None = None  # else its health check
