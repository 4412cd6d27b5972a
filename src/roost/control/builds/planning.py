"""What a build has to do: every step with its key, folded over the stages, before anything runs.

The keys say which results are there already. A stage begins behind its last step whose result is there, and a stage that only
steps need which are there themselves is not built at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from roost.domain.build import Base, Copy, Definition, FromImage, FromNothing, FromStage, FromTemplate, ImageSettings, Stage, Step
from roost.domain.build_actions import KEY_VERSION, Action, CopyFiles, layer_key
from roost.domain.build_stages import needed_stages
from roost.domain.build_steps import Progress, advance, begin, follow
from roost.domain.builds import BuildStep
from roost.domain.ids import SnapshotId, TeamId


@dataclass(frozen=True, slots=True)
class BaseFacts:
    """What a stage begins with, once it was looked up."""

    key: str
    settings: ImageSettings
    snapshot: SnapshotId | None = None  # None: to be imported, when it is needed


@dataclass(frozen=True, slots=True)
class PlannedStep:
    number: int  # in `Build.steps`
    step: Step
    action: Action | None  # None: only settings change
    key: str  # of the disk after it


@dataclass(frozen=True, slots=True)
class PlannedStage:
    number: int  # in the definition
    stage: Stage
    from_number: int  # of its FROM, in `Build.steps`
    base: BaseFacts
    steps: tuple[PlannedStep, ...]
    progress: Progress  # at its end

    @property
    def key(self) -> str:
        return self.steps[-1].key if self.steps else self.base.key


def list_steps(definition: Definition) -> tuple[BuildStep, ...]:
    """Of the stages that are needed: where each begins, then its steps. Raises StepInvalid."""
    listed: list[BuildStep] = []
    for number in needed_stages(definition):
        stage = definition.stages[number]
        places = [stage.place, *(step.place for step in stage.steps)]
        listed += [BuildStep(number, place.line, place.text[:2000]) for place in places]
    return tuple(listed)


def plan_stage(
    definition: Definition,
    number: int,
    from_number: int,
    base: BaseFacts | PlannedStage,
    digests: Mapping[int, Sequence[str]],
) -> PlannedStage:
    """`digests` are of the files that copies take, by the place of their step in the stage. Pure. Raises StepInvalid."""
    stage = definition.stages[number]
    if isinstance(base, PlannedStage):
        progress, facts = follow(base.progress), BaseFacts(base.key, base.progress.settings)
    else:
        progress, facts = begin(base.settings, definition.escape), base
    key, planned = facts.key, []
    for place, step in enumerate(stage.steps):
        progress, action = advance(progress, definition.arguments, step)
        if action is not None:
            key = layer_key(key, action, digests.get(place, ()))
        planned.append(PlannedStep(from_number + 1 + place, step, action, key))
    return PlannedStage(number, stage, from_number, facts, tuple(planned), progress)


def copies_of(definition: Definition, number: int, settings: BaseFacts | PlannedStage) -> dict[int, CopyFiles]:
    """The copies of a stage as they will be done, by the place of their step: whoever plans has to know their files' digests."""
    stage = definition.stages[number]
    if not any(isinstance(step, Copy) for step in stage.steps):
        return {}
    planned = plan_stage(definition, number, 0, settings, {})
    return {place: each.action for place, each in enumerate(planned.steps) if isinstance(each.action, CopyFiles)}


def base_key(team: TeamId, base: Base, pinned: str) -> str:
    """A team's layers are its own: what a step fetched or was given may be for its eyes only."""
    match base:
        case FromImage():
            said = ("image", pinned)
        case FromTemplate():
            said = ("template", pinned)
        case FromNothing():
            said = ("scratch", "")
        case FromStage():
            raise ValueError("a stage has a key of its own")
    return hashlib.sha256(json.dumps((KEY_VERSION, team, *said)).encode()).hexdigest()


def template_digest(key: str, *parts: object) -> str:
    """Of everything that a template is made of: the same means that it need not be made again."""
    return hashlib.sha256(json.dumps((key, *(repr(part) for part in parts))).encode()).hexdigest()
