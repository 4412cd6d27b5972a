"""Which stages of a definition are built, and what waits for what."""

from __future__ import annotations

from roost.domain.build import Copy, Definition, FromStage, Place, Stage
from roost.domain.build_errors import StepInvalid


def needed_stages(definition: Definition) -> dict[int, frozenset[int]]:
    """The stages that the target needs, each with those it waits for itself, in an order in which they can be built.

    Whichever two do not wait for each other can be built side by side.
    """
    count = len(definition.stages)
    target = definition.target + count if definition.target < 0 else definition.target
    if not 0 <= target < count:
        raise StepInvalid(Place(1, ""), f"there is no stage {definition.target}: there are {count}.")
    needs: dict[int, frozenset[int]] = {}
    waiting = [target]
    while waiting:
        number = waiting.pop()
        if number not in needs:
            needs[number] = _direct_needs(number, definition.stages[number])
            waiting.extend(needs[number])
    return dict(sorted(needs.items()))  # a stage needs earlier ones only


def _direct_needs(number: int, stage: Stage) -> frozenset[int]:
    bases = [(stage.base, stage.place), *((step.origin, step.place) for step in stage.steps if isinstance(step, Copy))]
    needs = {(base.stage, place.line): place for base, place in bases if isinstance(base, FromStage)}
    for (needed, _), place in needs.items():
        if not 0 <= needed < number:
            raise StepInvalid(place, "it needs a stage that does not come before its own.")
    return frozenset(needed for needed, _ in needs)
