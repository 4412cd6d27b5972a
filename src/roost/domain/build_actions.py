"""What a node does for a step, once every variable is known: data, and the key under which its result is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from roost.domain.build import CacheMount, FileMount, Mount, Origin, SecretMount

KEY_VERSION = 1
"""Goes into every key. A Roost that does something else for the same action gets another number: nothing old is found then."""


@dataclass(frozen=True, slots=True)
class RunCommand:
    words: tuple[str, ...]  # argv; the first is looked up in PATH of `env`
    env: Mapping[str, str]
    workdir: str
    user: str  # "" is root; may be "name", "1000", "name:group"
    mounts: tuple[Mount, ...] = ()  # targets are absolute
    has_network: bool = True
    proxies: Mapping[str, str] = field(default_factory=dict)  # more of `env`, how the network is reached: never part of a key
    kind: Literal["run"] = "run"


@dataclass(frozen=True, slots=True)
class CopyFiles:
    """`sources` are patterns below the origin's root, none begins with "/"; "" is all of it. See `roost.domain.copying`."""

    origin: Origin
    sources: tuple[str, ...]
    target: str  # absolute; with "/" at its end it is a directory
    owner: str = ""  # "" is root
    mode: int | str | None = None  # text: as chmod takes it, like "u=rwX,go=rX"
    exclude: tuple[str, ...] = ()
    unpacks: bool = False
    keeps_parents: bool = False
    kind: Literal["copy"] = "copy"


@dataclass(frozen=True, slots=True)
class WriteFile:
    content: str
    target: str  # absolute; where it is a directory, or ends in "/", the file is `name` in it
    name: str
    owner: str = ""
    mode: int | str | None = 0o644
    kind: Literal["write"] = "write"


@dataclass(frozen=True, slots=True)
class FetchFile:
    url: str
    target: str  # absolute; where it is a directory, or ends in "/", the file is called as in the URL
    checksum: str = ""
    owner: str = ""
    mode: int | str | None = None
    keeps_git_dir: bool = False
    kind: Literal["fetch"] = "fetch"


@dataclass(frozen=True, slots=True)
class MakeDirectory:
    """With the directories above it. One that is there is left as it is."""

    path: str
    owner: str = ""  # of those that are made
    kind: Literal["directory"] = "directory"


@dataclass(frozen=True, slots=True)
class MakeUser:
    """With a home, a group of the same name and a shell, if there is no such user."""

    name: str
    kind: Literal["user"] = "user"


Action = RunCommand | CopyFiles | WriteFile | FetchFile | MakeDirectory | MakeUser


def layer_key(parent: str, action: Action, file_digests: Sequence[str] = ()) -> str:
    """The name of what an action makes of its parent: the same for the same, on every machine.

    `file_digests` are of the files that a copy takes, and stand for its origin: where they come from does not matter, neither the
    number of a stage nor the name of an image. Of secrets their names count and no value. How the network is reached does not
    count.
    """
    said = {"version": KEY_VERSION, "parent": parent, "files": list(file_digests), "action": _facts(action)}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _facts(action: Action) -> dict[str, Any]:
    match action:
        case RunCommand():
            return {
                "kind": action.kind,
                "words": action.words,
                "env": dict(action.env),
                "workdir": action.workdir,
                "user": action.user,
                "mounts": [_mount_facts(mount) for mount in action.mounts],
                "has_network": action.has_network,
            }
        case CopyFiles():
            return {
                "kind": action.kind,
                "sources": action.sources,
                "target": action.target,
                "owner": action.owner,
                "mode": action.mode,
                "exclude": action.exclude,
                "unpacks": action.unpacks,
                "keeps_parents": action.keeps_parents,
            }
        case WriteFile():
            return {
                "kind": action.kind,
                "content": action.content,
                "target": action.target,
                "name": action.name,
                "owner": action.owner,
                "mode": action.mode,
            }
        case FetchFile():
            return {
                "kind": action.kind,
                "url": action.url,
                "target": action.target,
                "checksum": action.checksum,
                "owner": action.owner,
                "mode": action.mode,
                "keeps_git_dir": action.keeps_git_dir,
            }
        case MakeDirectory():
            return {"kind": action.kind, "path": action.path, "owner": action.owner}
        case MakeUser():
            return {"kind": action.kind, "name": action.name}


def _mount_facts(mount: Mount) -> dict[str, Any]:
    match mount:
        case CacheMount():  # who shares it does not change what a command finds
            return {"kind": mount.kind, "target": mount.target, "id": mount.id, "owner": mount.owner, "mode": mount.mode}
        case SecretMount():
            return {"kind": mount.kind, "target": mount.target, "id": mount.id, "variable": mount.variable}
        case FileMount():
            return {"kind": mount.kind, "target": mount.target, "content": mount.content, "mode": mount.mode}
