"""The text of a Dockerfile as a list of instructions, by Docker's own parser. What they mean is for others to say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from roost.domain.build import Place
from roost.domain.build_errors import StepInvalid, StepUnsupported
from roost.domain.errors import Unsupported
from roost.domain.expansion import BadWord, expand_words

LONGEST_BYTES = 1024 * 1024

_DIRECTIVE = re.compile(r"#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.+?)\s*")
_DIRECTIVES = ("syntax", "escape", "check")
_SYNTAX = re.compile(r"(?:docker\.io/)?docker/dockerfile(?:-upstream)?(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?")
_DOCUMENT = re.compile(r"(?P<descriptor>\d*)<<(?P<dash>-?)\s*(?P<word>[^<]*)")


@dataclass(frozen=True, slots=True)
class Document:
    """A heredoc."""

    name: str
    content: str
    expands: bool = True  # no part of its name was quoted


@dataclass(frozen=True, slots=True)
class Instruction:
    name: str  # in capitals
    words: tuple[str, ...]
    place: Place
    flags: tuple[str, ...] = ()
    is_json: bool = False
    documents: tuple[Document, ...] = ()  # their leading tabs are still there

    def document(self, word: str) -> Document | None:
        """The heredoc that a word stands for: `<<EOF`, `<<-"EOF"`."""
        found = _DOCUMENT.fullmatch(word)
        if not found:
            return None
        written = found["word"]
        try:
            names = expand_words(written, {})
        except BadWord:
            return None
        for document in self.documents:
            if names == (document.name,):
                content = re.sub(r"(?m)^\t+", "", document.content) if found["dash"] else document.content
                return Document(document.name, content, not any(quote in written for quote in "'\""))
        return None


@dataclass(frozen=True, slots=True)
class Reading:
    instructions: tuple[Instruction, ...]
    escape: str = "\\"
    notes: tuple[str, ...] = ()


def read(text: str) -> Reading:
    """Raises StepInvalid, StepUnsupported."""
    if len(text.encode("utf-8", "surrogateescape")) > LONGEST_BYTES:
        raise StepInvalid(
            Place(1, ""), f"the file is larger than {LONGEST_BYTES // 1024} KiB. Copy large files from the context."
        )
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise StepInvalid(Place(line, ""), "the file holds a null character: it is no text.")
    text = text.removeprefix("\ufeff")
    escape, notes = _directives(text)
    return Reading(tuple(_instruction(command) for command in _parse(text)), escape, notes)


def _parser() -> Any:
    try:
        import dockerfile  # here, since Go's runtime comes with it: only who parses pays for it
    except ImportError as error:
        raise Unsupported(
            "dockerfile_parser_missing",
            "The parser of Dockerfiles is not installed. `pip install dockerfile` brings it; it needs Go where there is no wheel"
            " for the machine.",
        ) from error
    return dockerfile


def _parse(text: str) -> Sequence[Any]:
    parser = _parser()
    try:
        return parser.parse_string(text)
    except parser.GoParseError as error:
        if not text.strip() or str(error) == "file with no instructions":
            raise StepInvalid(Place(1, ""), "the file has no instruction. Begin with FROM.") from error
        lines = text.split("\n")
        number = _first_failing(parser, lines, str(error))
        place = Place(number, lines[number - 1].strip())
        raise StepInvalid(place, f"{_plain(str(error))}.") from error


def _first_failing(parser: Any, lines: list[str], message: str) -> int:
    """Docker's parser does not say where it stopped: the error begins with the line without which it is another one, or none."""
    for count in range(len(lines) - 1, 0, -1):
        try:
            parser.parse_string("\n".join(lines[:count]))
        except parser.GoParseError as error:
            if str(error) == message:
                continue
        return count + 1
    return 1


def _plain(message: str) -> str:
    if message == "unterminated heredoc":
        return "the heredoc has no end. Its name must stand alone on a line below"
    return message.removeprefix("Syntax error - ").rstrip(".")


def _instruction(command: Any) -> Instruction:
    text = command.original.strip().partition("\n")[0]
    name = command.cmd.upper()
    return Instruction(
        name=name,
        words=tuple(command.value),
        place=Place(command.start_line, text),
        flags=tuple(command.flags),
        is_json=bool(command.json),
        documents=tuple(Document(each.name, each.content) for each in command.heredocs),
    )


def _directives(text: str) -> tuple[str, tuple[str, ...]]:
    """The escape character, and what has no effect. Directives stand on the first lines, before anything else."""
    seen: dict[str, str] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if number == 1 and line.startswith("#!"):
            continue
        found = _DIRECTIVE.fullmatch(line.rstrip("\r"))
        name = found[1].lower() if found else ""
        if not found or name not in _DIRECTIVES:
            break
        place = Place(number, line.strip())
        if name in seen:
            raise StepInvalid(place, f"there is a second `# {name}=`.")
        seen[name] = found[2]
        if name == "syntax" and not _SYNTAX.fullmatch(found[2].split(" ")[0]):
            raise StepUnsupported(place, f"the language of {found[2]!r}", "Roost reads Docker's own: docker/dockerfile:1.")
        if name == "escape" and found[2] not in ("\\", "`"):
            raise StepInvalid(place, "the escape character is \\ or `.")
    notes = ("`# check=` has no effect: Docker's lint rules are not run.",) if "check" in seen else ()
    return seen.get("escape", "\\"), notes
