"""What a caller's words refer to, as E2B's clients see it."""

from __future__ import annotations

from roost.api.access import Caller, Use
from roost.api.e2b import rendering
from roost.domain.errors import SandboxNotFound
from roost.domain.sandbox import Sandbox


async def living(caller: Caller, use: Use, ref: str) -> Sandbox:
    """E2B's clients know no dead sandboxes. Raises SandboxNotFound."""
    record = await use.sandboxes.get(caller, ref)
    if record.state not in rendering.SHOWN_AS:
        raise SandboxNotFound(ref)
    return record
