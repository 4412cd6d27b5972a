"""What a server that starts does first: it takes up what the one before left. And what it does when a node started again."""

from __future__ import annotations

from roost.contracts.store import Query, Store
from roost.control.fleet.nodes import Nodes
from roost.control.fleet.routes import RouteTable
from roost.control.lifecycle.guard import guard
from roost.control.lifecycle.moves import Moves
from roost.control.lifecycle.repairs import Repairs
from roost.control.people.notices import GuestNotices
from roost.control.people.questions import Questions
from roost.control.templates.templates import Templates
from roost.domain.egress import OPEN
from roost.domain.ids import NodeId, SandboxId
from roost.domain.lifecycle import LIVING
from roost.domain.link import Link
from roost.domain.node import NodeReport
from roost.domain.sandbox import Sandbox


class Recovery:
    def __init__(
        self,
        *,
        store: Store,
        moves: Moves,
        nodes: Nodes,
        routes: RouteTable,
        repairs: Repairs,
        notices: GuestNotices,
        questions: Questions,
        templates: Templates,
    ) -> None:
        self._store = store
        self._moves = moves
        self._nodes = nodes
        self._routes = routes
        self._repairs = repairs
        self._notices = notices
        self._questions = questions
        self._templates = templates

    async def recover(self) -> None:
        """Routes are loaded, every move that an earlier server left is ordered again (and goes on behind this), lost sandboxes
        fall back, orphans and strays are gone."""
        async with self._store.reading() as reader:
            links = await reader.find(Link, Query())
            living = await reader.find(Sandbox, Query(one_of={"state": sorted(LIVING)}))
        reports = await self._nodes.look()
        self._routes.load(living, links)
        await self._place(living, reports)
        for record in living:
            if record.egress != OPEN:  # an earlier server may have died between writing a change and making it so
                await guard(self._nodes.set_egress, record)
            if record.has_desktop or record.driver is not None or record.token_pending:
                self._notices.mark_pending(record)
        for report in reports:
            await self._repairs.repair(living, report)
            await self._repairs.drop_strays(report)
        await guard(self._questions.recover)

    async def retell(self, node: NodeId) -> None:
        """A node's process started again, beside this one: it knows again what it keeps in memory only. What is under way is
        ordered again by whoever ordered it; what it missed is found by the next look around."""
        async with self._store.reading() as reader:
            living = await reader.find(Sandbox, Query(equal={"node": node}, one_of={"state": sorted(LIVING)}))
        for id in [record.id for record in living if record.egress != OPEN]:
            async with self._store.reading() as reader:  # once more: it may have been changed since
                record = await reader.get(Sandbox, id)
            if record is not None:
                await guard(self._nodes.set_egress, record)
        await guard(self._templates.keep_warm)
        await self._place(living, await self._nodes.look())

    async def _place(self, living: list[Sandbox], reports: list[NodeReport]) -> None:
        """Records say where their process answers: also those of a Roost that did not write it down."""
        found = {(each.sandbox, each.incarnation): each.endpoint for report in reports for each in report.present if each.alive}
        for record in living:
            endpoint = found.get((SandboxId(record.id), record.incarnation))
            if endpoint is not None and endpoint != record.endpoint:
                await guard(self._moves.place, record, endpoint)
