"""What E2B's builder sends, as the steps that ours runs. Pure.

E2B numbers its steps from 1; what comes before is its base, what comes after is `finalize`. The same numbers are the lines of
our steps, so that a failure is told where the client looks for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import assert_never

from roost.api.e2b import names
from roost.api.e2b.models import BuildStart, BuildStepSent
from roost.domain.build import (
    Base,
    Copy,
    Definition,
    FromContext,
    FromImage,
    FromTemplate,
    Place,
    Run,
    SetEnv,
    SetUser,
    SetWorkdir,
    Stage,
    Step,
)
from roost.domain.builds import Build
from roost.domain.errors import Invalid, Unsupported
from roost.domain.ids import TeamId
from roost.domain.template import LATEST, TemplateCommand

BASE_LINE = 0
DEFAULT_USER = "user"
DEFAULT_WORKDIR = "/home/user"
READY_WITHIN_S = 600.0
STARTS_WITHIN_S = 20  # for one that nobody said how to ask whether it is ready

_BASE_IMAGES = re.compile(r"(?:docker\.io/)?e2bdev/(?:base|code-interpreter)(?::[\w.-]+)?")
_OURS = "base"
_MODE = re.compile(r"0?o?[0-7]{3,4}")
# What E2B's images have and others may not: a user that may become root, and directories that it may write to.
_PROVISION = (
    "mkdir -p /code && chmod 777 /code && chmod -R a+w /usr/local;"
    f" if [ -d /etc/sudoers.d ]; then echo '{DEFAULT_USER} ALL=(ALL:ALL) NOPASSWD: ALL' >/etc/sudoers.d/{DEFAULT_USER}; fi"
)


def translate(sent: BuildStart, team: TeamId, uploads: Mapping[str, str]) -> Definition:
    """`uploads` are the digests of the files that steps name by E2B's hash. Raises Invalid, Unsupported, TemplateNotFound."""
    base = _base(sent, team)
    steps: list[Step] = list(_provision()) if isinstance(base, FromImage) else []
    user = DEFAULT_USER
    for number, step in enumerate(sent.steps, start=1):
        place = Place(number, f"{step.type} {' '.join(step.args[:1] if step.type == 'RUN' else step.args)}")
        translated = _step(step, place, user, uploads)
        if isinstance(translated, SetUser):
            user = translated.user
        steps.append(translated)
    ready = sent.readyCmd or (f"sleep {STARTS_WITHIN_S}" if sent.startCmd else "")
    return Definition(
        stages=(Stage("", base, tuple(steps), Place(BASE_LINE, f"FROM {_written(sent)}")),),
        start=TemplateCommand(sent.startCmd, user) if sent.startCmd else None,
        ready=TemplateCommand(ready, user, READY_WITHIN_S) if ready else None,
    )


def files_of(sent: BuildStart) -> frozenset[str]:
    """E2B's hashes of the files that its steps copy."""
    return frozenset(step.filesHash for step in sent.steps if step.type == "COPY" and step.filesHash)


def failed_step(build: Build) -> str | None:
    """E2B's word for the step that failed."""
    failure = build.failure
    if failure is None:
        return None
    if failure.step is None:
        return "finalize"
    return "base" if failure.line in (None, BASE_LINE) else str(failure.line)


def _base(sent: BuildStart, team: TeamId) -> Base:
    if sent.fromTemplate:
        name = names.parse(sent.fromTemplate, team)
        return FromTemplate(name.alias, "" if name.tag == names.DEFAULT_TAG else name.tag)
    if sent.fromImageRegistry is not None:
        raise Unsupported(
            "registry_credentials",
            "Credentials of a registry do not travel with a build here. Whoever runs the server names Docker's config file in the"
            " setting `registry_config`.",
        )
    image = sent.fromImage or "e2bdev/base"
    if _BASE_IMAGES.fullmatch(image):
        return FromTemplate(_OURS)
    return FromImage(image)


def _written(sent: BuildStart) -> str:
    return sent.fromTemplate or sent.fromImage or _OURS


def _provision() -> Sequence[Step]:
    place = Place(BASE_LINE, "making it ready for E2B's clients")
    return (
        SetUser("root", place),
        SetUser(DEFAULT_USER, place, is_made=True),
        Run(("/bin/sh", "-c", _PROVISION), place, user="root"),
        SetWorkdir(DEFAULT_WORKDIR, place),
    )


def _step(step: BuildStepSent, place: Place, user: str, uploads: Mapping[str, str]) -> Step:
    args = step.args
    match step.type:
        case "RUN":
            command, given = _some(step, place, least=1, most=2)
            return Run(("/bin/bash", "-l", "-c", command), place, user=given or None)
        case "COPY":
            source, target, owner, mode = _some(step, place, least=2, most=4)
            if not step.filesHash or step.filesHash not in uploads:
                raise Invalid("files_missing", f"The files of step {place.line} were not uploaded.", step=place.line)
            if mode and not _MODE.fullmatch(mode):
                raise Invalid("mode_invalid", f"{mode!r} is no mode for files: write it as 0755.", step=place.line)
            return Copy(
                FromContext(uploads[step.filesHash]),
                (source,),
                target,
                place,
                owner=owner or user,
                mode=int(mode.replace("o", ""), 8) if mode else None,
            )
        case "ENV":
            if not args or len(args) % 2:
                raise Invalid("step_invalid", f"Step {place.line}: ENV takes names and values in turn.", step=place.line)
            return SetEnv(tuple(zip(args[::2], args[1::2], strict=True)), place)
        case "WORKDIR":
            return SetWorkdir(_some(step, place, least=1, most=1)[0], place)
        case "USER":
            return SetUser(_some(step, place, least=1, most=1)[0], place, is_made=True)
        case _:
            assert_never(step.type)


def _some(step: BuildStepSent, place: Place, *, least: int, most: int) -> list[str]:
    """Its arguments, with "" for those that were left out. Raises Invalid."""
    if not least <= len(step.args) <= most or not all(step.args[:least]):
        raise Invalid(
            "step_invalid",
            f"Step {place.line}: {step.type} takes {least} to {most} arguments, and {len(step.args)} came.",
            step=place.line,
        )
    return [*step.args, *[""] * (most - len(step.args))]


def our_tag(tag: str) -> str:
    return LATEST if tag == names.DEFAULT_TAG else tag


def e2b_tag(tag: str) -> str:
    return names.DEFAULT_TAG if tag == LATEST else tag
