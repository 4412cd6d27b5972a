"""Verbs that end in somebody else's command line: `roost exec NAME ls -l` and `roost exec NAME -- ls -l` mean the
same.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class WordsCommand(TyperCommand):
    """Our options end at the first word after the sandbox that is none of them; from there on every word is the
    command's."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, mark_words(args, self._options_with_values()))

    def _options_with_values(self) -> frozenset[str]:
        return frozenset(
            name
            for parameter in self.params
            if not getattr(parameter, "is_flag", True)
            for name in (*parameter.opts, *parameter.secondary_opts)
        )


def mark_words(arguments: list[str], options_with_values: frozenset[str]) -> list[str]:
    """The same arguments with `--` before the second word that is neither an option nor an option's value."""
    words = 0
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        if argument == "--":
            return arguments
        if argument.startswith("-") and argument != "-":
            position += 2 if argument in options_with_values else 1
            continue
        words += 1
        if words == 2:
            return [*arguments[:position], "--", *arguments[position:]]
        position += 1
    return arguments
