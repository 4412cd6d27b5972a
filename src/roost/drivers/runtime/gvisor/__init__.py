"""gVisor: `runsc` by command line where a process must be made, by its control socket where one is there already.

`runtime` is the driver, `socket` the control socket's protocol, `command` runs one `runsc`, `host` finds its
processes.
"""

from roost.drivers.runtime.gvisor.runtime import EngineDeadlines, GVisor

__all__ = ["EngineDeadlines", "GVisor"]
