"""What can be wrong with a definition: each names the line, the text and a way out."""

from __future__ import annotations

from collections.abc import Sequence

from roost.domain.build import Place
from roost.domain.errors import Conflict, Exhausted, Invalid, NotFound, Unsupported


def _at(place: Place) -> str:
    first, _, rest = place.text.strip().partition("\n")
    shown = first if len(first) <= 120 and not rest else f"{first[:120].rstrip()} …"
    return f"Line {place.line}, `{shown}`"


class StepInvalid(Invalid):
    """The step cannot mean anything."""

    def __init__(self, place: Place, why: str) -> None:
        super().__init__("build_step_invalid", f"{_at(place)}: {why}", line=place.line, text=place.text, why=why)


class StepUnsupported(Unsupported):
    """The step means something to Docker that Roost does not do."""

    def __init__(self, place: Place, what: str, instead: str) -> None:
        super().__init__(
            "build_step_unsupported",
            f"{_at(place)}: {what} is not supported. {instead}",
            line=place.line,
            text=place.text,
            what=what,
        )


class TargetNotFound(NotFound):
    def __init__(self, target: str, names: Sequence[str]) -> None:
        there = f"Its stages are {', '.join(names)}" if names else "None of its stages has a name: FROM image AS name gives one"
        super().__init__("build_target_not_found", f"There is no stage {target!r} in the Dockerfile. {there}.", target=target)


class SourceNotFound(StepInvalid):
    def __init__(self, place: Place, source: str, *, is_ignored: bool) -> None:
        why = "is left out by .dockerignore" if is_ignored else "is not in the context"
        super().__init__(place, f"{source} {why}. Paths are relative to the context, and nothing above it can be copied.")


class IgnoreFileInvalid(Invalid):
    def __init__(self, file: str, why: str) -> None:
        super().__init__("ignore_file_invalid", f"{file} cannot be read: {why}. Correct the pattern.", file=file, why=why)


class ContextTooLarge(Exhausted):
    def __init__(self, size_bytes: int, files: int, largest_bytes: int, most_files: int, folders: Sequence[str]) -> None:
        super().__init__(
            "context_too_large",
            f"The build takes {files} files of {size_bytes / 1024**2:.0f} MiB from its context; {most_files} files and"
            f" {largest_bytes / 1024**2:.0f} MiB are the limit. Most is in {', '.join(folders) or 'many directories'}:"
            " leave out what is not needed with .dockerignore.",
            size_bytes=size_bytes,
            files=files,
        )


class ContextChanged(Conflict):
    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            "context_changed",
            f"{path} could not be taken from the context: {why}. Build again when nothing writes there, or leave it out with"
            " .dockerignore.",
            path=path,
            why=why,
        )
