"""COPY and ADD: which files, from where, to where."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from roost.dockerfile.flags import Flags
from roost.dockerfile.reading import Document, Instruction
from roost.domain.build import Copy, Fetch, FromContext, FromImage, FromStage, Origin, Place, Step, Write
from roost.domain.build_errors import StepInvalid, StepUnsupported
from roost.domain.errors import Refused
from roost.domain.image import Reference

TEMPLATES = "roost/"
"""What a base begins with that is a template of Roost's and no image."""

NOT_PACKED = FromContext("")
"""Files of the context, before anybody gathered them."""

_SSH = re.compile(r"ssh://|git\+ssh://|[\w.-]+@[\w.-]+:(?!/)")


@dataclass(frozen=True, slots=True)
class Stages:
    """What a stage can refer to."""

    number: int  # of the stage that is being read
    names: Mapping[str, int]  # of those before it, in small letters
    later: frozenset[str]  # names of it and of those after it
    count: int

    def origin(self, written: str, place: Place) -> Origin:
        if "$" in written:
            raise StepInvalid(
                place, "variables are not replaced in --from. Name the image in a FROM of its own, and copy from that stage."
            )
        number = int(written) if written.isascii() and written.isdigit() else self.names.get(written.lower())
        if number is None and written.lower() not in self.later:
            return _image(written, place)
        if number is not None and number >= self.count:
            raise StepInvalid(place, f"there is no stage {number}: they are counted from 0.")
        if number is None or number >= self.number:
            raise StepInvalid(place, f"stage {written!r} is not made yet: a stage copies from those before it.")
        return FromStage(number)


def _image(written: str, place: Place) -> FromImage:
    if written.startswith(TEMPLATES):
        raise StepUnsupported(place, "copying straight from a template", f"Write `FROM {written} AS name` and --from=name.")
    if written == "scratch":
        raise StepInvalid(place, "there is nothing in scratch to copy.")
    check_reference(written, place)
    return FromImage(written)


def check_reference(written: str, place: Place) -> None:
    try:
        Reference.parse(written)
    except Refused as error:
        raise StepInvalid(place, error.message) from error


def copied(instruction: Instruction, stages: Stages) -> list[Step]:
    flags = Flags(instruction, texts=("from", "chown", "chmod"), switches=("link", "parents"), lists=("exclude",))
    paths, documents, target = _sources(instruction)
    for path in paths:
        if _is_remote(path):
            raise StepInvalid(instruction.place, f"COPY takes no address ({path}): write ADD.")
    origin = stages.origin(flags.text("from"), instruction.place) if "from" in flags else NOT_PACKED
    if documents and "from" in flags:
        raise StepInvalid(instruction.place, "a heredoc comes from no stage: leave --from out.")
    flags.switch("link")  # a layer is never rebuilt because of those below it: only its speed would differ
    steps = _local(instruction, flags, paths, target, origin, keeps_parents=flags.switch("parents"))
    return steps + _written(instruction, flags, documents, target)


def added(instruction: Instruction, expand: Callable[[str], str]) -> list[Step]:
    """`expand` knows the variables of the file: an address may stand in one."""
    flags = Flags(
        instruction, texts=("chown", "chmod", "checksum"), switches=("link", "keep-git-dir", "unpack"), lists=("exclude",)
    )
    place = instruction.place
    paths, documents, target = _sources(instruction)
    flags.switch("link")
    remote = [path for path in paths if _is_remote(expand(path))]
    local = [path for path in paths if path not in remote]
    if "checksum" in flags and (len(remote) != 1 or local or documents):
        raise StepInvalid(place, "--checksum is of one file from the network, and ADD has others.")
    if remote and flags.list("exclude"):
        raise StepUnsupported(place, "--exclude for what comes from the network", "Remove the files with RUN.")
    if remote and flags.switch("unpack"):
        raise StepUnsupported(place, "--unpack for what comes from the network", "Unpack it with RUN.")
    steps = _local(instruction, flags, local, target, NOT_PACKED, unpacks=flags.switch("unpack", default=True))
    for path in remote:
        _check_address(expand(path), place)
        steps.append(
            Fetch(
                url=path,
                target=target,
                place=place,
                checksum=flags.text("checksum"),
                owner=flags.text("chown"),
                mode=flags.text("chmod") or None,
                keeps_git_dir=flags.switch("keep-git-dir"),
            )
        )
    return steps + _written(instruction, flags, documents, target)


def _sources(instruction: Instruction) -> tuple[list[str], list[Document], str]:
    if len(instruction.words) < 2:
        raise StepInvalid(instruction.place, f"{instruction.name} needs what to copy, and where to.")
    *sources, target = instruction.words
    if instruction.document(target):
        raise StepInvalid(instruction.place, "a heredoc is no place to copy to: the target comes last.")
    found = [(source, instruction.document(source)) for source in sources]
    return [source for source, document in found if not document], [document for _, document in found if document], target


def _local(
    instruction: Instruction,
    flags: Flags,
    paths: list[str],
    target: str,
    origin: Origin,
    *,
    keeps_parents: bool = False,
    unpacks: bool = False,
) -> list[Step]:
    if not paths:
        return []
    step = Copy(
        origin=origin,
        sources=tuple(paths),
        target=target,
        place=instruction.place,
        owner=flags.text("chown"),
        mode=flags.text("chmod") or None,
        exclude=flags.list("exclude"),
        unpacks=unpacks,
        keeps_parents=keeps_parents,
    )
    return [step]


def _written(instruction: Instruction, flags: Flags, documents: list[Document], target: str) -> list[Step]:
    return [
        Write(
            content=document.content,
            target=target,
            place=instruction.place,
            owner=flags.text("chown"),
            mode=flags.text("chmod") or 0o644,
            name=document.name,
            expands=document.expands,
        )
        for document in documents
    ]


def _is_remote(path: str) -> bool:
    return path.startswith(("http://", "https://", "git://")) or bool(_SSH.match(path))


def _check_address(url: str, place: Place) -> None:
    if _SSH.match(url):
        raise StepUnsupported(place, "git over ssh", "Use the repository's https address; a private one with a secret, in RUN.")
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host:
        raise StepInvalid(place, f"{url!r} is no address.")
