"""No key and no button is down any more, whoever pressed it: for a person who takes over."""

from __future__ import annotations

import contextlib

from roost_agent.desktop.errors import DesktopError
from roost_agent.desktop.link import Link
from roost_agent.http.connection import Connection


class LetGo:
    """Does what it can: without a desktop nothing can be held."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def __call__(self, connection: Connection) -> None:
        with contextlib.suppress(DesktopError):
            await self._link.ask(connection, "let_go", scale=1.0)
