"""The guests' own API: what a program inside a sandbox may ask of the server, at `http://169.254.7.1/`, without any key.

The sandbox is known by the wire that the request came by. So there is nothing here that names a sandbox, and nothing that a
stranger could do with what a program inside gets to know.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, FastAPI, Query, Request
from pydantic import Field

from roost.api.http import BodyLimit, handle_errors
from roost.api.services import Services
from roost.api.v1.models import Given
from roost.api.v1.questions import AskBody, Id, QuestionModel, WaitQuery, question
from roost.control.people.questions import AskQuestion
from roost.domain.access import Principal, guest_of
from roost.domain.errors import Unavailable
from roost.domain.ids import SandboxId
from roost.domain.sandbox import Sandbox

Who = Callable[[str], Awaitable[SandboxId | None]]
"""The sandbox at an address. Raises Unavailable when nobody can say."""


class Self(Given):
    id: Annotated[str, Field(description="Its own id.")]
    name: str | None
    template: str


async def _guest(request: Request) -> Sandbox:
    """Raises Unavailable for a guest that does not stand for a sandbox yet."""
    state = request.app.state
    sandbox = await state.who(request.client.host) if request.client is not None else None
    if sandbox is None:
        raise Unavailable("nobody_yet", "This machine does not stand for a sandbox yet. Ask again in a second.")
    return await state.services.sandboxes.know(sandbox)


def _principal(guest: Sandbox) -> Principal:
    return guest_of(guest.team, guest.id, guest.name)


Guest = Annotated[Sandbox, Depends(_guest)]


def create_guest_app(services: Services, who: Who) -> FastAPI:
    app = FastAPI(title="Roost, from inside", version=services.about.version, docs_url=None, redoc_url=None)
    app.state.services, app.state.who = services, who
    handle_errors(app)
    app.add_middleware(BodyLimit)

    @app.get("/", operation_id="whoAmI", summary="Which sandbox this is")
    async def who_am_i(guest: Guest) -> Self:
        return Self(id=guest.id, name=guest.name, template=guest.template)

    @app.post("/questions", status_code=201, operation_id="ask", summary="Ask a person")
    async def ask(guest: Guest, body: AskBody) -> QuestionModel:
        """The sandbox may sleep while it waits: the answer wakes it."""
        request = AskQuestion(
            text=body.text, kind=body.kind, choices=tuple(body.choices), ttl_s=body.ttl_s, screenshot=body.screenshot
        )
        return question(await services.questions.ask(_principal(guest), guest.id, request))

    @app.get("/questions/{id}", operation_id="waitForAnswer", summary="A question of its own, or wait for its end")
    async def wait(guest: Guest, id: Id, query: Annotated[WaitQuery, Query()]) -> QuestionModel:
        return question(await services.questions.get(_principal(guest), id, wait_s=query.wait_s))

    return app
