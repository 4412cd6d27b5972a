"""Which ports the sandbox's own connections leave from: others after every sleep.

Who closes a TCP connection first remembers its two ports for a minute, in which a new connection between the same ports is
taken only if its sequence numbers go on from the old ones. The engine makes new ones at random when it restores, and starts
that minute again: one connection in two from a remembered port is then ignored for a minute. So the image wakes with a
range of ports that nobody remembers.
"""

from __future__ import annotations

FIRST, LAST = 16384, 65535
PARTS = 8
ENGINES_OWN = (16000, 65535)
_SIZE = (LAST + 1 - FIRST) // PARTS


def next_range(current: tuple[int, int]) -> tuple[int, int] | None:
    """The range after this one. None when the range is neither the engine's nor one of these: it is its owner's choice."""
    first, last = current
    if current == ENGINES_OWN:
        part = 0
    elif (first - FIRST) % _SIZE == 0 and FIRST <= first <= last == first + _SIZE - 1 <= LAST:
        part = ((first - FIRST) // _SIZE + 1) % PARTS
    else:
        return None
    start = FIRST + part * _SIZE
    return start, start + _SIZE - 1
