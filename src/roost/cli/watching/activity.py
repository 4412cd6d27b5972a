"""`roost activity`."""

from __future__ import annotations

from roost.cli.connection import connect
from roost.cli.options import AsJson, SandboxRef
from roost.cli.rendering import say, say_json
from roost.client import calls


def activity(sandbox: SandboxRef, as_json: AsJson = False) -> None:
    """Tell why a sandbox is awake, and when it will sleep."""
    with connect() as roost:
        told = roost.run(calls.activity(sandbox))
    if as_json:
        say_json(told)
        return
    reasons = told["awake_because"]
    asleep = "dozing: asleep, and still in memory" if told["dozing"] else "asleep or dead"
    say(f"{sandbox} is {'awake' if told['awake'] else asleep}" + (", because:" if reasons else "."))
    for reason in reasons:
        when = "".join(f" ({word} {reason[word]})" for word in ("since", "until") if reason[word])
        say(f"  {reason['kind']}: {reason['detail']}{when}")
    if told["sleeps_at"]:
        end = "is killed" if told["then"] == "kill" else "sleeps"
        say(f"It {end} at {told['sleeps_at']} unless something happens.")
    elif told["awake"]:
        say("It does not sleep by itself as things are.")
