"""An agent asks, a person answers, and the sandbox that slept meanwhile wakes for it."""

from __future__ import annotations

import base64
from dataclasses import replace

import anyio
import pytest

from roost.control.people.questions import KEPT_S, AskQuestion
from roost.domain.access import Principal
from roost.domain.errors import Exhausted, Invalid, QuestionClosed, QuestionNotFound, SandboxDead
from roost.domain.events import EventKind
from roost.domain.lifecycle import State
from roost.domain.question import Picture, Question, QuestionKind, QuestionState
from tests.flows.world import ME, PATIENCE_S, STRANGER, Ground, Roost, dies_at, serving

pytestmark = pytest.mark.anyio

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n and the rest").decode()


async def person(roost: Roost) -> Principal:
    _, secret = await roost.keys.create(ME, "anna")
    return await roost.keys.identify(secret)


async def ask(roost: Roost, sandbox: str, text: str = "Which one?", **request: object) -> Question:
    return await roost.questions.ask(ME, sandbox, AskQuestion(text=text, **request))  # pyright: ignore[reportArgumentType]


async def test_asked_answered_and_told(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox(name="agent")
    question = await ask(roost, "agent", choices=("left", "right"))
    assert (question.state, question.sandbox_name) == (QuestionState.OPEN, "agent")
    assert await roost.questions.count_open(ME) == 1
    answered = await roost.questions.answer(await person(roost), question.id, choice="left", text="because")
    assert answered.answer is not None
    assert (answered.answer.choice, answered.answer.text, answered.answer.by) == ("left", "because", "anna")
    kinds = [event.kind for event in await ground.events(sandbox=sandbox.id)]
    assert kinds[-2:] == [EventKind.QUESTION_ASKED, EventKind.QUESTION_ANSWERED]
    with pytest.raises(QuestionClosed):
        await roost.questions.answer(await person(roost), question.id, choice="right", text=None)


async def test_an_answer_wakes_who_asked_and_ends_the_waiting(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    roost.guest(sandbox).memory = "waiting for a word"
    question = await ask(roost, sandbox.id)
    heard: list[Question] = []

    async def wait() -> None:
        heard.append(await roost.questions.get(ME, question.id, wait_s=300))

    roost.group.start_soon(wait)
    await roost.power.pause(ME, sandbox.id)
    await roost.quiet()
    assert not heard
    await roost.questions.answer(await person(roost), question.id, choice=None, text="yes")
    await ground.until_state(sandbox.id, State.RUNNING)
    await roost.quiet()
    assert [each.state for each in heard] == [QuestionState.ANSWERED]
    assert roost.guest(sandbox).memory == "waiting for a word"
    (event,) = await ground.events(EventKind.WOKE)
    assert event.facts["why"] == "an answer to its question"
    assert not (await roost.questions.get(ME, question.id)).wake_due


async def test_waiting_has_an_end(roost: Roost, ground: Ground) -> None:
    question = await ask(roost, (await roost.sandbox()).id)
    heard: list[Question] = []

    async def wait() -> None:
        heard.append(await roost.questions.get(ME, question.id, wait_s=30))

    roost.group.start_soon(wait)
    await roost.quiet()
    ground.clock.advance(30)
    await roost.quiet()
    assert [each.state for each in heard] == [QuestionState.OPEN]
    with pytest.raises(Invalid):
        await roost.questions.get(ME, question.id, wait_s=301)


async def test_nobody_answers_in_time(roost: Roost, ground: Ground) -> None:
    question = await ask(roost, (await roost.sandbox()).id, ttl_s=7.0)
    heard: list[Question] = []

    async def wait() -> None:
        heard.append(await roost.questions.get(ME, question.id, wait_s=60))

    roost.group.start_soon(wait)
    await roost.quiet()
    ground.clock.advance(7.0)  # not at a look of the keeper's: the alarm rings
    await roost.quiet()
    assert [each.state for each in heard] == [QuestionState.EXPIRED]


async def test_withdrawn_by_the_asker_or_by_its_death(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    first, second = await ask(roost, sandbox.id), await ask(roost, sandbox.id)
    for _ in range(2):
        await roost.questions.withdraw(ME, first.id)
    await roost.sandboxes.kill(ME, sandbox.id)
    ground.clock.advance(5)
    await roost.quiet()
    states = {each.id: each.state for each in (await roost.questions.list(ME)).items}
    assert states == {first.id: QuestionState.WITHDRAWN, second.id: QuestionState.WITHDRAWN}
    assert len(await ground.events(EventKind.QUESTION_WITHDRAWN)) == 2
    with pytest.raises(SandboxDead):
        await ask(roost, sandbox.id)


async def test_an_approval_offers_yes_and_no_and_takes_nothing_else(roost: Roost) -> None:
    me = await person(roost)
    question = await ask(roost, (await roost.sandbox()).id, kind=QuestionKind.APPROVAL)
    assert question.choices == ("approve", "deny")
    for choice, text in ((None, "fine"), ("maybe", None), (None, None)):
        with pytest.raises(Invalid):
            await roost.questions.answer(me, question.id, choice=choice, text=text)
    assert (await roost.questions.answer(me, question.id, choice="deny", text=None)).state is QuestionState.ANSWERED


@pytest.mark.parametrize(
    "request_",
    [
        AskQuestion(text=" "),
        AskQuestion(text="x" * 4001),
        AskQuestion(text="?", choices=("a", "a")),
        AskQuestion(text="?", choices=tuple(str(number) for number in range(21))),
        AskQuestion(text="?", choices=("",)),
        AskQuestion(text="?", ttl_s=0),
        AskQuestion(text="?", ttl_s=31 * 86400),
        AskQuestion(text="?", screenshot="no base64!"),
        AskQuestion(text="?", screenshot=base64.b64encode(b"<svg onload=alert(1)>").decode()),
        AskQuestion(text="?", screenshot=base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(1 << 20)).decode()),
    ],
    ids=lambda request: repr(request)[:60],
)
async def test_what_cannot_be_asked(roost: Roost, ground: Ground, request_: AskQuestion) -> None:
    sandbox = await roost.sandbox()
    with pytest.raises(Invalid):
        await roost.questions.ask(ME, sandbox.id, request_)
    assert not (await roost.questions.list(ME)).items


async def test_a_picture_comes_with_the_question_and_goes_with_it(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    question = await ask(roost, sandbox.id, screenshot=PNG)
    picture = await roost.questions.picture(question)
    assert picture is not None and (picture.media_type, picture.base64) == ("image/png", PNG)
    await roost.questions.withdraw(ME, question.id)
    still_open = await ask(roost, sandbox.id, ttl_s=30 * 86400)
    ground.clock.advance(KEPT_S - 1)
    await roost.quiet()
    assert await roost.questions.get(ME, question.id)
    ground.clock.advance(602)
    await roost.quiet()
    with pytest.raises(QuestionNotFound):
        await roost.questions.get(ME, question.id)
    async with ground.store.reading() as reader:
        assert await reader.get(Picture, question.id) is None
    assert still_open.id


async def test_other_teams_know_nothing_of_it(roost: Roost) -> None:
    question = await ask(roost, (await roost.sandbox()).id)
    with pytest.raises(QuestionNotFound):
        await roost.questions.get(STRANGER, question.id)
    with pytest.raises(QuestionNotFound):
        await roost.questions.answer(STRANGER, question.id, choice=None, text="ha")
    with pytest.raises(QuestionNotFound):
        await roost.questions.withdraw(STRANGER, question.id)
    assert not (await roost.questions.list(STRANGER)).items


async def test_lists_by_state_and_sandbox_in_pages(roost: Roost, ground: Ground) -> None:
    one, other = await roost.sandbox(), await roost.sandbox()
    asked = []
    for sandbox in (one, one, other):
        asked.append(await ask(roost, sandbox.id))
        ground.clock.advance(0.001)
    await roost.questions.withdraw(ME, asked[0].id)
    of_one = await roost.questions.list(ME, sandbox=one.id, state=QuestionState.OPEN)
    assert [each.id for each in of_one.items] == [asked[1].id]
    page = await roost.questions.list(ME, limit=2)
    rest = await roost.questions.list(ME, limit=2, cursor=page.next_cursor)
    assert [each.id for each in (*page.items, *rest.items)] == [each.id for each in reversed(asked)]


async def test_a_server_that_dies_before_it_woke_anybody_does_not_forget(ground: Ground) -> None:
    async with serving(ground) as roost:
        sandbox = await roost.sandbox()
        question = await ask(roost, sandbox.id)
        await roost.power.pause(ME, sandbox.id)
        await roost.flights.drain()
        me = await person(roost)

    async def answer(roost: Roost) -> None:
        await roost.questions.answer(me, question.id, choice=None, text="go on")

    await dies_at(ground, "before commit resuming", answer)
    assert (await ground.record(sandbox.id)).state is State.PAUSED
    async with serving(ground) as roost:
        await ground.until_state(sandbox.id, State.RUNNING)
        await roost.quiet()
        assert not (await roost.questions.get(ME, question.id)).wake_due
        await ground.check_invariants()


async def test_one_agent_cannot_bury_all_others(roost: Roost, ground: Ground) -> None:
    sandbox = await roost.sandbox()
    first = await ask(roost, sandbox.id)
    async with ground.store.transaction() as transaction:
        for number in range(99):
            copy = replace(first, id=first.id[:-4] + f"{number:04d}", revision=0)  # pyright: ignore[reportArgumentType]
            await transaction.put(copy, expect_revision=None)
    with pytest.raises(Exhausted, match="100 open questions"):
        await ask(roost, sandbox.id)
    with anyio.fail_after(PATIENCE_S):
        assert await roost.questions.count_open(ME) == 100
