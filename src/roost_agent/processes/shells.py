"""The shell that an image has.

Every client asks for /bin/bash: E2B's SDKs, the command line, the pages. Not every image has it, and some have no shell at
all: there a command line that is nothing but words is started as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from roost_agent.errors import RpcError

_ASKED = ("/bin/bash", "/bin/sh")
_BASH = ("/usr/bin/bash", "/usr/local/bin/bash")
_PLAIN = ("/bin/sh", "/usr/bin/sh", "/bin/ash", "/busybox/sh")
_MEANS_SOMETHING = frozenset("|&;<>()$`*?[]#~{}!\n")  # to a shell, and to nobody else


def fitted(command: str, arguments: list[str], is_there: Callable[[str], bool] = os.path.exists) -> tuple[str, list[str]]:
    """The same with what is here. Raises RpcError `invalid_argument` for what cannot be done without a shell."""
    if command not in _ASKED or is_there(command):
        return command, arguments
    if command == "/bin/bash":
        for shell in _BASH:
            if is_there(shell):
                return shell, arguments
    for shell in _PLAIN:
        if is_there(shell):
            return shell, [each for each in arguments if each != "-l"]  # not every one of them knows what a login is
    words = _words(arguments)
    if not words:
        raise RpcError(
            "invalid_argument",
            f"error starting process '{command}': this image has no shell. Give a program and its arguments"
            " (`roost exec NAME -- /path/of/program --option`)",
        )
    return words[0], words[1:]


def _words(arguments: list[str]) -> list[str]:
    """Those of `-c LINE`, if it takes no shell to understand them."""
    if len(arguments) < 2 or arguments[-2] != "-c" or not _MEANS_SOMETHING.isdisjoint(arguments[-1]):
        return []
    import shlex

    try:
        words = shlex.split(arguments[-1])
    except ValueError:  # a quote that does not end
        return []
    return words if words and "=" not in words[0] else []
