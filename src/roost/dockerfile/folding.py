"""A definition, as far as it can be followed before its base images are known.

So mistakes are found before anything runs, and it is known which files the steps take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from roost.domain.build import Base, Copy, Definition, FromNothing, FromStage, ImageSettings, Step
from roost.domain.build_actions import Action
from roost.domain.build_errors import StepInvalid
from roost.domain.build_steps import Progress, advance, begin, follow
from roost.domain.expansion import BadWord, RequiredVariable, expand


class _Known(dict[str, str]):
    """Variables, and which names were asked for in vain."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__(variables)
        self.missing: set[str] = set()

    def get(self, name: str, default: str | None = None) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if name not in self:
            self.missing.add(name)
        return super().get(name, default)


@dataclass(frozen=True, slots=True)
class Known:
    """What a step does, if no base image sets a variable that it uses."""

    stage: int
    step: int
    action: Action | None
    missing: frozenset[str]  # variables of a copy's sources that only a base could set


class Fold:
    """The stages of a file, one after the other."""

    def __init__(self, given: Mapping[str, str], escape: str) -> None:
        self._given = given
        self._escape = escape
        self._stages: list[tuple[Progress, bool]] = []

    def begin(self, base: Base) -> None:
        if isinstance(base, FromStage):
            progress, is_open = self._stages[base.stage]
            self._stages.append((follow(progress), is_open))
        else:
            progress = begin(ImageSettings(), self._escape)
            if not isinstance(base, FromNothing):  # nothing is known of it, not even its PATH
                progress = replace(progress, settings=ImageSettings(), variables={})
            self._stages.append((progress, not isinstance(base, FromNothing)))

    @property
    def variables(self) -> Mapping[str, str]:
        return self._stages[-1][0].variables

    def advance(self, step: Step) -> tuple[Action | None, frozenset[str]]:
        """Raises StepInvalid for what is wrong whatever the base says."""
        progress, is_open = self._stages[-1]
        known = _Known(progress.variables)
        action = None
        try:
            after, action = advance(replace(progress, variables=known), self._given, step)
        except StepInvalid as error:
            if not is_open or not known.missing or isinstance(error.__cause__, BadWord):
                raise
            after = progress
        self._stages[-1] = (replace(after, variables=dict(after.variables)), is_open)
        return action, self._missing(step, progress) if is_open else frozenset()

    def _missing(self, step: Step, progress: Progress) -> frozenset[str]:
        known = _Known(progress.variables)
        if isinstance(step, Copy):
            for source in step.sources:
                with suppress(RequiredVariable):
                    expand(source, known, escape=self._escape)
        return frozenset(known.missing)


def follow_steps(definition: Definition) -> Iterator[Known]:
    """Every step of every stage."""
    fold = Fold(definition.arguments, definition.escape)
    for stage_number, stage in enumerate(definition.stages):
        fold.begin(stage.base)
        for number, step in enumerate(stage.steps):
            action, missing = fold.advance(step)
            yield Known(stage_number, number, action, missing)
