"""What a node does while templates are built: commands and files inside builders, and the files that came for a build."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from roost.domain.ids import SandboxId
from roost.domain.node_builds import CommandOrder, Exited, FileOrder, Output, Selection, UploadFacts


class NodeBuilds(Protocol):
    """Builders are sandboxes without a token. None of their orders is repeated by itself: whoever builds begins the step anew,
    from the layer before it. All raise SandboxLost and GuestUnreachable; those that write inside also StepFailed, when the files
    cannot be put where they belong."""

    async def prepare(self, sandbox: SandboxId, incarnation: int) -> None:
        """All that is written inside from now on is on the disk, /tmp too, and nothing of the image runs. May be called twice."""
        ...

    def run(self, order: CommandOrder) -> AsyncIterator[Output | Exited]:
        """What the command says as it says it, and last how it ended: at its time limit, with all that it started. A reader that
        goes away leaves it running. Files that are there while it runs only are gone when it has ended."""
        ...

    async def settle(self, sandbox: SandboxId, incarnation: int) -> None:
        """No process is left inside but the agent. May be called twice."""
        ...

    async def write(self, order: FileOrder, name: str, content: str | None) -> None:
        """A file of that name and content; None: a directory, which is left as it is where there is one. May be called twice."""
        ...

    async def copy(self, order: FileOrder, upload: str, selection: Selection) -> int:
        """Files of an upload. How many. Raises NotFound: no such upload, or nothing in it that is asked for."""
        ...

    async def transfer(self, order: FileOrder, source: SandboxId, selection: Selection) -> int:
        """Files of another builder, with the owners they have there unless the order says another. How many. Raises StepFailed
        when it has none of them."""
        ...

    async def digest_files(self, upload: str, selection: Selection) -> str:
        """What tells two selections apart: names, kinds, modes and contents of the files, not their times. Raises NotFound."""
        ...

    async def append_upload(self, session: str, offset: int, content: bytes) -> None:
        """The next piece of a file that is being uploaded. Raises Conflict when the pieces before are not there, NodeFull."""
        ...

    async def finish_upload(self, session: str, digest: str | None) -> UploadFacts | None:
        """The upload is there under its digest; None gives it up. Raises Invalid, and nothing of it is left: its content has
        another digest, or is no archive."""
        ...

    async def delete_upload(self, digest: str) -> None:
        """May be called twice."""
        ...
