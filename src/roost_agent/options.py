"""The agent's command line. Parsed by hand: argparse would cost every sandbox a megabyte."""

from __future__ import annotations

DEFAULT_PORT = 49983
USAGE = """usage: roost_agent [--host ADDRESS] [--port PORT] [--port-file PATH]
                   [--trust-local] [--system-root DIRECTORY] [--ring-bytes N] [--stall-s SECONDS]

  --host         address to listen on (0.0.0.0)
  --port         port to listen on (49983; 0 picks a free one)
  --port-file    write the port to this file once it is open
  --trust-local  open the node's routes to callers inside the sandbox as well: for tests
  --system-root  write hostname, hosts, machine id and the like below this directory: for tests
  --ring-bytes   how much output of each process is kept for those who come back (1048576)
  --stall-s      how long a slow reader may hold up a process (10)
"""


class UsageError(Exception):
    """The command line makes no sense."""


class Options:
    __slots__ = ("host", "port", "port_file", "ring_bytes", "stall_s", "system_root", "trust_local")

    def __init__(self) -> None:
        self.host = "0.0.0.0"
        self.port = DEFAULT_PORT
        self.port_file: str | None = None
        self.trust_local = False
        self.system_root: str | None = None
        self.ring_bytes = 1024 * 1024
        self.stall_s = 10.0


def parse(arguments: list[str]) -> Options:
    """Raises UsageError."""
    options = Options()
    waiting = list(arguments)
    while waiting:
        name, equals, value = waiting.pop(0).partition("=")
        if name == "--trust-local" and not equals:
            options.trust_local = True
            continue
        if not equals:
            if not waiting:
                raise UsageError(f"{name} is unknown or lacks its value")
            value = waiting.pop(0)
        _set(options, name, value)
    return options


def _set(options: Options, name: str, value: str) -> None:
    try:
        match name:
            case "--host":
                options.host = value
            case "--port":
                options.port = int(value)
            case "--port-file":
                options.port_file = value
            case "--system-root":
                options.system_root = value
            case "--ring-bytes":
                options.ring_bytes = max(4096, int(value))
            case "--stall-s":
                options.stall_s = float(value)
            case _:
                raise UsageError(f"{name} is unknown")
    except ValueError as error:
        raise UsageError(f"{name} cannot be {value!r}") from error
