"""Loads a ruleset into the kernel: by libnftables in this process, where it can be loaded, else by the command nft.

Both take the same text and come in the same package. The command takes four times the processor time of the library, most of
it to start.
"""

from __future__ import annotations

import ctypes
import subprocess
import threading
from functools import cache

from roost.domain.errors import Fault

_LIBRARY = "libnftables.so.1"
_turn = threading.Lock()  # the library does not promise to serve two threads at once


def apply(ruleset: str, *, to: str) -> None:
    """Loads a ruleset into the network namespace of the calling thread: all of it or nothing. Blocks for some
    milliseconds.

    `to` says whose it is, for the error.
    """
    said = by_library(ruleset) if _library() is not None else by_command(ruleset, to)
    if said is not None:
        raise Fault("firewall_refused", f"The kernel refused the firewall of {to}: {said}", to=to, detail=said)


def by_library(ruleset: str) -> str | None:
    """What went wrong, if anything did."""
    library = _library()
    assert library is not None
    with _turn:
        context = library.nft_ctx_new(0)  # opens its socket here, in this thread's namespace
        if not context:
            return "libnftables could not be opened"
        try:
            library.nft_ctx_buffer_error(context)
            library.nft_ctx_buffer_output(context)
            if library.nft_run_cmd_from_buffer(context, ruleset.encode()) == 0:
                return None
            return library.nft_ctx_get_error_buffer(context).decode(errors="replace").strip() or "libnftables gave no reason"
        finally:
            library.nft_ctx_free(context)


def by_command(ruleset: str, to: str) -> str | None:
    """As `by_library`. Raises Fault when there is no such command."""
    try:
        done = subprocess.run(["nft", "-f", "-"], input=ruleset, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Fault("firewall_missing", "The command nft is not on this machine. Install the package nftables.", to=to) from error
    return (done.stderr.strip() or f"nft exited with {done.returncode}") if done.returncode else None


@cache
def _library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return None
    library.nft_ctx_new.restype = ctypes.c_void_p
    library.nft_run_cmd_from_buffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    library.nft_ctx_get_error_buffer.restype = ctypes.c_char_p
    for name in ("nft_ctx_free", "nft_ctx_buffer_error", "nft_ctx_buffer_output", "nft_ctx_get_error_buffer"):
        getattr(library, name).argtypes = [ctypes.c_void_p]
    return library
