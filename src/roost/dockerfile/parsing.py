"""A Dockerfile's text as a definition. Whatever is not supported is refused here, by line and name, before anything runs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from roost.dockerfile import instructions
from roost.dockerfile.files import TEMPLATES, Stages, added, check_reference, copied
from roost.dockerfile.flags import Flags
from roost.dockerfile.folding import Fold
from roost.dockerfile.reading import Instruction, read
from roost.domain.build import (
    Base,
    DeclareArgument,
    Definition,
    FromImage,
    FromNothing,
    FromStage,
    FromTemplate,
    Place,
    SecretMount,
    Stage,
    Step,
)
from roost.domain.build import Run as RunStep
from roost.domain.build_errors import StepInvalid, StepUnsupported, TargetNotFound
from roost.domain.build_steps import PROXIES
from roost.domain.expansion import BadWord, RequiredVariable, expand, literal

_STAGE_NAME = re.compile(r"[a-z][a-z0-9-_.]*")
_TEMPLATE = re.compile(r"(?P<name>[\w.-]+)(?::(?P<tag>[\w.-]+))?")
_MACHINES = {"x86_64": "amd64", "x86-64": "amd64", "aarch64": "arm64", "armv8": "arm64"}
_KNOWN = (
    *("ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER"),
    *("ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"),
)


@dataclass(slots=True)
class _Open:
    """A stage that is being read."""

    name: str
    base: Base
    place: Place
    steps: list[Step] = field(default_factory=list)

    def closed(self) -> Stage:
        return Stage(self.name, self.base, tuple(self.steps), self.place)


def parse(text: str, *, arguments: Mapping[str, str], target: str = "", platform: str = "linux/amd64") -> Definition:
    """What the text says for whoever gives these build arguments, on this platform. The target is a stage's name, or its number.

    Raises StepInvalid, StepUnsupported, TargetNotFound; Unsupported where the parser is not installed.
    """
    reading = read(text)
    return _Translation(arguments, target, platform, reading.escape).translate(reading.instructions, reading.notes)


def _stage_name(instruction: Instruction) -> str:
    words = instruction.words
    if len(words) == 3 and words[1].lower() == "as":
        return words[2].lower()
    if len(words) != 1:
        raise StepInvalid(instruction.place, "write FROM image, or FROM image AS name.")
    return ""


class _Translation:
    def __init__(self, given: Mapping[str, str], target: str, platform: str, escape: str) -> None:
        self._given = dict(given)
        self._target = target
        self._platform = platform
        self._escape = escape
        self._globals: dict[str, str] = {}
        self._names: dict[str, int] = {}
        self._stages: list[_Open] = []
        self._others = Stages(0, {}, frozenset(), 0)
        self._fold = Fold(given, escape)
        self._notes: list[str] = []

    def translate(self, found: tuple[Instruction, ...], notes: tuple[str, ...]) -> Definition:
        for instruction in found:
            if instruction.name not in _KNOWN:
                near = difflib.get_close_matches(instruction.name, _KNOWN, 1)
                raise StepInvalid(
                    instruction.place, f"{instruction.name} is no instruction.{f' Did you mean {near[0]}?' if near else ''}"
                )
        froms = [instruction for instruction in found if instruction.name == "FROM"]
        if not froms:
            raise StepInvalid(found[0].place, "there is no FROM: a Dockerfile begins with one.")
        self._globals = self._platform_arguments(froms)
        for instruction in found:
            if instruction.name == "FROM":
                self._begin(instruction, froms)
            elif not self._stages:
                self._before(instruction)
            else:
                self._add(instruction)
        self._notes += self._unused_arguments(found)
        stages = tuple(stage.closed() for stage in self._stages)
        mounts = (mount for stage in stages for step in stage.steps if isinstance(step, RunStep) for mount in step.mounts)
        secrets = dict.fromkeys(mount.id for mount in mounts if isinstance(mount, SecretMount) and mount.id)
        return Definition(
            stages,
            target=self._number_of_target(),
            arguments=self._given,
            secrets=tuple(secrets),
            escape=self._escape,
            notes=(*notes, *self._notes),
        )

    def _unused_arguments(self, found: tuple[Instruction, ...]) -> list[str]:
        declared = {word.partition("=")[0] for instruction in found if instruction.name == "ARG" for word in instruction.words}
        unused = (name for name in self._given if name not in declared and name.lower() not in PROXIES)
        return [f"The build argument {name} is not used: no ARG declares it." for name in sorted(unused)]

    # Before the first FROM, and FROM itself: they know arguments alone

    def _platform_arguments(self, froms: list[Instruction]) -> dict[str, str]:
        system, machine, variant = (*self._platform.split("/"), "", "")[:3]
        told: dict[str, str] = {}
        for whose in ("BUILD", "TARGET"):
            told |= {f"{whose}PLATFORM": self._platform, f"{whose}OS": system, f"{whose}OSVERSION": ""}
            told |= {f"{whose}ARCH": machine, f"{whose}VARIANT": variant}
        told["TARGETSTAGE"] = self._target or _stage_name(froms[-1]) or "default"
        return {name: self._given.get(name, value) for name, value in told.items()}

    def _before(self, instruction: Instruction) -> None:
        if instruction.name != "ARG":
            raise StepInvalid(instruction.place, f"{instruction.name} comes before the first FROM: only ARG can.")
        for argument in instructions.arguments(instruction):
            value = self._given.get(argument.name)
            if value is None and argument.default is not None:
                value = self._expand(argument.default, argument.place)
            if value is not None:
                self._globals[argument.name] = value

    def _expand(self, word: str, place: Place) -> str:
        try:
            return expand(word, self._globals, escape=self._escape)
        except BadWord as error:
            raise StepInvalid(place, f"{error}.") from error
        except RequiredVariable as error:
            raise StepInvalid(place, f"{error}. Give it as a build argument.") from error

    def _begin(self, instruction: Instruction, froms: list[Instruction]) -> None:
        place = instruction.place
        flags = Flags(instruction, texts=("platform",))
        name = _stage_name(instruction)
        if name and not _STAGE_NAME.fullmatch(name):
            raise StepInvalid(place, f"a stage cannot be called {name!r}: a letter first, then letters, digits, - _ and dots.")
        if "platform" in flags:
            self._check_platform(flags.text("platform"), place)
        base = self._base(instruction.words[0], place)
        number = len(self._stages)
        later = frozenset(_stage_name(other) for other in froms[number:])
        self._others = Stages(number, dict(self._names), later, len(froms))
        self._stages.append(_Open(name, base, place))
        self._fold.begin(base)
        if name:
            self._names[name] = number

    def _check_platform(self, written: str, place: Place) -> None:
        wanted = self._expand(written, place)
        parts = [_MACHINES.get(part, part) for part in wanted.lower().split("/")]
        if len(parts) == 1 and parts[0] != "linux":
            parts.insert(0, "linux")
        here = self._platform.split("/")
        if parts[:2] != here[: len(parts[:2])]:
            raise StepUnsupported(
                place, f"the platform {wanted or written!r}", f"This machine is {self._platform}, and runs nothing else."
            )

    def _base(self, written: str, place: Place) -> Base:
        reference = self._expand(written, place)
        if not reference:
            raise StepInvalid(
                place, f"{written} is empty: give the arguments it is made of, or defaults with ARG before the first FROM."
            )
        if reference == "scratch":
            return FromNothing()
        if (number := self._names.get(reference.lower())) is not None:
            return FromStage(number)
        if reference.startswith(TEMPLATES):
            found = _TEMPLATE.fullmatch(reference.removeprefix(TEMPLATES))
            if not found:
                raise StepInvalid(place, f"{reference!r} names no template: write roost/NAME, or roost/NAME:TAG.")
            return FromTemplate(found["name"], found["tag"] or "")
        check_reference(reference, place)
        return FromImage(reference)

    # Inside a stage

    def _add(self, instruction: Instruction) -> None:
        stage = self._stages[-1]
        for step in self._steps(instruction):
            if isinstance(step, DeclareArgument) and step.default is None and step.name in self._globals:
                # Known to the whole file. It is a value already: nothing in it is expanded once more.
                step = DeclareArgument(step.name, literal(self._globals[step.name]), step.place)
            self._fold.advance(step)
            stage.steps.append(step)
        if note := instructions.health_note(instruction):
            self._notes.append(note)

    def _steps(self, instruction: Instruction) -> list[Step]:
        match instruction.name:
            case "RUN":
                return [instructions.run(instruction)]
            case "COPY":
                return copied(instruction, self._others)
            case "ADD":
                return added(instruction, self._expand_known)
            case _:
                return instructions.settings(instruction)

    def _expand_known(self, word: str) -> str:
        try:
            return expand(word, self._fold.variables, escape=self._escape)
        except (BadWord, RequiredVariable):
            return word  # said when the step is followed

    def _number_of_target(self) -> int:
        if not self._target:
            return len(self._stages) - 1
        number = self._names.get(self._target.lower())
        if number is None and self._target.isascii() and self._target.isdigit() and int(self._target) < len(self._stages):
            number = int(self._target)
        if number is None:
            raise TargetNotFound(self._target, [stage.name for stage in self._stages if stage.name])
        return number
