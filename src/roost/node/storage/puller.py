"""Runs `roost-pull`, which fetches images of registries and unpacks them (`setup/pull/README.md`)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from anyio.abc import Process

from roost.domain.errors import Fault, NodeFull, RoostError
from roost.domain.image import Reference
from roost.domain.image_errors import (
    ImageBroken,
    ImageNotFound,
    ImagePlatformMissing,
    ImageTooLarge,
    RegistryDenied,
    RegistryRefused,
    RegistryTooSlow,
    RegistryUnreachable,
)

MOST_ENTRIES = 4_000_000  # files of an image: ten times what large ones have
STALL_S = 60.0  # for a registry to say anything at all
_MOST_ANSWER_BYTES = 16 << 20
_LAST_WORDS_BYTES = 2000
_AT_ONCE = 2  # pulls: a third would only slow the first two down

FindProgram = Callable[[], Path]
"""Blocks: for a minute or two when the program has to be built first. Raises Fault."""


@dataclass(frozen=True, slots=True)
class PullSettings:
    """What whoever runs this Roost allows. Hosts as in references."""

    docker_config: str = ""  # the folder of Docker's config.json
    mirrors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    insecure: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    limit_bytes: int = 20 << 30  # of an image, unpacked
    timeout_s: float = 1800.0


@dataclass(frozen=True, slots=True)
class Pulled:
    digest: str
    config: Mapping[str, Any]  # as its maker wrote it


class Puller:
    def __init__(self, find_program: FindProgram, settings: PullSettings) -> None:
        self._find_program = find_program
        self._settings = settings
        self._finding = anyio.Lock()
        self._program: Path | None = None
        self._turn: anyio.CapacityLimiter | None = None

    async def resolve(self, reference: Reference) -> str:
        """The digest of the image for this machine. Raises what `NodeSnapshots.resolve_image` raises."""
        answer = await self._ask(reference, action="resolve")
        return str(answer["digest"])

    async def unpack(self, reference: Reference, into: Path, *, room_bytes: int | None = None) -> Pulled:
        """The image's files are in the directory, which was empty. Nothing of them is outside of it, whatever the image holds,
        and they take no more than `room_bytes`. On failure some may be there. Raises what `NodeSnapshots.import_image` raises."""
        limit = self._settings.limit_bytes
        is_tight = room_bytes is not None and room_bytes < limit
        try:
            async with self._limiter():
                answer = await self._ask(
                    reference, action="unpack", into=str(into), limit_bytes=room_bytes if is_tight else limit
                )
        except ImageTooLarge as error:
            if is_tight:
                raise _full(str(reference)) from error
            raise
        config = answer.get("config")
        if not isinstance(config, dict):
            raise ImageBroken(str(reference), "its configuration is no object")
        return Pulled(str(answer["digest"]), config)

    def _limiter(self) -> anyio.CapacityLimiter:
        if self._turn is None:  # belongs to the event loop
            self._turn = anyio.CapacityLimiter(_AT_ONCE)
        return self._turn

    async def _ask(self, reference: Reference, *, action: str, **more: object) -> Mapping[str, Any]:
        request = {
            **asdict(self._settings),
            **more,
            "action": action,
            "reference": str(reference),
            "limit_entries": MOST_ENTRIES,
            "stall_s": min(STALL_S, self._settings.timeout_s),
        }
        answered, last_words = await _run(await self._found(), json.dumps(request).encode(), self._settings.timeout_s)
        try:
            answer = json.loads(answered)
        except ValueError as error:
            raise Fault("puller_failed", f"roost-pull gave no answer for {reference}. Its last words: {last_words}") from error
        if failure := answer.get("error"):
            raise self._translated(reference, str(failure["kind"]), str(failure["detail"]))
        return answer

    async def _found(self) -> Path:
        async with self._finding:
            if self._program is None or not self._program.exists():
                # Whoever does not wait for it leaves it building: the next one will want it.
                self._program = await to_thread.run_sync(self._find_program, abandon_on_cancel=True)
            return self._program

    def _translated(self, reference: Reference, kind: str, detail: str) -> RoostError:
        name = str(reference)
        match kind:
            case "not_found":
                return ImageNotFound(name, detail)
            case "platform":
                return ImagePlatformMissing(name, detail)
            case "denied":
                return RegistryDenied(name, detail)
            case "refused":
                return RegistryRefused(name, detail)
            case "unreachable":
                return RegistryUnreachable(name, detail)
            case "too_slow":
                return RegistryTooSlow(name, self._settings.timeout_s)
            case "broken":
                return ImageBroken(name, detail)
            case "too_large":
                return ImageTooLarge(name, f"{detail} ({self._settings.limit_bytes >> 20} MB, {MOST_ENTRIES} files)")
            case "full":
                return _full(name)
            case _:
                return Fault("puller_failed", f"The image {name} could not be fetched: {detail}")


def _full(name: str) -> NodeFull:
    return NodeFull("disk space", f"more for the image {name}", "less")


async def _run(program: Path, request: bytes, timeout_s: float) -> tuple[bytes, str]:
    """What it answers, and its last words. It is gone afterwards, with all it started, also when this is cancelled."""
    process = await anyio.open_process([str(program)], start_new_session=True)
    answer, words = bytearray(), bytearray()
    try:
        # It keeps its time itself: this is for one that hangs.
        with anyio.fail_after(timeout_s + 30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_collect, process.stdout, answer, _MOST_ANSWER_BYTES)
                tasks.start_soon(_collect, process.stderr, words, _LAST_WORDS_BYTES)
                assert process.stdin is not None
                await process.stdin.send(request)
                await process.stdin.aclose()
            await process.wait()
    except TimeoutError as error:
        raise Fault("puller_failed", f"roost-pull did not end within {math.ceil(timeout_s + 30)} s.") from error
    except (anyio.BrokenResourceError, BrokenPipeError):
        words.extend(b" (it took no request)")
    finally:
        await _end(process)
    return bytes(answer), words.decode(errors="replace").strip()


async def _collect(stream: Any, into: bytearray, most: int) -> None:
    async for chunk in stream:
        into.extend(chunk[: most - len(into)])


async def _end(process: Process) -> None:
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.kill()  # what it started dies with it
        await process.aclose()
