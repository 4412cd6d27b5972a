"""`roost questions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.rendering import age, note, say_json, say_table

if TYPE_CHECKING:
    from roost.client.questions import QuestionRecord

_WIDEST = 60


def questions(
    sandbox: Annotated[str | None, typer.Argument(metavar="[SANDBOX]", help="Only those of it.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="Those that are closed as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what agents ask people, newest first."""
    with connect() as roost:
        found = list(roost.questions(sandbox=sandbox, state=None if every else "open"))
    if as_json:
        say_json([question.raw for question in found])
    elif found:
        say_table(("ID", "SANDBOX", "STATE", "AGE", "QUESTION", "ANSWERS"), (_row(question) for question in found))
    else:
        note("Nobody asks anything.")


def _row(question: QuestionRecord) -> tuple[str, ...]:
    text = " ".join(question.text.split())
    short = text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
    told = question.choice or question.answer or " / ".join(question.choices) or "(text)"
    return (question.id, question.sandbox_name or question.sandbox, question.state, age(question.created_at), short, told)
