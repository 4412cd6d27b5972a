"""What can be wrong with a definition: each names the line, the text and a way out."""

from __future__ import annotations

from roost.domain.build import Place
from roost.domain.errors import Invalid, Unsupported


def _at(place: Place) -> str:
    first, _, rest = place.text.strip().partition("\n")
    shown = first if len(first) <= 120 and not rest else f"{first[:120].rstrip()} …"
    return f"Line {place.line}, `{shown}`"


class StepInvalid(Invalid):
    """The step cannot mean anything."""

    def __init__(self, place: Place, why: str) -> None:
        super().__init__("build_step_invalid", f"{_at(place)}: {why}", line=place.line, text=place.text, why=why)


class StepUnsupported(Unsupported):
    """The step means something to Docker that Roost does not do."""

    def __init__(self, place: Place, what: str, instead: str) -> None:
        super().__init__(
            "build_step_unsupported",
            f"{_at(place)}: {what} is not supported. {instead}",
            line=place.line,
            text=place.text,
            what=what,
        )
