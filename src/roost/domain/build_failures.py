"""What can go wrong while a template is built, beside a definition that makes no sense (`build_errors`)."""

from __future__ import annotations

from roost.domain.errors import Conflict, Exhausted, Invalid, NotFound


class StepFailed(Invalid):
    """A step could not be done: it is the step's fault, or that of the files it is given."""

    def __init__(self, why: str) -> None:
        super().__init__("build_step_failed", why, why=why)


class CommandFailed(Invalid):
    def __init__(self, exit_code: int, reason: str, output: str) -> None:
        ended = reason or f"it ended with exit code {exit_code}"
        said = f" The last it said:\n{output.strip()}" if output.strip() else " It said nothing."
        super().__init__("build_command_failed", f"{ended[0].upper()}{ended[1:]}.{said}", exit_code=exit_code, output=output)


class BuildNotFound(NotFound):
    def __init__(self, build: str) -> None:
        super().__init__(
            "build_not_found", f"There is no build {build!r}. `roost template builds` lists the ones there are.", build=build
        )


class BuildEnded(Conflict):
    def __init__(self, build: str, state: str) -> None:
        super().__init__("build_ended", f"Build {build} is {state} already.", build=build, state=state)


class UploadNotFound(NotFound):
    def __init__(self, digest: str) -> None:
        super().__init__(
            "upload_not_found",
            f"There are no files with the digest {digest[:64]}. Upload them first (`PUT /v1/uploads/DIGEST`): those that no"
            " build needs are deleted after a while.",
            digest=digest[:64],
        )


class NothingToCopy(NotFound):
    def __init__(self, source: str) -> None:
        super().__init__(
            "nothing_to_copy",
            f"There is no {source!r} among the files of this build. Check the path, and what .dockerignore leaves out.",
            source=source,
        )


class UploadDiffers(Invalid):
    def __init__(self, asked: str, found: str) -> None:
        super().__init__(
            "upload_differs",
            f"What arrived has the digest {found}, not {asked}."
            " It was changed on the way, or while it was packed. Send it again.",
            asked=asked,
            found=found,
        )


class UploadTooLarge(Exhausted):
    def __init__(self, limit_bytes: int) -> None:
        super().__init__(
            "upload_too_large",
            f"The files of a build may have {limit_bytes >> 20} MB at most (`upload_limit_mb`)."
            " Leave out what the build does not need: `.dockerignore`.",
            limit_bytes=limit_bytes,
        )


class UploadBroken(Invalid):
    def __init__(self, why: str) -> None:
        super().__init__(
            "upload_broken", f"What arrived is no archive that can be read: {why}. Send a tar, or one with gzip.", why=why
        )


class TooManyBuilds(Exhausted):
    def __init__(self, limit: int) -> None:
        super().__init__(
            "too_many_builds",
            f"{limit} builds of your team are waiting already. Wait for them, or cancel some: `roost template builds`.",
            limit=limit,
        )


class SecretsGone(Conflict):
    def __init__(self) -> None:
        super().__init__(
            "secrets_gone",
            "The server was started again while this build ran, and secrets are kept nowhere. Build it again, with its secrets:"
            " it goes on behind the last step that was done.",
        )


class TemplateNameTaken(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(
            "template_name_taken", f"{name!r} is the name of a template that comes with Roost. Choose another.", name=name
        )


class TemplateInUse(Conflict):
    def __init__(self, template: str, user: str) -> None:
        super().__init__(
            "template_in_use",
            f"Template {template} is just being used by {user}. Ask again in a moment.",
            template=template,
            user=user,
        )
