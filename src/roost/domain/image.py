"""Images of registries: how one is referred to, and what it says of itself.

A reference is what people write (`debian:12`); a pinned one names the content by digest and means the same for ever.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from roost.domain.build import ImageSettings
from roost.domain.image_errors import ImageBroken, ReferenceInvalid
from roost.domain.node import Captured
from roost.domain.template import TemplateCommand

DEFAULTREGISTRY = "docker.io"
DEFAULT_TAG = "latest"
HEALTH_TIMEOUT_S = 600.0  # for the whole of a start: a health check says how long one try may take, not how many are needed

_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
REGISTRY = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])(?::[0-9]{{1,5}})?")
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST = 512


@dataclass(frozen=True, slots=True)
class Reference:
    """`[registry/]repository[:tag][@digest]`, with what was left out filled in as Docker does."""

    registry: str
    repository: str
    tag: str  # "" where a digest says which one
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Raises ReferenceInvalid."""
        if len(text) > _LONGEST:
            raise ReferenceInvalid(text, f"it is longer than {_LONGEST} characters")
        name, at, digest = text.partition("@")
        if at and not _DIGEST.fullmatch(digest):
            raise ReferenceInvalid(text, "a digest is sha256: and 64 hexadecimal digits")
        registry, path = _split_registry(name)
        path, colon, tag = path.partition(":")
        if colon and not _TAG.fullmatch(tag):
            raise ReferenceInvalid(text, "a tag has letters, digits, dots, dashes and underscores, at most 128")
        if not REGISTRY.fullmatch(registry):
            raise ReferenceInvalid(text, f"{registry!r} is no host name")
        if registry == DEFAULTREGISTRY and "/" not in path:
            path = f"library/{path}"
        if not _REPOSITORY.fullmatch(path):
            raise ReferenceInvalid(text, "a repository is made of lower-case letters and digits, with . _ - and / between them")
        return cls(registry, path, "" if digest else tag or DEFAULT_TAG, digest)

    def pinned(self, digest: str) -> Reference:
        return Reference(self.registry, self.repository, "", digest)

    def __str__(self) -> str:
        return f"{self.registry}/{self.repository}" + (f"@{self.digest}" if self.digest else f":{self.tag}")


def template_name(reference: Reference) -> str:
    """What the template of an image is called where nobody named it: the same for the same reference."""
    last = reference.repository.rpartition("/")[2]
    words = re.sub(r"[^a-z0-9]+", "-", f"{last}-{reference.tag or 'pinned'}".lower()).strip("-")[:40]
    return f"image-{words}-{hashlib.sha256(str(reference).encode()).hexdigest()[:8]}"


def _split_registry(name: str) -> tuple[str, str]:
    """The first part is a host if it looks like one: with a dot, a port, or `localhost`."""
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return "docker.io" if first in ("index.docker.io", "registry-1.docker.io") else first, rest
    return DEFAULTREGISTRY, name


@dataclass(frozen=True, slots=True)
class ImportedImage:
    """An image lies on the node as a disk snapshot."""

    captured: Captured
    digest: str  # of the image for this machine: "sha256:…"
    settings: ImageSettings


def read_settings(reference: str, config: Mapping[str, Any]) -> ImageSettings:
    """What an image's configuration says, which anybody may have written. Raises ImageBroken."""
    said = config.get("config")
    inner: Mapping[str, Any] = said if isinstance(said, dict) else {}
    try:
        return ImageSettings(
            env=_environment(_words(inner, "Env")),
            user=_text(inner, "User"),
            workdir=_workdir(_text(inner, "WorkingDir")),
            shell=_words(inner, "Shell") or ("/bin/sh", "-c"),
            entrypoint=_words(inner, "Entrypoint"),
            command=_words(inner, "Cmd"),
            ports=tuple(sorted(_mapping(inner, "ExposedPorts"))),
            volumes=tuple(sorted(_mapping(inner, "Volumes"))),
            labels={name: str(value) for name, value in _mapping(inner, "Labels").items()},
            stop_signal=_text(inner, "StopSignal"),
            health=_health(_mapping(inner, "Healthcheck")),
        )
    except ValueError as error:
        raise ImageBroken(reference, f"its configuration cannot be read: {error}") from error


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name) or ""
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"{name} is no text")
    return value


def _words(said: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = said.get(name) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and "\0" not in each for each in value):
        raise ValueError(f"{name} is no list of texts")
    return tuple(value)


def _mapping(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = said.get(name) or {}
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no object")
    return value


def _environment(lines: Sequence[str]) -> dict[str, str]:
    pairs = (line.partition("=") for line in lines)
    return {name: value for name, _, value in pairs if name}


def _workdir(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"


def _health(said: Mapping[str, Any]) -> TemplateCommand | None:
    test = _words(said, "Test")
    match test:
        case ("CMD-SHELL", command):
            return TemplateCommand(command, timeout_s=HEALTH_TIMEOUT_S)
        case ("CMD", *words) if words:
            return TemplateCommand(shlex.join(words), timeout_s=HEALTH_TIMEOUT_S)
        case () | ("NONE",):
            return None
        case _:
            raise ValueError("Healthcheck is of an unknown kind")
