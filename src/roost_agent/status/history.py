"""`GET /history`: the commands that were run through the agent. `GET /history/changes`: when to ask again."""

from __future__ import annotations

from roost_agent.connect import Message
from roost_agent.http.connection import Exchange
from roost_agent.http.head import whole_parameter
from roost_agent.processes.history import KEPT_COMMANDS, Command, History
from roost_agent.status.following import follow
from roost_agent.timestamps import timestamp

_DEFAULT_LIMIT = 200


class CommandHistory:
    """Answers with the last commands, newest first. Those that still run have no end."""

    def __init__(self, history: History) -> None:
        self._history = history

    async def __call__(self, exchange: Exchange) -> None:
        limit = whole_parameter(exchange.head, "limit", default=_DEFAULT_LIMIT, most=KEPT_COMMANDS)
        commands = [_entry(command) for command in self._history.newest(limit)]
        exchange.answer_json({"commands": commands}, headers=[("Cache-Control", "no-store")])


class HistoryChanges:
    """A text/event-stream: {changes} at once, then whenever a command started, ended or printed, at most once a second."""

    def __init__(self, history: History) -> None:
        self._history = history

    async def __call__(self, exchange: Exchange) -> None:
        await follow(exchange, self._history, lambda: {"changes": self._history.changes})


def _entry(command: Command) -> Message:
    return {
        "pid": command.pid,
        "command": command.line,
        "user": command.user,
        "started_at": timestamp(_milliseconds(command.started_ns)),
        "ended_at": None if command.ended_ns is None else timestamp(_milliseconds(command.ended_ns)),
        "exit_code": command.exit_code,
        "status": command.status,
        "pty": command.on_terminal,
    }


def _milliseconds(nanoseconds: int) -> int:
    return nanoseconds // 1_000_000 * 1_000_000
