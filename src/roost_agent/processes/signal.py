"""`SendSignal`: to the process and everything that came from it."""

from __future__ import annotations

import signal

from roost_agent.connect import Call, Message
from roost_agent.errors import RpcError
from roost_agent.processes.table import ProcessTable

_PREFIX = "SIGNAL_"


class SendSignal:
    """SendSignal {process, signal: "SIGNAL_SIGTERM" | "SIGNAL_SIGKILL" | any other name} → {}."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table

    async def __call__(self, call: Call, message: Message) -> Message:
        process = self._table.select_living(message)
        process.signal(_number(message.get("signal")))
        return {}


def _number(given: object) -> int:
    # Protobuf's JSON takes an enum by name or by number; the two that E2B defines have their signals' numbers.
    try:
        if isinstance(given, str):
            return signal.Signals[given.removeprefix(_PREFIX)]
        if isinstance(given, int) and not isinstance(given, bool) and given > 0:
            return signal.Signals(given)
    except (KeyError, ValueError):
        pass
    raise RpcError("invalid_argument", f"unknown signal {given!r}: use a name such as SIGNAL_SIGTERM")
