"""`POST /desktop/open`: an address in the browser, or a program, on the screen."""

from __future__ import annotations

from roost_agent import procfs
from roost_agent.desktop.errors import DesktopError, invalid
from roost_agent.desktop.link import Link
from roost_agent.desktop.reading import Fields
from roost_agent.errors import RpcError
from roost_agent.http.connection import Exchange
from roost_agent.processes.spawn import Order
from roost_agent.processes.table import ProcessTable
from roost_agent.sandbox import Sandbox
from roost_agent.users import User

_OPENER = "xdg-open"


class Open:
    """{url} or {program, args} → {pid}. A process like any other: it outlives the call and is listed.

    It starts with the variables of the desktop's session (its message bus, its theme), so it is one of its programs."""

    def __init__(self, link: Link, sandbox: Sandbox, processes: ProcessTable) -> None:
        self._link = link
        self._sandbox = sandbox
        self._processes = processes

    async def __call__(self, exchange: Exchange) -> None:
        fields = await Fields.of_body(exchange)
        command, arguments = _wanted(fields)
        session = await self._link.ask(exchange.connection, "session")
        user = self._sandbox.acting_user(None)
        order = Order(command, arguments, user)
        own = self._sandbox.command_environment(user, {"DISPLAY": self._link.display})
        order.environment = _environment_of(session.fields.get("pid"), user) | own
        order.stdin = False
        try:
            process = self._processes.start(order)
        except RpcError as error:
            raise DesktopError(400, "cannot_start", f"{command} cannot be started: {error.message}.", program=command) from error
        exchange.answer_json({"pid": process.pid})


def _wanted(fields: Fields) -> tuple[str, list[str]]:
    if fields.has("url") == fields.has("program"):
        raise invalid("Say what to open: either url, or program (with args).")
    if fields.has("url"):
        url = fields.text("url")
        if not url or url.startswith("-") or "\0" in url:
            raise invalid(f"{url!r} is no address. It should look like https://example.org.", field="url")
        return _OPENER, [url]
    program, arguments = fields.text("program"), fields.texts("args")
    if not program or any("\0" in word for word in (program, *arguments)):
        raise invalid("The program needs a name, and no word may hold a NUL.", field="program")
    return program, arguments


def _environment_of(pid: int | None, user: User) -> dict[str, str]:
    """The variables of the session's window manager. None when it cannot be told, or is not the user's own process: who it is
    says a property of the screen, which any program may write."""
    if pid is None or procfs.owner(pid) != user.uid:
        return {}
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            raw = file.read()
    except OSError:
        return {}
    pairs = (item.decode("utf-8", "surrogateescape").partition("=") for item in raw.split(b"\0") if item)
    return {name: value for name, _, value in pairs if name}
