"""What builds say: kept in the store, bounded, and told to whoever follows as it is said."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import anyio

from roost.contracts.clock import Clock
from roost.contracts.store import Query, Store
from roost.domain.builds import UNFINISHED, Build, BuildLog, LogLine, log_id
from roost.domain.ids import BuildId

MOST_BYTES = 4 << 20  # of one build; what it says then is dropped
LONGEST_LINE = 8192
PAGE_LINES = 500
FLUSH_EVERY_S = 0.5
_CUT_SHORT = "The log is full: what follows is not kept."


@dataclass(slots=True)
class _OpenLog:
    """The log of a build under way: what was kept, and what is not yet."""

    count: int = 0  # lines so far
    pages: int = 0
    kept_bytes: int = 0
    unsaved: list[LogLine] = field(default_factory=list)
    rests: dict[tuple[int | None, str], str] = field(default_factory=dict)  # lines that have not ended yet
    news: anyio.Event = field(default_factory=anyio.Event)


class BuildLogs:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._open: dict[BuildId, _OpenLog] = {}
        self._opened = anyio.Event()  # some log was opened, or a build ended without one

    async def open(self, build: BuildId) -> None:
        """It goes on where it was."""
        pages = await self._pages(build)
        last = pages[-1] if pages else None
        log = _OpenLog(pages=len(pages), count=last.first + len(last.lines) if last else 0)
        log.kept_bytes = sum(len(line.text) for page in pages for line in page.lines)
        self._open[build] = log
        self.stir()

    def stir(self) -> None:
        """Whoever follows a build that waits looks again."""
        self._opened.set()
        self._opened = anyio.Event()

    def say(self, build: BuildId, text: str, *, step: int | None = None, stream: str = "build") -> None:
        """Of a command as it comes, in pieces of any size; `close_step` ends its last line. Of the builder itself: a line."""
        log = self._open.get(build)
        if log is None:
            return
        if stream == "build":
            self._add(log, LogLine(self._clock.now(), text, step, stream))
            return
        whole = log.rests.pop((step, stream), "") + text
        *lines, rest = whole.split("\n")
        for line in lines:
            self._add(log, LogLine(self._clock.now(), line[:LONGEST_LINE], step, stream))
        if len(rest) > LONGEST_LINE:  # a line that never ends
            self._add(log, LogLine(self._clock.now(), rest[:LONGEST_LINE], step, stream))
            rest = ""
        if rest:
            log.rests[step, stream] = rest

    def close_step(self, build: BuildId, step: int | None) -> None:
        if log := self._open.get(build):
            for key in [key for key in log.rests if key[0] == step]:
                self._add(log, LogLine(self._clock.now(), log.rests.pop(key), *key))

    async def keep_saving(self, build: BuildId) -> None:
        """Until cancelled."""
        while True:
            await self._clock.sleep_until(self._clock.now() + FLUSH_EVERY_S)
            await self.save(build)

    async def save(self, build: BuildId) -> None:
        log = self._open.get(build)
        if log is None or not log.unsaved:
            return
        lines, log.unsaved = tuple(log.unsaved), []
        page = BuildLog(log_id(build, log.pages), build, self._clock.now(), log.count - len(lines), lines)
        log.pages += 1
        async with self._store.transaction(durable=False) as transaction:
            await transaction.put(page, expect_revision=None)

    async def close(self, build: BuildId) -> None:
        await self.save(build)
        if log := self._open.pop(build, None):
            log.news.set()

    async def read(self, build: BuildId, after: int = 0, limit: int | None = None) -> tuple[int, list[LogLine]]:
        """The lines from number `after` on, and the number of the next."""
        pages = await self._pages(build)
        log = self._open.get(build)
        lines = [(page.first + place, line) for page in pages for place, line in enumerate(page.lines)]
        known = {number for number, _ in lines}
        if log is not None:
            first = log.count - len(log.unsaved)
            lines += [(first + place, line) for place, line in enumerate(log.unsaved) if first + place not in known]
        wanted = [(number, line) for number, line in lines if number >= after][:limit]
        return (wanted[-1][0] + 1 if wanted else after), [line for _, line in wanted]

    async def follow(self, build: BuildId, after: int = 0) -> AsyncIterator[tuple[int, Sequence[LogLine]]]:
        """Every line from number `after` on, in groups with the number behind them, until the build has ended."""
        while True:
            log = self._open.get(build)
            news = log.news if log else self._opened
            async with self._store.reading() as reader:
                record = await reader.get(Build, build)
            after, lines = await self.read(build, after)
            if lines:
                yield after, lines
            elif record is None or record.state not in UNFINISHED:
                return
            else:
                await news.wait()

    async def _pages(self, build: BuildId) -> list[BuildLog]:
        async with self._store.reading() as reader:
            pages = await reader.find(BuildLog, Query(equal={"build": build}, oldest_first=True))
        return sorted(pages, key=lambda page: page.first)

    def _add(self, log: _OpenLog, line: LogLine) -> None:
        if log.kept_bytes > MOST_BYTES and line.stream != "build":
            return
        log.kept_bytes += len(line.text)
        if log.kept_bytes > MOST_BYTES and line.stream != "build":
            line = LogLine(line.at, _CUT_SHORT, line.step, "build")
        log.unsaved.append(line)
        log.count += 1
        log.news.set()
        log.news = anyio.Event()
