"""`POST /roost/after-restore`: the sandbox woke, perhaps as somebody else."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from roost_agent import fields
from roost_agent.errors import HttpError, RpcError
from roost_agent.hooks.init import Identity
from roost_agent.hooks.message import read_message
from roost_agent.hooks.programs import Programs
from roost_agent.http.connection import Exchange
from roost_agent.sandbox import Sandbox

Background = Callable[[Coroutine[Any, Any, None]], None]


class AfterRestore:
    """Like `/init`, plus {wallClock, incarnation}; then the image's own hooks, in the background.

    The timers need nothing from here: the agent's clock has left out the sleep by itself (`awake.py`).
    """

    def __init__(self, sandbox: Sandbox, identity: Identity, programs: Programs, background: Background) -> None:
        self._sandbox = sandbox
        self._identity = identity
        self._programs = programs
        self._background = background

    async def __call__(self, exchange: Exchange) -> None:
        message = await read_message(exchange)
        try:
            fields.number(message, "wallClock")  # The engine keeps the wall clock right; it cannot be set inside.
            incarnation = fields.whole_number(message, "incarnation", self._sandbox.incarnation)
            self._identity.apply(message)
            new_identity = fields.flag(message, "newIdentity")
        except RpcError as error:
            raise HttpError(400, error.message) from error
        self._sandbox.incarnation = incarnation
        hooks = self._programs.after_restore_hooks()
        if hooks:
            self._background(self._programs.run_hooks(hooks, new_identity=new_identity))
        exchange.answer(204)
