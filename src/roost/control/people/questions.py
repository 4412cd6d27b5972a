"""Questions to people: ask, wait, answer, withdraw, let expire. The one writer of questions.

Whoever waits is woken by the feed: every end of a question is an event. An answer wakes the sandbox that asked; that this is due
is written with the answer, so that a server that dies in between does not forget it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio

from roost.contracts.clock import Clock
from roost.contracts.store import EventQuery, Query, Reader, Store, Transaction
from roost.control.lifecycle.deadline import run_until
from roost.control.lifecycle.flights import Flights
from roost.control.lifecycle.moves import Intent
from roost.control.people.events import EventLog
from roost.control.sandboxes.pages import Page, read_page
from roost.control.sandboxes.references import find_sandbox
from roost.domain import ids
from roost.domain.access import Principal, Thing, Verb, guest_of, require, within
from roost.domain.errors import Exhausted, Invalid, QuestionClosed, QuestionNotFound, SandboxDead
from roost.domain.events import Event, EventKind
from roost.domain.ids import SandboxId, is_id
from roost.domain.lifecycle import LIVING, Action
from roost.domain.question import APPROVAL, Answer, Picture, Question, QuestionKind, QuestionState, picture_type
from roost.domain.sandbox import Sandbox
from roost.telemetry.log import get_logger

LONGEST_TEXT = 4000
LONGEST_CHOICE = 200
MOST_CHOICES = 20
MOST_OPEN = 100  # of one sandbox: an agent in a loop must not hide the others' questions
LARGEST_PICTURE_BYTES = 1 << 20
LONGEST_TTL_S = 30 * 24 * 3600.0
LONGEST_WAIT_S = 300.0
KEPT_S = 30 * 24 * 3600.0
WHY_AWAKE = "an answer to its question"
_CLOSED = (EventKind.QUESTION_ANSWERED, EventKind.QUESTION_EXPIRED, EventKind.QUESTION_WITHDRAWN)
_TOLD = 200  # characters of a text in an event
_BATCH = 100

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AskQuestion:
    text: str
    kind: QuestionKind = QuestionKind.QUESTION
    choices: tuple[str, ...] = ()
    ttl_s: float = 24 * 3600.0
    screenshot: str | None = None  # base64 of a png, jpeg or webp


class Questions:
    def __init__(self, *, store: Store, events: EventLog, flights: Flights, clock: Clock, random: ids.Random) -> None:
        self._store = store
        self._events = events
        self._flights = flights
        self._clock = clock
        self._random = random

    async def ask(self, principal: Principal, ref: str, request: AskQuestion) -> Question:
        """The question is open. Raises Invalid, SandboxNotFound, SandboxDead, Exhausted when it has too many open ones."""
        _check(request)
        picture_of = _decode_picture(request.screenshot)
        now = self._clock.now()
        choices = request.choices or (APPROVAL if request.kind is QuestionKind.APPROVAL else ())
        async with self._store.transaction() as transaction:
            sandbox = await find_sandbox(transaction, principal, ref, Verb.ASK)
            if sandbox.state not in LIVING:
                raise SandboxDead(sandbox.id, sandbox.reason)
            await _check_count(transaction, sandbox)
            question = Question(
                id=ids.new_question_id(self._random),
                team=sandbox.team,
                sandbox=sandbox.id,
                sandbox_name=sandbox.name,
                kind=request.kind,
                text=request.text,
                choices=choices,
                state=QuestionState.OPEN,
                created_at=now,
                expires_at=now + request.ttl_s,
                has_screenshot=picture_of is not None,
            )
            question = await transaction.put(question, expect_revision=None)
            if picture_of is not None and request.screenshot is not None:
                await transaction.put(Picture(question.id, picture_of, request.screenshot, now), expect_revision=None)
            facts = {"kind": str(question.kind), "text": question.text[:_TOLD], "choices": ", ".join(choices)[:_TOLD]}
            await transaction.append(self._event(EventKind.QUESTION_ASKED, question, facts))
        return question

    async def list(
        self,
        principal: Principal,
        *,
        state: QuestionState | None = None,
        sandbox: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Question]:
        """Newest first."""
        equal = within(principal, "sandbox")
        if state is not None:
            equal["state"] = state
        async with self._store.reading() as reader:
            if sandbox is not None:
                equal["sandbox"] = (await find_sandbox(reader, principal, sandbox, Verb.LOOK)).id
            return await read_page(reader, Question, Query(equal=equal), limit=limit, cursor=cursor)

    async def count_open(self, principal: Principal) -> int:
        async with self._store.reading() as reader:
            return len(await reader.find(Question, Query(equal=within(principal, "sandbox") | {"state": QuestionState.OPEN})))

    async def get(self, principal: Principal, id: str, *, wait_s: float = 0.0) -> Question:
        """As it is once it is no longer open, or when the time is over. Raises QuestionNotFound, Invalid."""
        if not 0 <= wait_s <= LONGEST_WAIT_S:
            raise Invalid("wait_s_invalid", f"wait_s is {wait_s:g}: 0 to {LONGEST_WAIT_S:g} seconds. Ask again after that.")
        seen = await self._events.newest()  # before it is read: what closes it afterwards is an event after this
        question = await self._read(principal, id)
        if question.state is QuestionState.OPEN and wait_s > 0:
            scope = anyio.CancelScope()
            await run_until(
                self._clock,
                self._clock.now() + wait_s,
                lambda: self._closed(question, seen),
                scope=scope,
                stop=scope.cancel,
            )
            question = await self._read(principal, id)
        return question

    async def picture(self, question: Question) -> Picture | None:
        if not question.has_screenshot:
            return None
        async with self._store.reading() as reader:
            return await reader.get(Picture, question.id)

    async def answer(self, principal: Principal, id: str, *, choice: str | None, text: str | None) -> Question:
        """Answered; its sandbox wakes if it sleeps, behind this. Raises QuestionNotFound, QuestionClosed, Invalid."""
        by = principal.name
        async with self._store.transaction() as transaction:
            question = await _find(transaction, principal, id, Verb.ANSWER)
            _check_answer(question, choice, text)
            answer = Answer(choice, text, by, principal.key, self._clock.now())
            answered = replace(question, state=QuestionState.ANSWERED, answer=answer, wake_due=True)
            answered = await transaction.put(answered, expect_revision=question.revision)
            facts = {"choice": choice, "text": text[:_TOLD] if text else None, "by": by}
            await transaction.append(self._event(EventKind.QUESTION_ANSWERED, answered, facts))
        self._wake(answered)
        return answered

    async def withdraw(self, principal: Principal, id: str) -> None:
        """Nobody need answer any more. May be called twice. Raises QuestionNotFound."""
        async with self._store.transaction() as transaction:
            question = await _find(transaction, principal, id, Verb.CHANGE)
            if question.state is QuestionState.OPEN:
                await self._close(transaction, question, QuestionState.WITHDRAWN, "nobody needs it any more")

    # What the keeper does

    async def expire(self) -> float | None:
        """Closes what is due, and what a dead sandbox asked. Returns when the next one comes due."""
        now, due, coming = self._clock.now(), list[tuple[Question, QuestionState, str]](), list[float]()
        async with self._store.reading() as reader:
            for question in await reader.find(Question, Query(equal={"state": QuestionState.OPEN})):
                if question.expires_at <= now:
                    due.append((question, QuestionState.EXPIRED, "nobody answered in time"))
                elif not await _lives(reader, question.sandbox):
                    due.append((question, QuestionState.WITHDRAWN, "its sandbox is dead"))
                else:
                    coming.append(question.expires_at)
        for question, state, why in due:
            async with self._store.transaction() as transaction:
                current = await transaction.get(Question, question.id)
                if current is not None and current.state is QuestionState.OPEN:
                    await self._close(transaction, current, state, why)
        return min(coming, default=None)

    async def recover(self) -> None:
        """Wakes those whose answer an earlier server took and could not bring."""
        async with self._store.reading() as reader:
            query = Query(equal={"state": QuestionState.ANSWERED, "wake_due": True})
            due = await reader.find(Question, query)
        for question in due:
            self._wake(question)

    async def forget(self) -> None:
        """Questions that closed long ago are gone, and their pictures."""
        before = self._clock.now() - KEPT_S
        while True:
            async with self._store.transaction() as transaction:
                oldest = await transaction.find(Question, Query(oldest_first=True, limit=_BATCH))
                old = [each for each in oldest if each.created_at < before and each.state is not QuestionState.OPEN]
                for question in old:
                    await transaction.delete(Picture, question.id)
                    await transaction.delete(Question, question.id)
            if len(old) < _BATCH:
                return

    # How it is done

    async def _closed(self, question: Question, seen: int) -> None:
        """Returns when an event tells that it closed."""
        wanted = EventQuery(sandbox=question.sandbox, kinds=_CLOSED, after=seen)
        async for event in self._events.follow(guest_of(question.team, question.sandbox), wanted):
            if event.facts.get("question") == question.id:
                return

    def _wake(self, question: Question) -> None:
        async def woken() -> None:
            async with self._store.transaction() as transaction:
                current = await transaction.get(Question, question.id)
                if current is not None and current.wake_due:
                    await transaction.put(replace(current, wake_due=False), expect_revision=current.revision)

        intent = Intent(question.sandbox, Action.RESUME, why=WHY_AWAKE)
        self._flights.ask_behind(intent, then=woken)

    async def _close(self, transaction: Transaction, question: Question, state: QuestionState, why: str) -> None:
        closed = await transaction.put(replace(question, state=state), expect_revision=question.revision)
        kinds = {QuestionState.EXPIRED: EventKind.QUESTION_EXPIRED, QuestionState.WITHDRAWN: EventKind.QUESTION_WITHDRAWN}
        await transaction.append(self._event(kinds[state], closed, {"why": why}))

    async def _read(self, principal: Principal, id: str) -> Question:
        async with self._store.reading() as reader:
            return await _find(reader, principal, id, Verb.LOOK)

    def _event(self, kind: EventKind, question: Question, facts: Mapping[str, str | None]) -> Event:
        return Event(kind, question.team, self._clock.now(), question.sandbox, {"question": question.id, **facts})


async def _find(reader: Reader, principal: Principal, id: str, verb: Verb) -> Question:
    question = await reader.get(Question, id) if is_id(id) else None
    if question is None:
        raise QuestionNotFound(id[:100])
    require(principal, verb, Thing(question.team, question.sandbox), QuestionNotFound(id[:100]))
    return question


async def _lives(reader: Reader, sandbox: SandboxId) -> bool:
    record = await reader.get(Sandbox, sandbox)
    return record is not None and record.state in LIVING


async def _check_count(transaction: Transaction, sandbox: Sandbox) -> None:
    query = Query(equal={"sandbox": sandbox.id, "state": QuestionState.OPEN}, limit=MOST_OPEN)
    if len(await transaction.find(Question, query)) >= MOST_OPEN:
        message = f"Sandbox {sandbox.id} has {MOST_OPEN} open questions. Wait for answers, or withdraw some."
        raise Exhausted("too_many_questions", message, sandbox=sandbox.id)


def _check(request: AskQuestion) -> None:
    if not 0 < len(request.text.strip()) <= LONGEST_TEXT or len(request.text) > LONGEST_TEXT:
        raise Invalid("text_invalid", f"A question has 1 to {LONGEST_TEXT} characters.", length=len(request.text))
    if not 0 < request.ttl_s <= LONGEST_TTL_S:
        raise Invalid(
            "ttl_s_invalid", f"ttl_s is {request.ttl_s:.12g}: more than 0, at most {LONGEST_TTL_S:.12g} seconds (30 days)."
        )
    _check_choices(request.choices)


def _check_choices(choices: Sequence[str]) -> None:
    if len(choices) > MOST_CHOICES:
        raise Invalid("choices_invalid", f"There are {len(choices)} choices; {MOST_CHOICES} is the most.", count=len(choices))
    for choice in choices:
        if not 0 < len(choice.strip()) <= LONGEST_CHOICE or len(choice) > LONGEST_CHOICE:
            message = f"The choice {choice[:40]!r} is not possible: one has 1 to {LONGEST_CHOICE} characters."
            raise Invalid("choices_invalid", message, choice=choice[:40])
    if len(set(choices)) < len(choices):
        raise Invalid("choices_invalid", "Two choices are the same. Leave one out.", choices=list(choices))


def _check_answer(question: Question, choice: str | None, text: str | None) -> None:
    if question.state is not QuestionState.OPEN:
        raise QuestionClosed(question.id, question.state)
    if choice is None and not (text and text.strip()):
        raise Invalid("answer_empty", "An answer is a choice, a text, or both. Say one.")
    if text is not None and len(text) > LONGEST_TEXT:
        raise Invalid("text_invalid", f"An answer has at most {LONGEST_TEXT} characters.", length=len(text))
    if choice is not None and choice not in question.choices:
        offered = ", ".join(repr(each) for each in question.choices) or "none: answer with text"
        raise Invalid("choice_unknown", f"{choice[:40]!r} is not one of its choices. They are {offered}.", choice=choice[:40])
    if choice is None and question.kind is QuestionKind.APPROVAL:
        raise Invalid("choice_missing", f"An approval is answered with one of {', '.join(question.choices)}.")


def _decode_picture(encoded: str | None) -> str | None:
    """The media type of a screenshot. Raises Invalid for what is none."""
    if encoded is None:
        return None
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("screenshot_invalid", "The screenshot is not base64.", field="screenshot") from None
    if len(data) > LARGEST_PICTURE_BYTES:
        message = f"The screenshot has {len(data)} bytes; {LARGEST_PICTURE_BYTES} is the most. Scale it down, or use jpeg."
        raise Invalid("screenshot_too_large", message, field="screenshot", size_bytes=len(data))
    media_type = picture_type(data)
    if media_type is None:
        raise Invalid("screenshot_invalid", "The screenshot is no png, jpeg or webp.", field="screenshot")
    return media_type
