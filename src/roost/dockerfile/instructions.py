"""Instructions that stand alone: everything but FROM, COPY and ADD, as steps."""

from __future__ import annotations

import re
import shlex

from roost.dockerfile.flags import Flags
from roost.dockerfile.mounts import read_mount
from roost.dockerfile.reading import Instruction
from roost.domain import build as b
from roost.domain.build_errors import StepInvalid, StepUnsupported
from roost.domain.expansion import literal
from roost.domain.image import HEALTH_TIMEOUT_S
from roost.domain.template import TemplateCommand

_DURATION = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)")
_INLINE = "/dev/pipes/"


def run(instruction: Instruction) -> b.Run:
    flags = Flags(instruction, texts=("network", "security"), lists=("mount", "device"))
    place = instruction.place
    if "device" in flags:
        raise StepUnsupported(place, "--device", "A sandbox has no devices of the machine.")
    if flags.text("security") not in ("", "sandbox"):
        raise StepUnsupported(place, f"--security={flags.text('security')}", "Every command runs inside the sandbox.")
    network = flags.text("network")
    if network not in ("", "default", "none"):
        raise StepUnsupported(place, f"--network={network}", "A command has the sandbox's network, or none.")
    mounts: list[b.Mount] = [read_mount(text, place) for text in flags.list("mount")]
    command, script = _command(instruction)
    return b.Run(command, place, mounts=(*mounts, *script), has_network=network != "none")


def _command(instruction: Instruction) -> tuple[str | tuple[str, ...], tuple[b.FileMount, ...]]:
    if instruction.is_json:
        if not instruction.words or not instruction.words[0]:
            raise StepInvalid(instruction.place, "the list names no program.")
        return instruction.words, ()
    text = " ".join(instruction.words)
    if not text.strip():
        raise StepInvalid(instruction.place, "RUN needs a command.")
    if not instruction.documents:
        return text, ()
    document = instruction.document(text)
    if document is None:  # part of a longer command: the shell reads it
        whole = [text, *(f"{each.content}{each.name}" for each in instruction.documents)]
        return "\n".join(whole), ()
    if not document.content.startswith("#!"):
        return document.content, ()
    path = _INLINE + document.name
    return path, (b.FileMount(path, document.content),)


def settings(instruction: Instruction) -> list[b.Step]:
    """What only changes how programs run. Raises StepUnsupported for ONBUILD, StepInvalid for what nobody knows."""
    place, words = instruction.place, instruction.words
    match instruction.name:
        case "ARG":
            return list(arguments(instruction))
        case "ENV":
            return [b.SetEnv(_pairs(instruction), place)]
        case "LABEL":
            return [b.SetLabels(_pairs(instruction), place)]
        case "MAINTAINER":
            return [b.SetLabels((("maintainer", literal(_one(instruction))),), place)]
        case "WORKDIR":
            return [b.SetWorkdir(_one(instruction), place)]
        case "USER":
            return [b.SetUser(_one(instruction), place)]
        case "STOPSIGNAL":
            return [b.SetStopSignal(_one(instruction), place)]
        case "EXPOSE":
            return [b.SetPorts(_some(instruction), place)]
        case "VOLUME":
            return [b.SetVolumes(_some(instruction), place)]
        case "SHELL":
            if not instruction.is_json or not words:
                raise StepInvalid(place, 'SHELL takes a list: SHELL ["/bin/bash", "-c"].')
            Flags(instruction)
            return [b.SetShell(words, place)]
        case "CMD":
            return [b.SetStart(place, command=_start(instruction))]
        case "ENTRYPOINT":
            return [b.SetStart(place, entrypoint=_start(instruction))]
        case "HEALTHCHECK":
            return [_health(instruction)]
        case "ONBUILD":
            raise StepUnsupported(place, "ONBUILD", "Write the steps in the Dockerfile that begins FROM this template.")
        case _:
            raise StepInvalid(place, f"{instruction.name} is no instruction.")


def arguments(instruction: Instruction) -> tuple[b.DeclareArgument, ...]:
    Flags(instruction)
    pairs = (word.partition("=") for word in _some(instruction))
    found = tuple(b.DeclareArgument(name, default if equals else None, instruction.place) for name, equals, default in pairs)
    if not all(argument.name for argument in found):
        raise StepInvalid(instruction.place, "an argument needs a name: ARG NAME, or ARG NAME=default.")
    return found


def _pairs(instruction: Instruction) -> tuple[tuple[str, str], ...]:
    Flags(instruction)
    words = _some(instruction)
    return tuple(zip(words[::2], words[1::2], strict=True))


def _one(instruction: Instruction) -> str:
    words = _some(instruction)
    Flags(instruction)
    if len(words) != 1:
        raise StepInvalid(instruction.place, f"{instruction.name} takes one value, and there are {len(words)}.")
    return words[0]


def _some(instruction: Instruction) -> tuple[str, ...]:
    Flags(instruction)
    if not instruction.words or not any(word.strip() for word in instruction.words):
        raise StepInvalid(instruction.place, f"{instruction.name} needs a value.")
    return instruction.words


def _start(instruction: Instruction) -> str | tuple[str, ...]:
    Flags(instruction)
    if instruction.is_json:
        return instruction.words
    text = " ".join(instruction.words)
    if not text.strip():
        raise StepInvalid(instruction.place, f"{instruction.name} needs a command, or the empty list: {instruction.name} [].")
    return text


def _health(instruction: Instruction) -> b.SetHealth:
    place = instruction.place
    durations = ("interval", "timeout", "start-period", "start-interval")
    flags = Flags(instruction, texts=(*durations, "retries"))
    for name in durations:
        text = flags.text(name)
        if text not in ("", "0") and not re.fullmatch(f"(?:{_DURATION.pattern})+", text):
            raise StepInvalid(place, f"--{name}={text} is no duration. Write it like 30s or 1m30s.")
    if (retries := flags.text("retries")) and not (retries.isascii() and retries.isdigit()):
        raise StepInvalid(place, f"--retries={retries} is no number.")
    kind = instruction.words[0].upper() if instruction.words else ""
    command = instruction.words[1:]
    if kind == "NONE" and not any(command):
        return b.SetHealth(None, place)
    if kind != "CMD":
        raise StepInvalid(place, "write HEALTHCHECK CMD and a command, or HEALTHCHECK NONE.")
    text = shlex.join(command) if instruction.is_json else " ".join(command)
    if not text.strip():
        raise StepInvalid(place, "HEALTHCHECK CMD needs a command.")
    return b.SetHealth(TemplateCommand(text, user="", timeout_s=HEALTH_TIMEOUT_S), place)


def health_note(instruction: Instruction) -> str | None:
    """A health check becomes the command that tells when a template is ready, and is not asked again afterwards."""
    if instruction.name != "HEALTHCHECK" or not instruction.flags:
        return None
    names = ", ".join(flag.partition("=")[0] for flag in instruction.flags)
    return f"Line {instruction.place.line}: {names} of HEALTHCHECK have no effect: it is asked until the template is ready."
