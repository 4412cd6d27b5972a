"""Takes secrets out of what a host answers: each byte of each occurrence becomes `*`, so that no length changes.

An occurrence may be cut anywhere by the pieces that an answer comes in. So a tail that could be the beginning of a secret is
held until more has come. A stream on which somebody waits for that tail (a WebSocket) would stand still, so a short
beginning is let go after a while; what completes it is still recognised. A longer one never is: of a secret, however an
answer is cut or cut off, less than half is told.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection

MARK = b"*"


class Scrubber:
    """Of one stream."""

    def __init__(self, secrets: Collection[bytes]) -> None:
        self._secrets = tuple(sorted(secrets, key=len))
        self._held = b""  # it could be the beginning of a secret
        self._clean = b""  # the same bytes as they are to be told: some may belong to a secret that is whole
        self._told = 0  # how many of them were let go

    def feed(self, data: bytes) -> bytes:
        """What may be passed on of it, and of what was held."""
        text, clean = self._held + data, bytearray(self._clean + data)
        for secret in self._secrets:
            at = text.find(secret)
            while at >= 0:
                clean[at : at + len(secret)] = MARK * len(secret)
                at = text.find(secret, at + 1)
        keep = len(text) - max((_begun(text, secret) for secret in self._secrets), default=0)
        passed = bytes(clean[self._told : keep])
        self._told = max(0, self._told - keep)
        self._held, self._clean = text[keep:], bytes(clean[keep:])
        return passed

    @property
    def has_secrets(self) -> bool:
        return bool(self._secrets)

    @property
    def can_release(self) -> bool:
        """Whether `release` would give something."""
        return self._told < len(self._held) and not self._is_telling()

    def release(self) -> bytes:
        """What is held, if it is too little to tell much. To be asked for when nothing comes for a while."""
        if not self.can_release:
            return b""
        passed, self._told = self._clean[self._told :], len(self._held)
        return passed

    def finish(self) -> bytes:
        """The rest, when no more comes. Half a secret is hidden like a whole one."""
        clean = MARK * len(self._held) if self._is_telling() else self._clean
        passed = clean[self._told :]
        self._held, self._clean, self._told = b"", b"", 0
        return passed

    def scrub(self, text: bytes) -> bytes:
        """A text that is whole. What is held of the stream has nothing to do with it."""
        other = Scrubber(self._secrets)
        return other.feed(text) + other.finish()

    def _is_telling(self) -> bool:
        return any(2 * _begun(self._held, secret) >= len(secret) for secret in self._secrets)


def _begun(text: bytes, secret: bytes) -> int:
    """How many bytes at the end of the text are the beginning of the secret, but not all of it; the most there can be."""
    at = text.find(secret[:1], max(0, len(text) - len(secret) + 1))
    while at >= 0:
        if secret.startswith(text[at:]):
            return len(text) - at
        at = text.find(secret[:1], at + 1)
    return 0
