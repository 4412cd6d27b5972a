"""`roost answer`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.rendering import say, say_json


def answer(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="Its id: `roost questions`.", show_default=False)],
    reply: Annotated[
        str | None, typer.Argument(metavar="[ANSWER]", help="One of its choices, or a text.", show_default=False)
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="A text beside the choice.")] = None,
    as_json: AsJson = False,
) -> None:
    """Answer what an agent asks. Without an answer, show the question."""
    from roost.client import questions

    with connect() as roost:
        asked = roost.run(questions.get(question))
        if reply is not None or text is not None:
            is_choice = reply in asked.choices
            words = [part for part in (None if is_choice else reply, text) if part]
            call = questions.answer(question, choice=reply if is_choice else None, text="\n".join(words) or None)
            asked = roost.run(call)
    if as_json:
        say_json({name: value for name, value in asked.raw.items() if name != "screenshot"})
        return
    say(asked.text)
    if asked.state == questions.OPEN:
        say(f"Answer with: {' | '.join(asked.choices) or 'a text'}")
    else:
        say(f"{asked.state}: {' '.join(part for part in (asked.choice, asked.answer) if part)}".rstrip(": "))
