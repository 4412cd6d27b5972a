"""`WatchDir`, `CreateWatcher`, `GetWatcherEvents`, `RemoveWatcher`: what happens in a directory."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import stat

from roost_agent import fields
from roost_agent.connect import Call, Message, Stream
from roost_agent.errors import ClientGone, RpcError, rpc_error
from roost_agent.files import inotify
from roost_agent.files.entry import describe
from roost_agent.files.stat import path_of
from roost_agent.sandbox import Sandbox
from roost_agent.wakeup import Wakeup

MAX_PENDING_EVENTS = 100_000
_NETWORK_FILESYSTEMS = ("nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "fuse", "fuseblk")
_KINDS = (
    (inotify.CREATE | inotify.MOVED_TO, "EVENT_TYPE_CREATE"),
    (inotify.MODIFY, "EVENT_TYPE_WRITE"),
    (inotify.DELETE | inotify.DELETE_SELF, "EVENT_TYPE_REMOVE"),
    (inotify.MOVED_FROM | inotify.MOVE_SELF, "EVENT_TYPE_RENAME"),
    (inotify.ATTRIB, "EVENT_TYPE_CHMOD"),
)
_WITH_ENTRY = ("EVENT_TYPE_CREATE", "EVENT_TYPE_WRITE", "EVENT_TYPE_CHMOD")


class Watcher:
    """Events of one directory, and with `recursive` of those below, the ones made later included."""

    def __init__(self, top: str, sandbox: Sandbox, *, recursive: bool, with_entries: bool) -> None:
        self._top = top
        self._sandbox = sandbox
        self._recursive = recursive
        self._with_entries = with_entries
        self._queue = inotify.Inotify()
        self._paths: dict[int, str] = {}
        # Found while entering a new directory and told already; the kernel may tell of them again.
        self._told: set[str] = set()
        self._pending: list[Message] = []
        self._lost = False
        self.bell = Wakeup()
        try:
            self._enter(top, telling=False)
        except BaseException:
            self._queue.close()
            raise
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._queue.descriptor, self._collect)

    def drain(self) -> list[Message]:
        """All events up to this moment, the kernel's queue included.

        Raises RpcError `resource_exhausted` when there were more than could be kept.
        """
        self._collect()
        if self._lost:
            raise RpcError("resource_exhausted", f"events of '{self._top}' were lost: too many were not fetched in time")
        events, self._pending = self._pending, []
        return events

    def close(self) -> None:
        self._loop.remove_reader(self._queue.descriptor)
        self._queue.close()

    def _collect(self) -> None:
        for watch, mask, name in self._queue.read():
            if mask & inotify.OVERFLOW:
                self._lost = True
            elif mask & inotify.IGNORED:
                self._paths.pop(watch, None)
            elif (directory := self._paths.get(watch)) is not None:
                self._note(directory, mask, name)
        if len(self._pending) > MAX_PENDING_EVENTS:
            self._pending.clear()
            self._lost = True
        if self._pending or self._lost:
            self.bell.ring()

    def _note(self, directory: str, mask: int, name: str) -> None:
        if not name and directory != self._top:
            return  # The directory above has told it by name.
        path = os.path.join(directory, name) if name else directory
        below = self._recursive and mask & inotify.IS_DIRECTORY and name
        if below and mask & inotify.MOVED_FROM:
            self._leave(path)
        if mask & inotify.CREATE and path in self._told:
            self._told.discard(path)
            return
        for bits, kind in _KINDS:
            if mask & bits:
                self._tell(path, kind)
                break
        if below and mask & (inotify.CREATE | inotify.MOVED_TO):
            try:
                self._enter(path, telling=True)
            except OSError as failure:
                if failure.errno not in (errno.ENOENT, errno.ENOTDIR):
                    self._lost = True

    def _enter(self, directory: str, *, telling: bool) -> None:
        """Watch a directory, then look at what it holds already: in this order nothing slips through."""
        self._paths[self._queue.add(directory)] = directory
        if not self._recursive:
            return
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for item in entries:
            if telling:
                self._told.add(item.path)
                self._tell(item.path, "EVENT_TYPE_CREATE")
            if item.is_dir(follow_symlinks=False):
                self._enter(item.path, telling=telling)

    def _leave(self, directory: str) -> None:
        below = directory + "/"
        for watch, path in list(self._paths.items()):
            if path == directory or path.startswith(below):
                self._queue.remove(watch)
                del self._paths[watch]

    def _tell(self, path: str, kind: str) -> None:
        event: Message = {"name": os.path.relpath(path, self._top), "type": kind}
        if self._with_entries and kind in _WITH_ENTRY:
            with contextlib.suppress(OSError):  # Gone again: the event stands without it.
                event["entry"] = describe(path, self._sandbox.users)
        self._pending.append(event)


class Watchers:
    """The watchers of callers that ask for events instead of listening, by id."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._by_id: dict[str, Watcher] = {}

    async def watch_dir(self, call: Call, message: Message, stream: Stream) -> None:
        """WatchDir {path, recursive?, includeEntry?} → {start}, then {filesystem: {name, type, entry?}}…"""
        timeout_s = call.timeout_s()
        keepalive_s = call.keepalive_s()
        loop = asyncio.get_running_loop()
        ends_at = None if timeout_s is None else loop.time() + timeout_s
        watcher = self._open(call, message)
        connection = call.exchange.connection
        connection.on_gone(watcher.bell.ring)
        try:
            await stream.send({"start": {}})
            while True:
                for event in watcher.drain():
                    await stream.send({"filesystem": event})
                if connection.gone:
                    raise ClientGone
                left_s = keepalive_s if ends_at is None else min(keepalive_s, ends_at - loop.time())
                if left_s <= 0:
                    raise RpcError("deadline_exceeded", "the time to watch is up")
                if not await watcher.bell.wait(left_s) and left_s == keepalive_s:
                    await stream.send({"keepalive": {}})
        finally:
            connection.forget_gone(watcher.bell.ring)
            watcher.close()

    async def create(self, call: Call, message: Message) -> Message:
        """CreateWatcher {path, recursive?, includeEntry?} → {watcherId}."""
        watcher_id = "w" + os.urandom(10).hex()
        self._by_id[watcher_id] = self._open(call, message)
        return {"watcherId": watcher_id}

    async def events(self, call: Call, message: Message) -> Message:
        """GetWatcherEvents {watcherId} → {events}: all since the last call, up to this moment."""
        return {"events": self._find(message).drain()}

    async def remove(self, call: Call, message: Message) -> Message:
        """RemoveWatcher {watcherId} → {}."""
        watcher = self._find(message)
        del self._by_id[fields.text(message, "watcherId")]
        watcher.close()
        return {}

    def _find(self, message: Message) -> Watcher:
        watcher_id = fields.text(message, "watcherId")
        watcher = self._by_id.get(watcher_id)
        if watcher is None:
            raise RpcError("not_found", f"watcher with id {watcher_id} not found")
        return watcher

    def _open(self, call: Call, message: Message) -> Watcher:
        path = path_of(self._sandbox, call, message, "path")
        recursive = fields.flag(message, "recursive")
        with_entries = fields.flag(message, "includeEntry")
        try:
            if not stat.S_ISDIR(os.stat(path).st_mode):
                raise RpcError("invalid_argument", f"path '{path}' is not a directory")
            if not fields.flag(message, "allowNetworkMounts") and (kind := _filesystem_of(path)) in _NETWORK_FILESYSTEMS:
                raise RpcError(
                    "invalid_argument",
                    f"path '{path}' is on a network filesystem ({kind}), where changes made elsewhere are not seen; "
                    "set allowNetworkMounts to watch it all the same",
                )
            return Watcher(path, self._sandbox, recursive=recursive, with_entries=with_entries)
        except FileNotFoundError as error:
            raise RpcError("not_found", f"path '{path}' does not exist") from error
        except OSError as failure:
            code = "resource_exhausted" if failure.errno in (errno.ENOSPC, errno.EMFILE) else rpc_error(failure, "").code
            raise RpcError(code, f"cannot watch '{path}': {failure.strerror}") from failure


def _filesystem_of(path: str) -> str:
    """The type of the filesystem that holds a path: that of the longest mount point above it."""
    real = os.path.realpath(path) + "/"
    best = kind = ""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
            for line in mounts:
                _, point, candidate, *_ = line.split(" ")
                point = point.replace("\\040", " ").rstrip("/") + "/"
                if real.startswith(point) and len(point) >= len(best):
                    best, kind = point, candidate
    except OSError:
        return ""
    return kind.partition(".")[0]
