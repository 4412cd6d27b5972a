"""What each piece of Roost's build of the engine saves of a start: the same commands with it and without, in turn.

seccomp programs    compiled when the engine is built. Without: two flags that change next to nothing but the name of the program
sentry              a program of its own. Without: runsc starts itself
prewarmer           before the sentry, which it needs. Without: the sentry alone
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.raw import Raw
from bench.report import Figure
from roost.setup.engine_build import PREWARMER, SENTRY

OTHER_PROGRAMS = ("--profile", "--host-uds=open")
STARTS = ("run", "create", "restore", "restore into a created one")


@dataclass(slots=True)
class Variant:
    """An engine with some of its pieces, an image that it made, and what it took."""

    raw: Raw
    image: Path
    times: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in STARTS})

    def measure(self) -> None:
        with self._container() as (name, bundle):
            self.times["run"].append(self.raw.run(name, bundle))
        with self._container() as (name, bundle):
            self.times["restore"].append(self.raw.restore(name, bundle, self.image))
        with self._container() as (name, bundle):
            self.times["create"].append(self.raw.create(name, bundle))
            self.times["restore into a created one"].append(self.raw.restore(name, bundle, self.image))

    @contextmanager
    def _container(self) -> Iterator[tuple[str, Path]]:
        name, bundle = self.raw.prepare()
        try:
            yield name, bundle
        finally:
            self.raw.remove(name)


def measure(raw: Raw, rounds: int) -> list[Figure]:
    built = raw.runsc.parent
    pieces = [name for name in (SENTRY, PREWARMER) if (built / name).is_file()]
    bare = _variant(raw, "bare", [])
    with_sentry = _variant(raw, "sentry", [SENTRY])
    variants = [bare, _variant(replace(raw, flags=(*raw.flags, *OTHER_PROGRAMS)), "programs", []), with_sentry]
    pairs = [("seccomp programs", bare, variants[1]), ("sentry", with_sentry, bare)]
    if PREWARMER in pieces:
        whole = _variant(raw, "whole", pieces)
        variants.append(whole)
        pairs += [("prewarmer", whole, with_sentry), ("all of them", whole, variants[1])]
    for _ in range(rounds):
        for variant in variants:
            variant.measure()
    return [
        Figure(f"{start}: {piece}", with_it.times[start], "without", without.times[start])
        for piece, with_it, without in pairs
        for start in STARTS
    ]


def _variant(raw: Raw, name: str, pieces: list[str]) -> Variant:
    """Its helpers are copies: those of a folder that holds nothing else."""
    folder = raw.work / f"engine-{name}"
    (folder / "helpers").mkdir(parents=True)
    for piece in pieces:
        shutil.copy2(raw.runsc.parent / piece, folder / "helpers")
    mine = replace(raw, helpers=folder / "helpers")
    container, bundle = mine.prepare()
    mine.run(container, bundle)
    mine.checkpoint(container, folder / "image")
    mine.remove(container)
    return Variant(mine, folder / "image")
