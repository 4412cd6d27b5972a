"""A team's templates by name and tag: naming one again, and removing one."""

from __future__ import annotations

from dataclasses import replace

from roost.contracts.clock import Clock
from roost.contracts.cluster import Cluster
from roost.contracts.store import Query, Store
from roost.control.builds.builds import check_name
from roost.control.lifecycle.endings import is_being_cloned
from roost.control.sandboxes.references import find_template
from roost.domain import ids
from roost.domain.access import Principal, Thing, Verb, require
from roost.domain.errors import Forbidden, TemplateNotFound
from roost.domain.ids import SandboxId
from roost.domain.snapshot import Snapshot
from roost.domain.template import Template


class TemplateTags:
    def __init__(self, *, store: Store, cluster: Cluster, clock: Clock, random: ids.Random) -> None:
        self._store = store
        self._cluster = cluster
        self._clock = clock
        self._random = random

    async def tag(self, principal: Principal, ref: str, tag: str) -> Template:
        """The tag names the same as `ref` from now on; sandboxes that were made from what it named before are not touched. So one
        rolls back. Raises TemplateNotFound, Invalid, Forbidden."""
        async with self._store.transaction() as transaction:
            source = await find_template(transaction, principal, ref)
            _require_own(principal, source, ref)
            check_name(source.name, tag)
            found = await transaction.find(Template, Query(equal={"name": source.name, "team": source.team}))
            known = next((each for each in found if each.tag == tag), None)
            if known is not None and known.snapshot == source.snapshot:
                return known
            made = replace(
                source, id=known.id if known else ids.new_template_id(self._random), tag=tag, created_at=self._clock.now()
            )
            return await transaction.put(made, expect_revision=known.revision if known else None)

    async def remove(self, principal: Principal, ref: str) -> tuple[Template, ...]:
        """One tag if `ref` has one, else all of that name. Sandboxes that were made from them live on. Raises TemplateNotFound,
        Forbidden."""
        async with self._store.transaction() as transaction:
            first = await find_template(transaction, principal, ref, any_tag=True)
            _require_own(principal, first, ref)
            found = await transaction.find(Template, Query(equal={"name": first.name, "team": first.team}))
            names_all = ref == first.name
            gone = tuple(each for each in found if names_all or each.id == first.id)
            for each in gone:
                await transaction.delete(Template, each.id)
        for each in gone:
            await self._drop(each)
        return gone

    async def _drop(self, template: Template) -> None:
        """Its snapshot, unless another tag names it or somebody is creating from it: then the keeper collects it."""
        async with self._store.transaction() as transaction:
            entry = await transaction.get(Snapshot, template.snapshot)
            if entry is None or await is_being_cloned(transaction, entry.id):
                return
            if await transaction.find(Template, Query(equal={"snapshot": entry.id}, limit=1)):
                return
            await transaction.delete(Snapshot, entry.id)
        await self._cluster.snapshots(entry.node).delete_snapshot(entry.id)


def _require_own(principal: Principal, template: Template, ref: str) -> None:
    require(principal, Verb.CHANGE, Thing(template.team or principal.team, SandboxId("")), TemplateNotFound(ref))
    if template.team is None:
        raise Forbidden("template_built_in", f"{template.name!r} comes with Roost: it stays as it is.", template=template.name)
