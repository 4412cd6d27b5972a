"""What is true of a home whenever its server has come to rest: everything on the machine belongs to a record, and the reverse."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from roost.domain.lifecycle import MOVING
from roost.node.network.spares import KEPT
from tests.real.server import Server

NETNS = Path("/run/netns")


def check_sound(server: Server) -> None:
    """Raises AssertionError naming what is left over or missing."""
    states = {record.id: record for record in server.roost.sandboxes() if record.state != "dead"}
    assert not [record for record in states.values() if record.state in MOVING]
    running = {id for id, record in states.items() if record.state == "running"}
    journals = _journals(server.volume / "sandboxes")
    assert running <= journals.keys() <= states.keys(), "a directory without a living sandbox, or the reverse"
    dozing = {id for id, journal in journals.items() if journal["phase"] == "frozen" and states[id].state == "paused"}
    assert may_doze(server) or not dozing, "a process is kept of one that is to sleep"
    for id, journal in journals.items():
        awake = id in running
        assert journal["phase"] == ("running" if awake else "frozen" if id in dozing else "asleep")
        assert (server.volume / "sandboxes" / id / "root").exists() == (awake or id in dozing), "only a process has a live disk"
        assert not awake or journal["incarnation"] == states[id].incarnation
        assert id not in dozing or journal["snapshot"] == states[id].snapshot, "it dozes at another moment than it sleeps in"
    assert not list((server.volume / "gone").iterdir()), "what is on its way out gets there"
    assert _journals(server.volume / "pool") == {}, "these tests run without a pool"
    assert _containers(server) == {journals[id]["container"] for id in running | dozing}
    assert _processes(server) == {journals[id]["container"] for id in running | dozing}
    _check_snapshots(server, {record.snapshot for record in states.values() if record.state == "paused"})
    _check_slots(server, [journal["slot"] for journal in journals.values()])


def may_doze(server: Server) -> bool:
    """Whether its sleepers may doze."""
    return bool(server.settings.get("doze_memory_share"))


def _journals(folder: Path) -> dict[str, dict[str, Any]]:
    return {home.name: _journal(home) for home in folder.iterdir()}


def _journal(home: Path) -> dict[str, Any]:
    """One that cannot be read is being taken away, or should be."""
    try:
        return json.loads((home / "journal.json").read_text())
    except (OSError, ValueError) as error:
        raise AssertionError(f"{home} has no journal: {error}") from error


def _containers(server: Server) -> set[str]:
    """What the engine knows of."""
    return {path.name.partition("_")[0] for path in (server.run_dir / "runsc").glob("*_sandbox:*.state")}


def _processes(server: Server) -> set[str]:
    """The containers that a kernel of gVisor runs for."""
    found = [container for _, container in _sentries(server)]
    assert len(found) == len(set(found)), "two kernels for one container"
    return set(found)


def sentry_of(server: Server, sandbox: str) -> int:
    """The pid of the kernel that a sandbox runs on."""
    container = _journal(server.volume / "sandboxes" / sandbox)["container"]
    (pid,) = (pid for pid, name in _sentries(server) if name == container)
    return pid


def _sentries(server: Server) -> Iterator[tuple[int, str]]:
    """Pid and container of every kernel of this Roost's, by the machine's process table."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # ended meanwhile
        if f"--root={server.run_dir / 'runsc'}" in words and "boot" in words:
            yield int(process.name), words[-2]


def _check_snapshots(server: Server, needed: set[str | None]) -> None:
    with sqlite3.connect(f"file:{server.home / 'roost.db'}?mode=ro", uri=True) as database:
        recorded = {id for (id,) in database.execute("SELECT id FROM snapshots")}
    database.close()
    homes = {home.name for home in (server.volume / "snapshots").iterdir()}
    assert homes == recorded, "snapshots without a record, or records without a snapshot"
    assert needed <= homes, "a sleeper without its snapshot"
    for id in homes:
        assert (server.volume / "snapshots" / id / "manifest.json").exists(), f"{id} has no manifest"


def _check_slots(server: Server, held: list[int]) -> None:
    assert len(held) == len(set(held)), "two sandboxes in one slot"
    guests = {int(path.name.partition("-g")[2]) for path in NETNS.glob(f"roost-{server.instance}-g*")}
    assert set(held) <= guests, "a sandbox without its slot"
    assert len(guests) <= len(held) + int(str(server.settings["spare_slots"])) + KEPT, "slots that nobody holds"
