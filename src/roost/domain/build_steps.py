"""What a step means: folded over the settings of its stage, with its variables replaced as Docker replaces them.

`begin` a stage, `advance` it step by step, `follow` it where another stage begins with it. Nothing is done here: an action says
what a node has to do, and a step that only changes settings has none.
"""

from __future__ import annotations

import posixpath
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from roost.domain import build as b
from roost.domain.build_actions import Action, CopyFiles, FetchFile, MakeDirectory, MakeUser, RunCommand, WriteFile
from roost.domain.build_errors import StepInvalid
from roost.domain.expansion import BadWord, RequiredVariable, expand, expand_document, expand_words
from roost.domain.ports import port_specs

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LONGEST_DOCUMENT = 4 * 1024 * 1024
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")
"""Arguments that every command sees without declaring them, in both spellings."""

_NAME = re.compile(r"[^=\0]+")
_OCTAL = re.compile(r"[0-7]{1,5}")
_SIGNAL = re.compile(
    r"[1-9]|[1-5][0-9]|6[0-4]|(?:SIG)?(?:RTMIN(?:\+\d{1,2})?|RTMAX(?:-\d{1,2})?|(?P<name>[A-Z0-9]+))", re.IGNORECASE
)
_CHECKSUM = re.compile(r"sha256:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{64}")
_CLAUSE = re.compile(r"[ugoa]*(?:[-+=](?:[rwxXst]*|[ugo]))+")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage is."""

    settings: b.ImageSettings
    variables: Mapping[str, str]  # what words and commands see: the environment, and the arguments that were declared
    escape: str = "\\"
    has_command: bool = False  # CMD was said in this stage: an ENTRYPOINT leaves it


def begin(settings: b.ImageSettings, escape: str = "\\") -> Progress:
    """A stage on a base that says these settings."""
    env = {**settings.env, "PATH": settings.env.get("PATH", DEFAULT_PATH)}
    return Progress(replace(settings, env=env), env, escape)


def follow(base: Progress) -> Progress:
    """A stage that begins with another one: arguments that were declared there are known here, unless an ENV covers them."""
    return replace(base, variables={**base.variables, **base.settings.env}, has_command=False)


def advance(progress: Progress, given: Mapping[str, str], step: b.Step) -> tuple[Progress, Action | None]:
    """The stage after the step, and what has to be done for it. `given` are the arguments of whoever builds.

    Raises StepInvalid.
    """
    try:
        return _advance(progress, given, step)
    except BadWord as error:
        raise StepInvalid(step.place, f"{error}.") from error
    except RequiredVariable as error:
        raise StepInvalid(step.place, f"{error}. Give it as a build argument, or set it with ENV or ARG before.") from error


def _advance(progress: Progress, given: Mapping[str, str], step: b.Step) -> tuple[Progress, Action | None]:
    def word(text: str) -> str:
        return expand(text, progress.variables, escape=progress.escape)

    match step:
        case b.Run():
            return progress, _run(progress, given, step, word)
        case b.Copy() | b.Write() | b.Fetch():
            return progress, _files(progress, step, word)
        case b.DeclareArgument():
            return _declared(progress, given, step, word), None
        case b.SetEnv():
            pairs = {_variable_name(step.place, word(name)): word(value) for name, value in step.pairs}
            settings = replace(progress.settings, env={**progress.settings.env, **pairs})
            return replace(progress, settings=settings, variables={**progress.variables, **pairs}), None
        case b.SetWorkdir():
            path = _absolute(progress.settings.workdir, word(step.path), step.place)
            changed = replace(progress, settings=replace(progress.settings, workdir=path))
            return changed, MakeDirectory(path, progress.settings.user) if path != "/" else None
        case b.SetUser():
            user = word(step.user)
            changed = replace(progress, settings=replace(progress.settings, user=user))
            return changed, MakeUser(user) if step.is_made and user else None
        case _:
            return _described(progress, step, word), None


Describing = b.SetShell | b.SetStart | b.SetLabels | b.SetPorts | b.SetVolumes | b.SetHealth | b.SetStopSignal


def _described(progress: Progress, step: Describing, word: Callable[[str], str]) -> Progress:
    """What tells how programs are to run, and is done nothing for while building."""
    settings = progress.settings
    match step:
        case b.SetShell():
            settings = replace(settings, shell=step.words)
        case b.SetStart():
            if step.entrypoint is not None:
                settings = replace(settings, entrypoint=_start(settings, step.entrypoint))
                if not progress.has_command:
                    settings = replace(settings, command=())
            if step.command is not None:
                settings = replace(settings, command=_start(settings, step.command))
                progress = replace(progress, has_command=True)
        case b.SetLabels():
            settings = replace(settings, labels={**settings.labels, **{word(name): word(value) for name, value in step.pairs}})
        case b.SetPorts():
            words = (w for port in step.ports for w in expand_words(port, progress.variables, escape=progress.escape))
            ports = (port for w in words for port in _ports(w, step.place))
            settings = replace(settings, ports=tuple(dict.fromkeys((*settings.ports, *ports))))
        case b.SetVolumes():
            paths = tuple(word(path) for path in step.paths)
            if "" in paths:
                raise StepInvalid(step.place, "a volume needs a path.")
            settings = replace(settings, volumes=tuple(dict.fromkeys((*settings.volumes, *paths))))
        case b.SetHealth():
            settings = replace(settings, health=step.check)
        case b.SetStopSignal():
            settings = replace(settings, stop_signal=_signal(word(step.signal), step.place))
    return replace(progress, settings=settings)


def _ports(text: str, place: b.Place) -> tuple[str, ...]:
    try:
        return port_specs(text)
    except ValueError as error:
        raise StepInvalid(place, f"{text!r} is no port: {error}. Write 8080, 8080/udp or 8000-8010.") from error


def _signal(text: str, place: b.Place) -> str:
    found = _SIGNAL.fullmatch(text)
    if not found or (found["name"] and f"SIG{found['name'].upper()}" not in signal.Signals.__members__):
        raise StepInvalid(place, f"{text!r} is no signal. Write a name like SIGTERM, or a number from 1 to 64.")
    return text


def _start(settings: b.ImageSettings, command: str | tuple[str, ...]) -> tuple[str, ...]:
    return (*settings.shell, command) if isinstance(command, str) else command


def _declared(progress: Progress, given: Mapping[str, str], step: b.DeclareArgument, word: Callable[[str], str]) -> Progress:
    name = _variable_name(step.place, step.name)
    value = given.get(name)
    if value is None and step.default is not None:
        value = word(step.default)
    return progress if value is None else replace(progress, variables={**progress.variables, name: value})


def _run(progress: Progress, given: Mapping[str, str], step: b.Run, word: Callable[[str], str]) -> RunCommand:
    settings = progress.settings
    proxies = {name: value for name, value in given.items() if name.lower() in PROXIES and value}
    return RunCommand(
        words=_start(settings, step.command),
        env=progress.variables,
        workdir=settings.workdir,
        user=settings.user if step.user is None else step.user,
        mounts=tuple(_mount(settings, mount, step.place, word) for mount in step.mounts),
        has_network=step.has_network,
        proxies={spelled: value for name, value in proxies.items() for spelled in (name.lower(), name.upper())},
    )


def _mount(settings: b.ImageSettings, mount: b.Mount, place: b.Place, word: Callable[[str], str]) -> b.Mount:
    match mount:
        case b.CacheMount():
            written = word(mount.target)
            target = _absolute(settings.workdir, written, place)
            if target == "/":
                raise StepInvalid(place, "a cache cannot be mounted at the root. Name a directory: target=/root/.cache.")
            return replace(mount, target=target, id=word(mount.id) or posixpath.normpath(written))
        case b.SecretMount():
            name, target = word(mount.id), word(mount.target)
            name = name or posixpath.basename(target)
            if not name:
                raise StepInvalid(place, "the secret needs a name: --mount=type=secret,id=NAME.")
            if not target and not mount.variable:
                target = f"/run/secrets/{posixpath.basename(name)}"
            target = _absolute(settings.workdir, target, place) if target else ""
            return replace(mount, id=name, target=target, variable=word(mount.variable))
        case b.FileMount():
            return mount


def _files(progress: Progress, step: b.Copy | b.Write | b.Fetch, word: Callable[[str], str]) -> Action:
    target = _target(progress.settings.workdir, word(step.target), step.place)
    owner, mode = word(step.owner), _mode(step.mode, word, step.place)
    match step:
        case b.Copy():
            sources = tuple(_source(word(source), step.keeps_parents, step.place) for source in step.sources)
            return CopyFiles(step.origin, sources, target, owner, mode, step.exclude, step.unpacks, step.keeps_parents)
        case b.Write():
            content = step.content
            if step.expands:
                content = expand_document(content, progress.variables, longest=LONGEST_DOCUMENT)
            return WriteFile(content, target, step.name, owner, mode)
        case b.Fetch():
            checksum = word(step.checksum)
            if checksum and not _CHECKSUM.fullmatch(checksum):
                raise StepInvalid(step.place, f"{checksum!r} is no checksum. Write sha256: and 64 digits; for git, its commit.")
            return FetchFile(word(step.url), target, checksum, owner, mode, step.keeps_git_dir)


def _source(path: str, keeps_parents: bool, place: b.Place) -> str:
    """Below the origin's root, whatever it says: ".." ends there."""
    if "\0" in path:
        raise StepInvalid(place, "a path holds a null character.")
    if keeps_parents and "/./" in path:  # what stands before it is not kept
        above, _, below = path.partition("/./")
        return f"{_below_root(above)}/./{_below_root(below)}".lstrip("/")
    return _below_root(path)


def _below_root(path: str) -> str:
    return posixpath.normpath("/" + path).lstrip("/")


def _absolute(workdir: str, path: str, place: b.Place) -> str:
    if "\0" in path:
        raise StepInvalid(place, "a path holds a null character.")
    return "/" + posixpath.normpath(posixpath.join("/", workdir, path)).lstrip("/")


def _target(workdir: str, path: str, place: b.Place) -> str:
    absolute = _absolute(workdir, path, place)
    is_directory = path in ("", ".") or path.endswith(("/", "/."))
    return absolute + "/" if is_directory and absolute != "/" else absolute


def _variable_name(place: b.Place, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise StepInvalid(place, "a variable needs a name, without `=` in it.")
    return name


def _mode(mode: b.Mode, word: Callable[[str], str], place: b.Place) -> int | str | None:
    if not isinstance(mode, str):
        return mode
    text = word(mode)
    if not text:
        return None
    if _OCTAL.fullmatch(text) and int(text, 8) <= 0o7777:
        return int(text, 8)
    if all(_CLAUSE.fullmatch(clause) for clause in text.split(",")):
        return text
    raise StepInvalid(place, f"{text!r} is no mode. Write it as chmod takes it: 0644, or u=rwX,go=rX.")
