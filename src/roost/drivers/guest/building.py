"""The agent of a builder, as the node speaks with it. `contracts.guest_builds.BuildGuest`."""

from __future__ import annotations

import base64
import codecs
import contextlib
import json
import struct
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import anyio

from roost.domain.build_failures import StepFailed
from roost.domain.errors import GuestUnreachable
from roost.domain.node_builds import CacheDirectory, CommandOrder, Exited, FileOrder, Output, Selection
from roost.drivers.guest.streaming import GuestExchange, exchange

_ANSWER_LIMIT_S = 20.0
_FILES_LIMIT_S = 600.0  # for all that is packed or unpacked at once
_LONGEST_MESSAGE_BYTES = 4 << 20  # of what a guest sends, which may be anything
_LONGEST_ANSWER_BYTES = 64 << 10
_TIMED_OUT, _NOT_STARTED = 124, 127


class BuildAgent:
    async def prepare(self, address: str) -> None:
        await self._post(address, "/roost/build/begin")

    async def settle(self, address: str) -> None:
        await self._post(address, "/roost/build/settle")

    async def remove(self, address: str, path: str) -> None:
        await self._post(address, "/filesystem.Filesystem/Remove", {"path": path}, tolerates=(404,), as_user="root")

    async def cover(self, address: str, cache: CacheDirectory, by: str) -> None:
        message = {"path": cache.path, "by": by, "owner": cache.owner, "mode": cache.mode}
        await self._post(address, "/roost/build/cover", message, is_steps_fault=True)

    async def uncover(self, address: str, path: str) -> None:
        await self._post(address, "/roost/build/uncover", {"path": path})

    async def run(self, address: str, order: CommandOrder) -> AsyncGenerator[Output | Exited, None]:
        command, *arguments = order.words
        process = {"cmd": command, "args": arguments, "envs": dict(order.env), "cwd": order.workdir}
        body = json.dumps({"process": process, "stdin": False, "user": order.user or "root"}).encode()
        headers = {
            "Content-Type": "application/connect+json",
            "Content-Length": str(len(body) + 5),
            "Connect-Protocol-Version": "1",
        }
        if order.timeout_s:
            headers["Connect-Timeout-Ms"] = str(int(order.timeout_s * 1000))
        async with exchange(address) as ask:
            await ask.send_head("POST", "/process.Process/Start", headers)
            await ask.send(struct.pack(">BI", 0, len(body)) + body)
            await ask.end()
            if await ask.status() != 200:
                yield Exited(_NOT_STARTED, _said(await ask.body(_LONGEST_ANSWER_BYTES)))
                return
            async with contextlib.aclosing(_events(address, ask)) as events:
                async for event in events:
                    yield event

    async def unpack(
        self, address: str, order: FileOrder, archive: AsyncIterator[bytes], *, keeps_owner: bool, unpacks: bool
    ) -> int:  # fmt: skip
        told = {"target": order.target, "owner": order.owner, "keepsOwner": keeps_owner, "unpacks": unpacks, "mode": order.mode}
        head = json.dumps({name: value for name, value in told.items() if value is not None}).encode()
        with anyio.fail_after(_FILES_LIMIT_S):
            async with exchange(address) as ask:
                await ask.send_head("POST", "/roost/build/unpack", {"Transfer-Encoding": "chunked"})
                await ask.send(struct.pack(">I", len(head)) + head)
                # An agent that refuses early closes its side while this one still sends: then its answer is what counts.
                with contextlib.suppress(anyio.BrokenResourceError):
                    async for piece in archive:
                        await ask.send(piece)
                    await ask.end()
                status, answer = await ask.status(), await ask.body(_LONGEST_ANSWER_BYTES)
        if status >= 500:
            raise GuestUnreachable(address, f"it could not unpack files: {_said(answer)}")
        if status >= 300:
            raise StepFailed(_said(answer))
        return _count(answer)

    async def pack(self, address: str, selection: Selection) -> AsyncGenerator[bytes, None]:
        asked = {"sources": list(selection.sources), "keepsParents": selection.keeps_parents, "exclude": list(selection.exclude)}
        body = json.dumps(asked).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        async with exchange(address) as ask:
            await ask.send_head("POST", "/roost/build/pack", headers)
            await ask.send(body)
            await ask.end()
            status = await ask.status()
            if status >= 300:
                answer = _said(await ask.body(_LONGEST_ANSWER_BYTES))
                raise StepFailed(answer) if status < 500 else GuestUnreachable(address, f"it could not pack files: {answer}")
            async for piece in ask.pieces():
                yield piece

    async def _post(
        self,
        address: str,
        path: str,
        message: dict[str, Any] | None = None,
        *,
        tolerates: tuple[int, ...] = (),
        as_user: str = "",
        is_steps_fault: bool = False,
    ) -> None:
        body = json.dumps(message or {}).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        if as_user:
            headers["Authorization"] = _as_user(as_user)
        try:
            with anyio.fail_after(_ANSWER_LIMIT_S):
                async with exchange(address) as ask:
                    await ask.send_head("POST", path, headers)
                    await ask.send(body)
                    await ask.end()
                    status, answer = await ask.status(), await ask.body(_LONGEST_ANSWER_BYTES)
        except TimeoutError as error:
            raise GuestUnreachable(address, "it did not answer in time") from error
        if is_steps_fault and 400 <= status < 500:
            raise StepFailed(_said(answer))
        if status >= 300 and status not in tolerates:
            raise GuestUnreachable(address, f"{path} answered {status}: {_said(answer)}")


async def _events(address: str, ask: GuestExchange) -> AsyncGenerator[Output | Exited, None]:
    """What a command says, out of the envelopes of its stream."""
    decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
    held = bytearray()
    ended = False
    async for piece in ask.pieces():
        held += piece
        while len(held) >= 5:
            flags, length = struct.unpack_from(">BI", held)
            if length > _LONGEST_MESSAGE_BYTES:
                raise GuestUnreachable(address, "what it says of a command is too long")
            if len(held) < 5 + length:
                break
            message = _message(address, bytes(held[5 : 5 + length]))
            del held[: 5 + length]
            if ended:
                continue
            for stream, decoder in decoders.items():
                if text := decoder.decode(_data(address, message, stream)):
                    yield Output(text, stream)
            if (end := _end(message, is_last=bool(flags & 2))) is not None:
                ended = True
                yield end
    if not ended:
        raise GuestUnreachable(address, "the command's end was never told")


def _message(address: str, raw: bytes) -> dict[str, Any]:
    try:
        message = json.loads(raw or b"{}")
    except (ValueError, RecursionError) as error:
        raise GuestUnreachable(address, f"what it says of a command makes no sense ({error})") from error
    return message if isinstance(message, dict) else {}


def _data(address: str, message: dict[str, Any], stream: str) -> bytes:
    encoded = _at(message, "event", "data", stream)
    if not isinstance(encoded, str):
        return b""
    try:
        return base64.b64decode(encoded)
    except ValueError as error:
        raise GuestUnreachable(address, f"what it says of a command makes no sense ({error})") from error


def _end(message: dict[str, Any], *, is_last: bool) -> Exited | None:
    if is_last:
        if (error := _at(message, "error")) is None:
            return None
        detail = str(_at(message, "error", "message") or "") if isinstance(error, dict) else ""
        is_late = _at(message, "error", "code") == "deadline_exceeded"
        return Exited(_TIMED_OUT, "it took longer than it may") if is_late else Exited(_NOT_STARTED, detail)
    end = _at(message, "event", "end")
    if end is None:
        return None
    code = _at(message, "event", "end", "exitCode")
    status = str(_at(message, "event", "end", "status") or "")
    return Exited(code if isinstance(code, int) else 0, "" if status.startswith("exit") else status)


def _at(message: Any, *names: str) -> Any:
    for name in names:
        if not isinstance(message, dict):
            return None
        message = message.get(name)
    return message


def _as_user(name: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:".encode()).decode()


def _said(answer: bytes) -> str:
    with contextlib.suppress(ValueError):
        told = json.loads(answer)
        if isinstance(told, dict) and isinstance(told.get("message"), str):
            return told["message"]
    return answer[:200].decode(errors="replace")


def _count(answer: bytes) -> int:
    with contextlib.suppress(ValueError):
        told = _at(json.loads(answer), "files")
        if isinstance(told, int):
            return told
    return 0
