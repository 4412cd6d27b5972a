"""Questions to people: ask, wait for the answer, answer, withdraw."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from roost.api.access import Caller, KeyedRoute, Use
from roost.api.v1.models import Asked, Given, Seconds, Taken, Text, Timestamp, Whole
from roost.api.v1.rendering import timestamp
from roost.api.v1.responses import errors
from roost.api.v1.sandboxes import Ref
from roost.control.people.questions import AskQuestion
from roost.domain.question import Picture, Question, QuestionKind, QuestionState

router = APIRouter(prefix="/v1", tags=["questions"], route_class=KeyedRoute)

Id = Annotated[str, Path(description="A question's id.")]


class AskBody(Taken):
    """What to ask. An approval without choices offers `approve` and `deny`."""

    kind: Annotated[QuestionKind, Field(strict=False)] = QuestionKind.QUESTION
    text: Text
    choices: Annotated[list[Text], Field(default_factory=list, description="What may be answered, 20 at most; none: free text.")]
    ttl_s: Annotated[Seconds, Field(description="How long it may be answered; 30 days at most.")] = 86400.0
    screenshot: Annotated[Text | None, Field(description="Base64 of a png, jpeg or webp of 1 MB at most.")] = None


class AnswerBody(Taken):
    """A choice, a text, or both."""

    choice: Text | None = None
    text: Text | None = None


class AnswerModel(Given):
    choice: str | None
    text: str | None
    by: Annotated[str, Field(description="The name of the key that answered.")]
    at: Timestamp


class QuestionModel(Given):
    id: Annotated[str, Field(examples=["q0h3mn29fk4ttq0xv2c71"])]
    sandbox: str
    sandbox_name: Annotated[str | None, Field(description="When it was asked.")]
    kind: QuestionKind
    text: str
    choices: list[str]
    state: QuestionState
    created_at: Timestamp
    expires_at: Timestamp
    answer: AnswerModel | None
    has_screenshot: bool


class QuestionDetail(QuestionModel):
    screenshot: Annotated[str | None, Field(description="A data: URL.")]


class QuestionPage(Given):
    questions: list[QuestionModel]
    next_cursor: str | None


class QuestionQuery(Asked):
    state: Annotated[QuestionState | None, Field(description="Left out: all.")] = None
    sandbox: Annotated[Text | None, Field(description="Only those of it, by id or name.")] = None
    limit: Whole = 100
    cursor: Text | None = None


class WaitQuery(Asked):
    wait_s: Annotated[Seconds, Field(description="Waits so long for its end, 300 at most.")] = 0.0


@router.post(
    "/sandboxes/{ref}/questions",
    status_code=201,
    operation_id="askQuestion",
    summary="Ask a person",
    responses=errors(404, 410, 413, 429),
)
async def ask(caller: Caller, use: Use, ref: Ref, body: AskBody) -> QuestionModel:
    """The sandbox may sleep while it waits: the answer wakes it."""
    request = AskQuestion(
        text=body.text, kind=body.kind, choices=tuple(body.choices), ttl_s=body.ttl_s, screenshot=body.screenshot
    )
    return question(await use.questions.ask(caller, ref, request))


@router.get("/questions", operation_id="listQuestions", summary="List questions, newest first", responses=errors(404))
async def list_(caller: Caller, use: Use, query: Annotated[QuestionQuery, Query()]) -> QuestionPage:
    page = await use.questions.list(caller, state=query.state, sandbox=query.sandbox, limit=query.limit, cursor=query.cursor)
    return QuestionPage(questions=[question(each) for each in page.items], next_cursor=page.next_cursor)


@router.get("/questions/{id}", operation_id="getQuestion", summary="Get a question, or wait for its end", responses=errors(404))
async def get(caller: Caller, use: Use, id: Id, query: Annotated[WaitQuery, Query()]) -> QuestionDetail:
    """With `wait_s` the answer comes when the question is no longer open, or when that time is over."""
    found = await use.questions.get(caller, id, wait_s=query.wait_s)
    picture = await use.questions.picture(found)
    return QuestionDetail(**question(found).model_dump(), screenshot=_data_url(picture))


@router.post("/questions/{id}/answer", operation_id="answerQuestion", summary="Answer it", responses=errors(404, 409, 413))
async def answer(caller: Caller, use: Use, id: Id, body: AnswerBody) -> QuestionModel:
    """A sandbox that sleeps is woken for it."""
    return question(await use.questions.answer(caller, id, choice=body.choice, text=body.text))


@router.delete("/questions/{id}", status_code=204, operation_id="withdrawQuestion", summary="Withdraw it", responses=errors(404))
async def withdraw(caller: Caller, use: Use, id: Id) -> Response:
    """Nobody need answer any more. One that is closed stays as it is."""
    await use.questions.withdraw(caller, id)
    return Response(status_code=204)


def question(record: Question) -> QuestionModel:
    answer = record.answer
    return QuestionModel(
        id=record.id,
        sandbox=record.sandbox,
        sandbox_name=record.sandbox_name,
        kind=record.kind,
        text=record.text,
        choices=list(record.choices),
        state=record.state,
        created_at=timestamp(record.created_at),
        expires_at=timestamp(record.expires_at),
        answer=AnswerModel(choice=answer.choice, text=answer.text, by=answer.by, at=timestamp(answer.at)) if answer else None,
        has_screenshot=record.has_screenshot,
    )


def _data_url(picture: Picture | None) -> str | None:
    return None if picture is None else f"data:{picture.media_type};base64,{picture.base64}"
