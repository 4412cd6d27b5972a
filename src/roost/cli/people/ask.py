"""`roost ask`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.progress import waiting
from roost.cli.rendering import note, say, say_json
from roost.cli.values import seconds

if TYPE_CHECKING:
    from roost.client.questions import QuestionRecord

DENIED, EXPIRED, WITHDRAWN = 1, 2, 3


def ask(
    sandbox: SandboxRef,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The question.", show_default=False)],
    choice: Annotated[list[str] | None, typer.Option("--choice", "-c", help="What may be answered (repeatable).")] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Ask for a yes or a no.")] = False,
    ttl: Annotated[str, typer.Option("--ttl", metavar="TIME", help="How long it may be answered: 15m, 2h, 1d.")] = "1d",
    screenshot: Annotated[bool, typer.Option("--screenshot", help="Show the sandbox's screen with it.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Print the question's id and do not wait.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a person on behalf of a sandbox, wait, and print the answer. The sandbox may sleep meanwhile; the answer wakes it.

    Exit codes: 0 answered, or approved; 1 denied (an approval answered with anything but its first choice); 2 nobody
    answered in time; 3 withdrawn."""
    from roost.client import questions

    with connect() as roost:
        request: dict[str, Any] = {"choices": choice or (), "approval": approve, "ttl_s": seconds(ttl) or 0.0}
        asked = roost.get(sandbox).ask(text, wait=False, screenshot=screenshot, **request)
        if no_wait:
            say_json(asked.raw) if as_json else say(asked.id)
            return
        try:
            with waiting(f"Waiting for an answer to {asked.id}"):
                while (closed := roost.run(questions.get(asked.id, wait_s=questions.WAIT_S))).state == questions.OPEN:
                    pass
        except KeyboardInterrupt:
            note(f"\nThe question stays open: `roost answer {asked.id}` answers it.")
            raise
    if as_json:
        say_json({name: value for name, value in closed.raw.items() if name != "screenshot"})
    raise typer.Exit(_tell(closed, as_json=as_json))


def _tell(question: QuestionRecord, *, as_json: bool) -> int:
    if question.state != "answered":
        note("Nobody answered in time." if question.state == "expired" else "The question was withdrawn.")
        return EXPIRED if question.state == "expired" else WITHDRAWN
    if not as_json:
        for part in (question.choice, question.answer):
            if part:
                say(part)
    return DENIED if question.kind == "approval" and not question.is_agreed else 0
