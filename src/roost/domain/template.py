"""A template: a name for a snapshot with the agent up and its services ready. Creating a sandbox is cloning it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from roost.domain.ids import SnapshotId, TeamId, TemplateId
from roost.domain.sandbox import Size


@dataclass(frozen=True, slots=True)
class TemplateCommand:
    """A shell command inside the sandbox, who runs it, and for how long at most."""

    command: str
    user: str = "root"
    timeout_s: float = 600


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a template is made of, once its root filesystem is there: steps run inside the booted sandbox, then it is
    snapshotted."""

    name: str
    digest: str
    size: Size
    description: str = ""
    user: str = "user"
    workdir: str = "/home/user"
    env: Mapping[str, str] = field(default_factory=dict)
    run: tuple[TemplateCommand, ...] = ()  # one after the other
    start: TemplateCommand | None = None  # stays running in every sandbox
    ready: TemplateCommand | None = None  # repeated until it succeeds
    has_desktop: bool = False
    packages: tuple[str, ...] = ()  # what was installed, beside what those need
    root: str = ""  # the root filesystem it boots from, if it is not its own


@dataclass(frozen=True, slots=True)
class Template:
    id: TemplateId
    team: TeamId | None  # None: built in, everybody's
    name: str
    snapshot: SnapshotId
    size: Size
    digest: str  # of the definition it was built from: another digest means build again
    created_at: float
    description: str = ""
    user: str = "user"
    workdir: str = "/home/user"
    env: Mapping[str, str] = field(default_factory=dict)
    has_desktop: bool = False  # a screen to look at and to take over
    packages: tuple[str, ...] = ()
    revision: int = 0
