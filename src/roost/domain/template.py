"""A template: a name for a snapshot with the agent up and its services ready. Creating a sandbox is cloning it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from roost.domain.build import ImageSettings
from roost.domain.ids import SnapshotId, TeamId, TemplateId
from roost.domain.sandbox import Size
from roost.domain.template_command import TemplateCommand as TemplateCommand
from roost.domain.template_ref import LATEST as LATEST


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
    name: str  # a team may have several of one name, each under another tag
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
    tag: str = LATEST
    settings: ImageSettings | None = None  # what a build begins with that goes on from it
    revision: int = 0

    @property
    def ref(self) -> str:
        """How people refer to it."""
        return self.name if self.tag == LATEST else f"{self.name}:{self.tag}"
