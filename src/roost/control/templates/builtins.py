"""Which built-in templates are being made, and which could not be: told to those who ask for one that is not there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from roost.contracts.clock import Clock
from roost.domain.errors import RoostError, TemplateNotReady, TemplateUnmade

# A desktop, the slowest of the built-in ones, on two cores. Only to tell people how long; nothing depends on it.
USUALLY_TAKES_S = 60.0
SOON_S = 5.0


@dataclass(frozen=True, slots=True)
class BuiltinBuild:
    template: str
    began_at: float
    step: str = "waiting for its turn"
    failure: RoostError | None = None
    again_at: float = 0.0  # after a failure


class BuiltinBuilds:
    """Kept in memory: a server that starts makes what is missing, and says so again."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._builds: dict[str, BuiltinBuild] = {}

    def begin(self, template: str) -> None:
        self._builds[template] = BuiltinBuild(template, self._clock.now())

    def tell(self, template: str, step: str) -> None:
        self._builds[template] = replace(self._builds[template], step=step)

    def finish(self, template: str) -> None:
        self._builds.pop(template, None)

    def fail(self, template: str, failure: RoostError, again_at: float) -> None:
        self._builds[template] = replace(self._builds[template], failure=failure, again_at=again_at)

    def list(self) -> tuple[BuiltinBuild, ...]:
        """In the order in which they were announced."""
        return tuple(self._builds.values())

    def excuse(self, template: str) -> RoostError | None:
        """Why a template that nobody finds is not there. None: nobody is making it."""
        build = self._builds.get(template)
        if build is None:
            return None
        if build.failure is not None:
            return TemplateUnmade(template, build.failure.message, max(SOON_S, build.again_at - self._clock.now()))
        elapsed_s = self._clock.now() - build.began_at
        return TemplateNotReady(template, build.step, elapsed_s, max(SOON_S, USUALLY_TAKES_S - elapsed_s))
