"""Makes a bare machine ready: system packages, the engine, the agent's interpreter, root filesystems, Mission Control's
pages, the volume.

Owns everything that `roost setup` installs, and `roost doctor`, which tells what is missing. What depends on no home
goes to the cache and is shared by every Roost of the machine. Each artefact counts only once its marker is there, which
is written last, so an interrupted run is simply run again.

May import settings, telemetry and domain. Blocking by nature: the steps run in threads.
Start reading at `installation.py` (the list of steps), then `plan.py` (how they run side by side).
"""
