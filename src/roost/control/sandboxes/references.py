"""What a caller's words refer to: a sandbox, a snapshot, or something to create from; and whether they may. The one place where
control asks `domain.access`, but for lists, keys and the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from roost.contracts.store import Query, Reader
from roost.domain.access import Access, Principal, Thing, Verb, allow, require
from roost.domain.errors import SandboxNotFound, SnapshotNotFound, TemplateNotFound, Unauthenticated
from roost.domain.ids import NodeId, SandboxId, SnapshotId, is_id, is_name, is_snapshot_name
from roost.domain.lifecycle import LIVING
from roost.domain.sandbox import Sandbox, Size
from roost.domain.snapshot import Purpose, Snapshot, SnapshotKind
from roost.domain.team import ApiKey
from roost.domain.template import LATEST, Template


@dataclass(frozen=True, slots=True)
class CreateSource:
    """What a sandbox is made from."""

    template: str  # the template's name, or the snapshot's id
    snapshot: SnapshotId
    node: NodeId
    cold: bool  # holds no memory: boots
    size: Size
    user: str
    workdir: str
    env: Mapping[str, str] = field(default_factory=dict)
    has_desktop: bool = False
    memory_bytes: int = 0  # what it holds the moment it starts


async def check_key(reader: Reader, principal: Principal) -> None:
    """For the transaction in which something is given or made that outlives the request: a key that was revoked meanwhile gets
    nothing any more. Raises Unauthenticated."""
    if principal.key is None:
        return
    key = await reader.get(ApiKey, principal.key)
    if key is None or key.revoked_at is not None:
        raise Unauthenticated("key_revoked", "The API key behind this request was revoked just now. Use another.")


async def find_sandbox(reader: Reader, principal: Principal, ref: str, verb: Verb) -> Sandbox:
    """By id, dead ones too, or by name among the living. Raises SandboxNotFound, Forbidden."""
    found: list[Sandbox] = []
    if is_id(ref) and (record := await reader.get(Sandbox, ref)):
        found = [record]
    elif is_name(ref):
        query = Query(equal={"team": principal.team, "name": ref}, one_of={"state": sorted(LIVING)}, limit=1)
        found = await reader.find(Sandbox, query)
    for record in found:
        require(principal, verb, Thing(record.team, record.id), SandboxNotFound(ref))
        return record
    raise SandboxNotFound(ref)


async def find_snapshot(reader: Reader, principal: Principal, ref: str, verb: Verb) -> Snapshot:
    """By id, or by name. Templates' and forks' own snapshots are not for callers. Raises SnapshotNotFound, Forbidden."""
    found: list[Snapshot] = []
    if is_id(ref) and (record := await reader.get(Snapshot, ref)):
        found = [record]
    elif is_snapshot_name(ref):
        found = await reader.find(Snapshot, Query(equal={"team": principal.team, "name": ref}, limit=1))
    for snapshot in found:
        if snapshot.purpose in (Purpose.SLEEP, Purpose.KEPT):
            of = Thing(snapshot.team, snapshot.sandbox or SandboxId(""))
            require(principal, verb, of, SnapshotNotFound(ref))
            return snapshot
    raise SnapshotNotFound(ref)


async def find_template(reader: Reader, principal: Principal, ref: str, *, any_tag: bool = False) -> Template:
    """By `name`, `name:tag` or id; a team's own before everybody's. Without a tag it is the latest, or with `any_tag` any. Raises
    TemplateNotFound."""
    name, _, tag = ref.partition(":")
    found = await reader.find(Template, Query(equal={"name": name}))
    found = [each for each in found if each.tag == (tag or LATEST) or (any_tag and not tag)]
    if is_id(ref) and (by_id := await reader.get(Template, ref)):
        found = [by_id]
    for template in sorted(found, key=lambda one: (one.team is None, one.tag != LATEST)):
        if sees_template(principal, template):
            return template
    raise TemplateNotFound(ref)


def sees_template(principal: Principal, template: Template) -> bool:
    """A team's own are hidden from whoever is there for one sandbox alone."""
    own = Thing(template.team, None if template.team is None else SandboxId(""))
    return allow(principal, Verb.LOOK, own) is Access.ALLOWED


async def find_source(reader: Reader, principal: Principal, ref: str) -> CreateSource:
    """A template, or one of the team's snapshots, to make a sandbox from. Raises TemplateNotFound, Forbidden."""
    require(principal, Verb.MAKE, Thing(principal.team), TemplateNotFound(ref))
    try:
        template = await find_template(reader, principal, ref)
    except TemplateNotFound:
        return await _snapshot_source(reader, principal, ref)
    snapshot = await reader.get(Snapshot, template.snapshot)
    if snapshot is None:
        raise TemplateNotFound(ref)
    return CreateSource(
        template=template.ref,
        snapshot=snapshot.id,
        node=snapshot.node,
        cold=snapshot.kind is SnapshotKind.DISK,
        size=template.size,
        user=template.user,
        workdir=template.workdir,
        env=template.env,
        has_desktop=template.has_desktop,
        memory_bytes=snapshot.memory_bytes,
    )


async def _snapshot_source(reader: Reader, principal: Principal, ref: str) -> CreateSource:
    try:
        snapshot = await find_snapshot(reader, principal, ref, Verb.LOOK)
    except SnapshotNotFound:
        raise TemplateNotFound(ref) from None
    return source_of(snapshot)


def source_of(snapshot: Snapshot) -> CreateSource:
    return CreateSource(
        template=snapshot.id,
        snapshot=snapshot.id,
        node=snapshot.node,
        cold=snapshot.kind is SnapshotKind.DISK,
        size=snapshot.size,
        user=snapshot.user,
        workdir=snapshot.workdir,
        env=snapshot.env,
        has_desktop=snapshot.has_desktop,
        memory_bytes=snapshot.memory_bytes,
    )
