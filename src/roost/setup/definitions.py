"""Template definitions: `templates/<name>/template.toml` and the files beside it.

from                      the template that this one goes on from: its packages, files and accounts are there already, and
                          what this one does not say is as it is there
packages, files, links,   make the root filesystem (`rootfs.py`). Symbolic links are said, not among the files: a wheel cannot
users                     carry them
variant                   what the packages come on top of
run                       steps executed inside the booted sandbox, in order
start, ready              what to start, and how to tell that it is up, before the template's snapshot is taken
desktop                   it has a screen
env, user, workdir, size  what sandboxes of the template get unless their creator says otherwise

`start` runs once, before the snapshot. What must also come up when a sandbox boots from its disk alone is an executable in
etc/roost/boot.d of the files: the agent starts those, as root, at every boot.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from roost.domain.errors import Invalid, TemplateNotFound
from roost.domain.sandbox import Size
from roost.domain.template import TemplateCommand
from roost.setup.artefacts import digest_of_tree
from roost.setup.carried import carried_templates

SUITE = "trixie"


@dataclass(frozen=True, slots=True)
class User:
    """An account inside. `owns` are directories made for it, or handed to it with all they hold."""

    name: str
    uid: int
    shell: str = "/bin/bash"
    sudo: bool = False
    groups: tuple[str, ...] = ()
    owns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TemplateDefinition:
    name: str
    description: str
    suite: str
    packages: tuple[str, ...]
    users: tuple[User, ...]
    env: Mapping[str, str]
    user: str
    workdir: str
    size: Size
    run: tuple[TemplateCommand, ...]
    start: TemplateCommand | None
    ready: TemplateCommand | None
    files: Path | None  # copied over the root filesystem as they are
    digest: str  # of the definition and its files, and of what it goes on from
    variant: str = "minbase"  # what mmdebstrap starts with: `essential` has no apt
    links: Mapping[str, str] = field(default_factory=dict)  # path: what the symbolic link there says
    has_desktop: bool = False
    parent: TemplateDefinition | None = None


def _absolute(path: str) -> str:
    if not path.startswith("/") or ".." in path.split("/"):
        raise ValueError("must be an absolute path without '..'")
    return path


Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,62}$")]
Account = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_-]{0,30}$")]
Package = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]+$")]
AbsolutePath = Annotated[str, StringConstraints(pattern=r"^[\w./+@-]+$"), AfterValidator(_absolute)]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _User(_Strict):
    name: Account
    uid: int = Field(ge=1, le=60000)
    shell: AbsolutePath = "/bin/bash"
    sudo: bool = False
    groups: tuple[Account, ...] = ()
    owns: tuple[AbsolutePath, ...] = ()


class _Command(_Strict):
    command: str = Field(min_length=1)
    user: Account = "root"
    timeout_s: float = Field(default=600, gt=0)


class _Size(_Strict):
    cpus: float = Field(default=2, ge=0)
    memory_mb: int = Field(default=2048, ge=0)
    disk_mb: int = Field(default=10240, ge=0)
    pids: int = Field(default=4096, ge=0)


class _Definition(_Strict):
    name: Name
    description: str = ""
    parent: Name | None = Field(default=None, alias="from")
    suite: Name = SUITE
    variant: Literal["minbase", "essential"] = "minbase"
    packages: tuple[Package, ...]
    users: tuple[_User, ...] = ()
    links: dict[AbsolutePath, AbsolutePath] = {}
    env: dict[VariableName, str] = {}
    user: Account = "root"
    workdir: AbsolutePath = "/"
    size: _Size = _Size()
    run: tuple[_Command, ...] = ()
    start: _Command | None = None
    ready: _Command | None = None
    desktop: bool = False


def load_definition(folder: Path) -> TemplateDefinition:
    """Read one definition. Raises TemplateNotFound or Invalid, which names the file and every field that is wrong."""
    file = folder / "template.toml"
    text, parsed = _read(file)
    parent = _parent(file, parsed)
    return _made(file, text, parsed, parent)


def _read(file: Path) -> tuple[bytes, _Definition]:
    try:
        text = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise TemplateNotFound(file.parent.name) from None
    try:
        return text, _Definition.model_validate(tomllib.loads(text.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _wrong(file, str(error)) from error
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise _wrong(file, problems) from error


def _made(file: Path, text: bytes, parsed: _Definition, parent: TemplateDefinition | None) -> TemplateDefinition:
    _check_accounts(file, parsed, parent)
    files = file.parent / "files"
    made = TemplateDefinition(
        name=parsed.name,
        description=parsed.description,
        suite=parsed.suite,
        packages=parsed.packages,
        users=tuple(User(**each.model_dump()) for each in parsed.users),
        env=dict(parsed.env),
        user=parsed.user,
        workdir=parsed.workdir,
        size=Size(**parsed.size.model_dump()),
        run=tuple(TemplateCommand(**each.model_dump()) for each in parsed.run),
        start=TemplateCommand(**parsed.start.model_dump()) if parsed.start else None,
        ready=TemplateCommand(**parsed.ready.model_dump()) if parsed.ready else None,
        files=files if files.is_dir() else None,
        variant=parsed.variant,
        links=dict(parsed.links),
        digest=_digest(text, files, parent),
        has_desktop=parsed.desktop,
    )
    return made if parent is None else _going_on_from(parent, made, said=parsed.model_fields_set)


def _parent(file: Path, parsed: _Definition) -> TemplateDefinition | None:
    if parsed.parent is None:
        return None
    if "suite" in parsed.model_fields_set:
        raise _wrong(file, f"suite: it is that of {parsed.parent!r}")
    origin = file.parent.parent / parsed.parent / file.name
    try:
        text, read = _read(origin)
    except TemplateNotFound as error:
        raise _wrong(file, f"from: there is no template {parsed.parent!r} beside it") from error
    if read.parent is not None:
        # One step is what is needed; more would hide where a thing comes from, and could go round in circles.
        raise _wrong(file, f"from: {parsed.parent!r} itself goes on from {read.parent!r}; name that one")
    if read.variant == "essential":
        raise _wrong(file, f"from: {parsed.parent!r} has no apt to install more with")
    return _made(origin, text, read, None)


def _going_on_from(parent: TemplateDefinition, own: TemplateDefinition, said: set[str]) -> TemplateDefinition:
    """What the child does not say is as in its parent; environment and steps come on top of the parent's."""
    unsaid = {name: getattr(parent, name) for name in ("user", "workdir", "size", "start", "ready") if name not in said}
    return replace(
        own,
        **unsaid,
        suite=parent.suite,
        env={**parent.env, **own.env},
        run=parent.run + own.run,
        has_desktop=own.has_desktop or parent.has_desktop,
        parent=parent,
    )


def _check_accounts(file: Path, parsed: _Definition, parent: TemplateDefinition | None) -> None:
    if parsed.name != file.parent.name:
        raise _wrong(file, f"name: {parsed.name!r} is not the name of its folder, {file.parent.name!r}")
    known = {"root", *(user.name for user in parsed.users), *(user.name for user in (parent.users if parent else ()))}
    commands = [*parsed.run, *filter(None, (parsed.start, parsed.ready))]
    for name in (parsed.user, *(command.user for command in commands)):
        if name not in known:
            raise _wrong(file, f"user: {name!r} is not among the users it defines ({', '.join(sorted(known))})")


def _digest(text: bytes, files: Path, parent: TemplateDefinition | None) -> str:
    digest = hashlib.sha256(text)
    if parent is not None:
        digest.update(parent.digest.encode())
    if files.is_dir():
        digest.update(digest_of_tree(files).encode())
    return digest.hexdigest()


def _wrong(file: Path, problem: str) -> Invalid:
    return Invalid("template_definition_invalid", f"{file} is not a valid template definition: {problem}.", file=str(file))


def find_definition(asked: str, folder: Path | None = None) -> TemplateDefinition:
    """The built-in template of that name; `base=minimal` is the one called minimal under the name base. Raises
    TemplateNotFound."""
    name, _, definition = asked.partition("=")
    definition = definition or name
    for each in (name, definition):
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,62}", each):
            raise TemplateNotFound(asked)
    return replace(load_definition((folder or carried_templates()) / definition), name=name)


def find_definitions(asked: Iterable[str]) -> dict[str, TemplateDefinition]:
    """What the setting `templates` asks for, by the names that sandboxes are created from."""
    return {found.name: found for found in map(find_definition, asked)}


def list_definitions(folder: Path | None = None) -> tuple[TemplateDefinition, ...]:
    """Every built-in template, by name."""
    found = sorted((folder or carried_templates()).glob("*/template.toml"))
    return tuple(load_definition(file.parent) for file in found)
