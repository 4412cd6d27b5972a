"""Figures, bars, and where they are written."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured, in seconds, beside what the engine needs for the same. `bar` is the highest ratio allowed, p50 to
    p50; `most_s` the highest p50 where there is nothing to compare with."""

    name: str
    ours: list[float]
    peer: str = ""
    theirs: list[float] = field(default_factory=list)
    bar: float | None = None
    most_s: float | None = None
    note: str = ""
    facts: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        return statistics.median(self.ours) / statistics.median(self.theirs) if self.theirs else None

    @property
    def verdict(self) -> str:
        if self.most_s is not None:
            return "ok" if statistics.median(self.ours) <= self.most_s else "MISSED"
        if self.bar is None or self.ratio is None:
            return ""
        return "ok" if self.ratio <= self.bar else "MISSED"


def show(figures: list[Figure]) -> None:
    print(f"\n{'what':<42} {'p50':>9} {'p95':>9}   {'compared with':<32} {'p50':>9} {'ratio':>6} {'bar':>5}")
    for figure in figures:
        line = f"{figure.name:<42} {_ms(_p(figure.ours, 50))} {_ms(_p(figure.ours, 95))}"
        if figure.theirs:
            line += f"   {figure.peer:<32} {_ms(_p(figure.theirs, 50))} {figure.ratio:6.2f}"
            line += f" {figure.bar:5.2f} {figure.verdict}" if figure.bar else ""
        elif figure.most_s is not None:
            line += f"   at most {_ms(figure.most_s).strip()}: {figure.verdict}"
        print(line + (f"   {figure.note}" if figure.note else ""))


def save(figures: list[Figure], name: str) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    record = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {"cores": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()},
        "figures": [
            {
                "name": figure.name,
                "ours_s": [round(value, 6) for value in figure.ours],
                "peer": figure.peer,
                "theirs_s": [round(value, 6) for value in figure.theirs],
                "ratio": figure.ratio,
                "bar": figure.bar,
                "most_s": figure.most_s,
                "note": figure.note,
                "facts": figure.facts,
            }
            for figure in figures
        ],
    }
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path


def _p(values: list[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))] if ordered else float("nan")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:7.1f}ms"
