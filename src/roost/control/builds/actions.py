"""Does inside a builder what a step asks for."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import assert_never

from roost.contracts.cluster import Cluster
from roost.control.builds.builders import INCARNATION, Builder
from roost.control.builds.fetching import fetch_words
from roost.domain.build import CacheMount, FileMount, FromContext, SecretMount
from roost.domain.build_actions import Action, CopyFiles, FetchFile, MakeDirectory, MakeUser, RunCommand, WriteFile
from roost.domain.build_failures import CommandFailed, StepFailed
from roost.domain.egress import OPEN, Egress
from roost.domain.ids import SandboxId, TeamId
from roost.domain.node import EgressOrder
from roost.domain.node_builds import CacheDirectory, CommandOrder, Exited, FileOrder, Output, Selection, TemporaryFile

TAIL_CHARACTERS = 4000  # of what a command said, for its failure

Says = Callable[[str, str], None]
"""Told what a command says, and on which stream."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where an action is done, for whom, and who hears what it says."""

    builder: Builder
    team: TeamId
    secrets: Mapping[str, str]
    says: Says


class Actions:
    def __init__(self, *, cluster: Cluster) -> None:
        self._cluster = cluster

    async def do(self, site: Site, action: Action, source: SandboxId | None) -> None:
        """`source` is the builder that files are copied from, for a copy from another stage or image. Raises CommandFailed,
        StepFailed, and what the node raises."""
        builds = self._cluster.builds(site.builder.facts.node)
        match action:
            case RunCommand():
                await self.run(site, _command_order(site, action), has_network=action.has_network)
            case CopyFiles():
                order = self._files(site, action.target, action.owner, action.mode)
                selection = Selection(action.sources, action.exclude, action.keeps_parents, action.unpacks)
                if isinstance(action.origin, FromContext):
                    await builds.copy(order, action.origin.upload, selection)
                else:
                    assert source is not None
                    await builds.transfer(order, source, selection)
            case WriteFile():
                order = self._files(site, action.target, action.owner, action.mode)
                await builds.write(order, action.name or "file", action.content)
            case MakeDirectory():
                await builds.write(self._files(site, action.path, action.owner, None), ".", None)
            case MakeUser():
                await self.run(site, _user_order(site, action.name), has_network=True)
            case FetchFile():
                await self.run(site, _fetch_order(site, action), has_network=True)
            case _:
                assert_never(action)

    async def run(self, site: Site, order: CommandOrder, *, has_network: bool) -> None:
        """To its end, with nothing of it left running. Raises CommandFailed."""
        node = self._cluster.node(site.builder.facts.node)
        builds = self._cluster.builds(site.builder.facts.node)
        if not has_network:
            await node.set_egress(EgressOrder(order.sandbox, INCARNATION, Egress(internet=False)))
        exited, tail = await self.follow(site, order)
        await builds.settle(order.sandbox, INCARNATION)
        if not has_network:
            await node.set_egress(EgressOrder(order.sandbox, INCARNATION, OPEN))
        if exited.exit_code != 0:
            raise CommandFailed(exited.exit_code, exited.reason, tail)

    async def follow(self, site: Site, order: CommandOrder) -> tuple[Exited, str]:
        """How a command ended, and the last it said. Cancelled, it is left running."""
        tail, ended = "", Exited(1, "nothing was told of its end")
        builds = self._cluster.builds(site.builder.facts.node)
        async with aclosing(builds.run(order)) as events:  # type: ignore[type-var]
            async for event in events:
                match event:
                    case Output(text, stream):
                        shown = _scrubbed(text, site.secrets)
                        tail = (tail + shown)[-TAIL_CHARACTERS:]
                        site.says(shown, stream)
                    case Exited():
                        ended = event
        return ended, tail

    def _files(self, site: Site, target: str, owner: str, mode: int | str | None) -> FileOrder:
        return FileOrder(site.builder.sandbox, INCARNATION, target, owner, mode)


def _command_order(site: Site, action: RunCommand) -> CommandOrder:
    files: list[TemporaryFile] = []
    caches: list[CacheDirectory] = []
    env = {**action.proxies, **action.env}
    for mount in action.mounts:
        match mount:
            case FileMount():
                files.append(TemporaryFile(mount.target, mount.content, action.user or "0:0", mount.mode))
            case CacheMount():
                name = hashlib.sha256(f"{site.team}\0{mount.id}".encode()).hexdigest()
                caches.append(CacheDirectory(mount.target, name, mount.owner, mount.mode))
            case SecretMount():
                value = site.secrets.get(mount.id)
                if value is None:
                    if mount.is_required:
                        raise StepFailed(f"It needs the secret {mount.id!r}. Give it with `--secret id={mount.id},src=FILE`.")
                    continue
                if mount.target:
                    files.append(TemporaryFile(mount.target, value, mount.owner, mount.mode))
                if mount.variable:
                    env[mount.variable] = value
            case _:
                assert_never(mount)
    return CommandOrder(
        sandbox=site.builder.sandbox,
        incarnation=INCARNATION,
        words=action.words,
        env=env,
        user=action.user,
        workdir=action.workdir,
        files=tuple(files),
        caches=tuple(caches),
    )


def _fetch_order(site: Site, action: FetchFile) -> CommandOrder:
    return CommandOrder(site.builder.sandbox, INCARNATION, fetch_words(action), user="root")


def _user_order(site: Site, name: str) -> CommandOrder:
    """By the tool that the image has: `useradd` on most, busybox's `adduser` on the small."""
    quoted = shlex.quote(name)
    script = (
        f"id -u {quoted} >/dev/null 2>&1 || useradd --create-home --shell /bin/bash {quoted} 2>/dev/null || adduser -D {quoted}"
    )
    return CommandOrder(site.builder.sandbox, INCARNATION, ("/bin/sh", "-c", script), user="root")


def _scrubbed(text: str, secrets: Mapping[str, str]) -> str:
    """A secret that a command prints is not kept. One that arrives in two pieces is not noticed."""
    for value in secrets.values():
        if len(value.strip()) >= 4:
            text = text.replace(value.strip(), "********")
    return text
