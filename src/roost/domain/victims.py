"""Who has to end when a sandbox outgrows its limits. Facts in, victims out: nothing is killed here.

Blame falls on a *family*: processes that run the same program, for the same user, in one process group (what one command of a
shell started), or in any group if they scattered. A single hog is a family of one; sixty workers or a fork bomb are one family,
however small each of them is, and what else runs beside them is left alone. PID 1, the agent, is never a victim.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

AGENT_PID = 1
_CALM_SHARE = 0.75  # of the limit on tasks: so few are to be left, or the next breath would be one too many


@dataclass(frozen=True, slots=True)
class GuestProcess:
    """A process as the guest sees it."""

    pid: int
    command: str
    memory_bytes: int  # pages that it shares with others included
    group: int = 0  # its process group
    user: int = 0
    program: str = ""  # its short name
    threads: int = 1


@dataclass(frozen=True, slots=True)
class MemoryExcess:
    """How much memory has to be given back."""

    missing_bytes: int
    guest_bytes: int  # what the processes hold together, each shared page counted once
    spare_bytes: int = 0  # so much more is worth the end of another one of the same family, but of nobody else


Weight = Callable[[GuestProcess], int]


def over_memory(
    processes: Collection[GuestProcess],
    *,
    need: MemoryExcess,
    condemned: Collection[int] = (),
    again: bool = False,
) -> tuple[GuestProcess, ...]:
    """Those whose end gives back what is needed, or all that there are. `condemned`: those that were killed already and have not
    ended yet; what they hold is on its way. `again`: shortly after the last times, so that what caused it is still at work: then
    the worst family goes as a whole."""
    share = _shares(processes, need.guest_bytes)
    missing = need.missing_bytes - sum(share(each) for each in processes if each.pid in condemned)
    mortal = [each for each in processes if each.pid != AGENT_PID and each.pid not in condemned]
    if missing <= 0 or not mortal:
        return ()
    families = _families(mortal, share)
    largest = max(mortal, key=_by(share))
    if share(largest) >= missing and 2 * share(largest) >= _total(families[0], share):
        return (largest,)
    victims: list[GuestProcess] = []
    for family in families:
        for each in family:
            if missing + need.spare_bytes <= 0 and not again:
                break
            victims.append(each)
            missing -= share(each)
        if missing <= 0:
            break
    return tuple(victims)


def most_to_regain(processes: Collection[GuestProcess]) -> int:
    """What the end of all that may end gives back at most, in bytes."""
    return sum(each.memory_bytes for each in processes if each.pid != AGENT_PID)


def over_tasks(processes: Collection[GuestProcess], *, limit: int) -> tuple[GuestProcess, ...]:
    """Nobody while the guest has no more tasks than the limit. Else whole families, the most numerous first, until it has clearly
    fewer: of a fork bomb nobody may be left, since it needs one process to go on."""
    left = _total(processes, _threads)
    victims: list[GuestProcess] = []
    if left <= limit:
        return ()
    for family in _families([each for each in processes if each.pid != AGENT_PID], _threads):
        if left <= limit * _CALM_SHARE:
            break
        victims += family
        left -= _total(family, _threads)
    return tuple(victims)


def _shares(processes: Collection[GuestProcess], guest_bytes: int) -> Weight:
    """What a process's end gives back. Pages that a family shares are counted with each of its members: a thousand forks would
    seem to hold many times of what there is, and the death of ten to be enough. One without kin shares little."""
    told = _total(processes, _memory)
    kin = {each.pid for family in _families(processes, _memory) if len(family) > 1 for each in family}
    if told <= guest_bytes:
        return _memory
    return lambda process: process.memory_bytes * guest_bytes // told if process.pid in kin else process.memory_bytes


def _families(processes: Iterable[GuestProcess], weight: Weight) -> list[list[GuestProcess]]:
    """The heaviest family first, its heaviest member first."""
    kin: defaultdict[tuple[int, str], list[GuestProcess]] = defaultdict(list)
    for each in processes:
        kin[each.user, each.program or each.command].append(each)
    families: list[list[GuestProcess]] = []
    for alike in kin.values():
        groups: defaultdict[int, list[GuestProcess]] = defaultdict(list)
        for each in alike:
            groups[each.group].append(each)
        heaviest = max(_total(group, weight) for group in groups.values())
        families += groups.values() if 2 * heaviest >= _total(alike, weight) else [alike]
    ordered = [sorted(family, key=_by(weight), reverse=True) for family in families]
    return sorted(ordered, key=lambda family: (_total(family, weight), family[0].pid), reverse=True)


def _by(weight: Weight) -> Callable[[GuestProcess], tuple[int, int]]:
    """Of two that weigh the same the younger is the heavier one: it came when there was no room."""
    return lambda process: (weight(process), process.pid)


def _total(processes: Iterable[GuestProcess], weight: Weight) -> int:
    return sum(weight(each) for each in processes)


def _threads(process: GuestProcess) -> int:
    return process.threads


def _memory(process: GuestProcess) -> int:
    return process.memory_bytes
