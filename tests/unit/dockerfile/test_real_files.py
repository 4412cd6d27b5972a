"""Ten Dockerfiles as people write them, and all that has to be done for each.

What is expected stands beside each file. It was compared with what BuildKit makes of the same file: commands, variables,
directories, users, mounts, targets, modes and the image's configuration are the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from roost.dockerfile.parsing import parse
from roost.domain.build import Definition, FromStage, ImageSettings
from roost.domain.build_actions import Action, RunCommand
from roost.domain.build_stages import needed_stages
from roost.domain.build_steps import Progress, advance, begin, follow

FILES = Path(__file__).parent / "files"
BASE = ImageSettings(env={"PATH": "/base/bin:/bin", "BASE": "from-base"}, command=("basecmd",))


def carried_out(definition: Definition) -> dict[str, Any]:
    """Everything that is done for the target, in order, and the settings it ends with."""
    needed = needed_stages(definition)
    done: dict[int, Progress] = {}
    stages: list[dict[str, Any]] = []
    for number in needed:
        stage = definition.stages[number]
        match stage.base:
            case FromStage(stage=below):
                progress = follow(done[below])
            case base:
                progress = begin(BASE if base.kind != "scratch" else ImageSettings(), definition.escape)
        actions: list[dict[str, Any]] = []
        for step in stage.steps:
            progress, action = advance(progress, definition.arguments, step)
            actions += [{"line": step.place.line, **rendered(action)}] if action else []
        done[number] = progress
        stages.append({"stage": number, "name": stage.name, "base": asdict(stage.base), "actions": actions})
    settings = asdict(done[list(needed)[-1]].settings)
    return {"stages": stages, "settings": settings, "secrets": list(definition.secrets), "notes": list(definition.notes)}


def rendered(action: Action) -> dict[str, Any]:
    facts = asdict(action)
    if isinstance(action, RunCommand):  # what the base says is the same everywhere
        facts["env"] = {name: value for name, value in action.env.items() if BASE.env.get(name) != value}
    return {name: value for name, value in facts.items() if value not in ("", None, {}, (), False)}


def as_json(told: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(told))


@pytest.mark.parametrize("path", sorted(FILES.glob("*.Dockerfile")), ids=lambda path: path.stem)
def test_a_file_means_what_it_means_to_docker(path: Path) -> None:
    definition = parse(path.read_text(), arguments={})
    expected = json.loads(path.with_suffix(".json").read_text())
    assert as_json(carried_out(definition)) == expected


def test_there_are_ten() -> None:
    assert len(list(FILES.glob("*.Dockerfile"))) == 10


def test_arguments_and_targets_change_what_is_done() -> None:
    text = (FILES / "node-multi-stage.Dockerfile").read_text()
    told = carried_out(parse(text, arguments={"NODE_VERSION": "20", "API_URL": "https://example.com"}, target="builder"))
    assert [(stage["stage"], stage["name"]) for stage in told["stages"]] == [(0, "base"), (2, "builder")]
    assert told["stages"][0]["base"]["reference"] == "node:20-alpine"
    assert told["stages"][1]["actions"][-1]["env"] == {
        "NODE_ENV": "production",
        "API_URL": "https://example.com",
        "NODE_VERSION": "20",
    }
