"""The routes: which path is which verb, and who may call it."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from roost_agent import ENVD_VERSION, __version__
from roost_agent.access import call_of, require_node, require_token
from roost_agent.bridge import bridge
from roost_agent.connect import (
    ClientStream,
    ServerStream,
    Unary,
    serve_client_stream,
    serve_server_stream,
    serve_unary,
)
from roost_agent.desktop.let_go import LetGo
from roost_agent.desktop.link import Link
from roost_agent.desktop.routes import desktop_routes
from roost_agent.errors import HttpError
from roost_agent.files.compose import Compose
from roost_agent.files.list import ListDir
from roost_agent.files.make import MakeDir
from roost_agent.files.move import Move
from roost_agent.files.read import ReadFile
from roost_agent.files.remove import Remove
from roost_agent.files.stat import Stat
from roost_agent.files.watch import Watchers
from roost_agent.files.write import WriteFiles
from roost_agent.hooks.checkpoint import BeforeCheckpoint, NodeCalls
from roost_agent.hooks.driver import Hands, SetDriver
from roost_agent.hooks.flush import flush
from roost_agent.hooks.init import Identity, Init
from roost_agent.hooks.machine import Machine
from roost_agent.hooks.programs import Programs
from roost_agent.hooks.restore import AfterRestore
from roost_agent.http.connection import Connection, Exchange
from roost_agent.options import Options
from roost_agent.processes.attach import Attach
from roost_agent.processes.input import CloseStdin, SendInput, StreamInput, Update
from roost_agent.processes.list import List
from roost_agent.processes.signal import SendSignal
from roost_agent.processes.start import Start
from roost_agent.processes.table import ProcessTable
from roost_agent.sandbox import Sandbox
from roost_agent.status.history import CommandHistory, HistoryChanges
from roost_agent.status.metrics import Metrics, Variables
from roost_agent.status.ports import PortList
from roost_agent.status.processes import ProcessList
from roost_agent.status.tail import Tail

Verb = Callable[[Exchange], Awaitable[None]]

_PREFLIGHT = [
    ("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
    ("Access-Control-Allow-Headers", "*"),
    ("Access-Control-Max-Age", "7200"),
]


class App:
    """Everything the agent can be asked, put together once."""

    def __init__(self, options: Options, tasks: asyncio.TaskGroup) -> None:
        self._trust_local = options.trust_local
        self._tasks = tasks
        self._node_calls = NodeCalls()
        self.connections: set[Connection] = set()
        self.sandbox = Sandbox()
        self.processes = ProcessTable(options.ring_bytes, options.stall_s)
        self._desktop = Link(self.sandbox, self.processes)
        self._unary = self._unary_verbs(watchers := Watchers(self.sandbox))
        self._server_streams: dict[str, ServerStream] = {
            "/process.Process/Start": Start(self.processes, self.sandbox),
            "/process.Process/Connect": Attach(self.processes),
            "/filesystem.Filesystem/WatchDir": watchers.watch_dir,
        }
        self._client_streams: dict[str, ClientStream] = {"/process.Process/StreamInput": StreamInput(self.processes)}
        self._open = self._open_routes()
        self._guarded = self._guarded_routes()
        self._private = self._private_routes(Machine(options.system_root))

    def connect(self) -> Connection:
        """A new connection, served in a task of its own."""

        def serve(connection: Connection) -> None:
            self.connections.add(connection)
            task = self._tasks.create_task(connection.serve())
            task.add_done_callback(lambda _: self.connections.discard(connection))

        return Connection(self.handle, serve)

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Nobody waits for this, so nobody but the log hears of its failure: it must not take the agent along."""

        async def run() -> None:
            try:
                await work
            except Exception:
                traceback.print_exc(file=sys.stderr)

        self._tasks.create_task(run())

    async def handle(self, exchange: Exchange) -> None:
        """Answer one request, whatever it asks."""
        try:
            await self._dispatch(exchange)
        except HttpError as error:
            if exchange.head_sent:
                raise
            exchange.answer_error(error)

    async def _dispatch(self, exchange: Exchange) -> None:
        method, path = exchange.head.method, exchange.head.path
        if method == "OPTIONS":
            exchange.answer(204, headers=_PREFLIGHT)
            return
        key = ("GET" if method == "HEAD" else method, path)
        if (verb := self._open.get(key)) is not None:
            await verb(exchange)
        elif (verb := self._private.get(key)) is not None:
            require_node(exchange, trust_local=self._trust_local)
            with self._node_calls:
                await verb(exchange)
        elif key == ("GET", "/roost/bridge"):
            require_node(exchange, trust_local=self._trust_local)
            await bridge(exchange)
        else:
            require_token(self.sandbox, exchange)
            await self._dispatch_guarded(exchange, key)

    async def _dispatch_guarded(self, exchange: Exchange, key: tuple[str, str]) -> None:
        path = key[1]
        if (verb := self._guarded.get(key)) is not None:
            await verb(exchange)
        elif (unary := self._unary.get(path)) is not None:
            await serve_unary(unary, call_of(exchange))
        elif (server_stream := self._server_streams.get(path)) is not None:
            await serve_server_stream(server_stream, call_of(exchange))
        elif (client_stream := self._client_streams.get(path)) is not None:
            await serve_client_stream(client_stream, call_of(exchange))
        elif any(path == known for _, known in (*self._open, *self._guarded)):
            raise HttpError(405, f"{key[0]} is not a way to call {path}")
        else:
            raise HttpError(404, f"there is nothing at {path}")

    def _unary_verbs(self, watchers: Watchers) -> dict[str, Unary]:
        processes, sandbox = self.processes, self.sandbox
        return {
            "/process.Process/List": List(processes),
            "/process.Process/Update": Update(processes),
            "/process.Process/SendInput": SendInput(processes),
            "/process.Process/SendSignal": SendSignal(processes),
            "/process.Process/CloseStdin": CloseStdin(processes),
            "/filesystem.Filesystem/Stat": Stat(sandbox),
            "/filesystem.Filesystem/MakeDir": MakeDir(sandbox),
            "/filesystem.Filesystem/Move": Move(sandbox),
            "/filesystem.Filesystem/ListDir": ListDir(sandbox),
            "/filesystem.Filesystem/Remove": Remove(sandbox),
            "/filesystem.Filesystem/CreateWatcher": watchers.create,
            "/filesystem.Filesystem/GetWatcherEvents": watchers.events,
            "/filesystem.Filesystem/RemoveWatcher": watchers.remove,
        }

    def _open_routes(self) -> dict[tuple[str, str], Verb]:
        """Routes that need no token, or check it in their own way."""
        return {
            ("GET", "/health"): _health,
            ("GET", "/files"): ReadFile(self.sandbox),
            ("POST", "/files"): WriteFiles(self.sandbox),
        }

    def _guarded_routes(self) -> dict[tuple[str, str], Verb]:
        return {
            ("GET", "/metrics"): Metrics(),
            ("GET", "/envs"): Variables(self.sandbox),
            ("GET", "/files/archive"): self._archive,
            ("POST", "/files/compose"): Compose(self.sandbox),
            **desktop_routes(self._desktop, self.sandbox, self.processes),
            ("GET", "/processes"): ProcessList(self.sandbox, self.processes),
            ("GET", "/ports"): PortList(),
            ("GET", "/history"): CommandHistory(self.processes.history),
            ("GET", "/history/changes"): HistoryChanges(self.processes.history),
            ("GET", "/tail"): Tail(self.processes.history),
        }

    async def _archive(self, exchange: Exchange) -> None:
        # Loaded when first asked for: with tarfile come all compressors, a megabyte that every sandbox would hold.
        from roost_agent.files.archive import Archive

        await Archive(self.sandbox)(exchange)

    async def _cover(self, exchange: Exchange) -> None:
        from roost_agent.building.cover import Cover

        await Cover(self.sandbox)(exchange)

    async def _unpack(self, exchange: Exchange) -> None:
        from roost_agent.building.unpack import Unpack

        await Unpack(self.sandbox)(exchange)

    def _private_routes(self, machine: Machine) -> dict[tuple[str, str], Verb]:
        """Routes of the node."""
        programs = Programs(self.processes, self.sandbox, machine)
        hands = Hands(machine)
        identity = Identity(self.sandbox, machine, programs, self.processes.history, hands)
        return {
            ("POST", "/init"): Init(identity, programs),
            ("POST", "/roost/before-checkpoint"): BeforeCheckpoint(self._node_calls, self.connections, self._is_from_outside),
            ("POST", "/roost/driver"): SetDriver(hands, LetGo(self._desktop)),
            ("POST", "/roost/flush"): flush,
            ("POST", "/roost/after-restore"): AfterRestore(self.sandbox, identity, programs, self.run_in_background),
            ("GET", "/roost/version"): _version,
            ("POST", "/roost/build/begin"): _begin_build,
            ("POST", "/roost/build/settle"): _settle_build,
            ("POST", "/roost/build/unpack"): self._unpack,
            ("POST", "/roost/build/pack"): _pack,
            ("POST", "/roost/build/cover"): self._cover,
            ("POST", "/roost/build/uncover"): _uncover,
        }

    def _is_from_outside(self, connection: Connection) -> bool:
        return self._trust_local or not connection.peer_is_local


async def _health(exchange: Exchange) -> None:
    exchange.answer(204, headers=[("Cache-Control", "no-store")])


async def _begin_build(exchange: Exchange) -> None:
    from roost_agent.building.machine import begin

    await begin(exchange)


async def _settle_build(exchange: Exchange) -> None:
    from roost_agent.building.machine import settle

    await settle(exchange)


async def _uncover(exchange: Exchange) -> None:
    from roost_agent.building.cover import uncover

    await uncover(exchange)


async def _pack(exchange: Exchange) -> None:
    from roost_agent.building.pack import Pack

    await Pack()(exchange)


async def _version(exchange: Exchange) -> None:
    exchange.answer_json({"version": __version__, "envdVersion": ENVD_VERSION})
