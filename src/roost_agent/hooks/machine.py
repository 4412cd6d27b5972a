"""The files and kernel settings that make this machine this machine. Writes only what differs."""

from __future__ import annotations

import contextlib
import os
import socket
import sys

from roost_agent import procfs
from roost_agent.hooks import memory_files

_CA_FILE = "usr/local/share/ca-certificates/roost-node.crt"
_CA_BUNDLE = "etc/ssl/certs/ca-certificates.crt"


class Machine:
    """The machine around the agent.

    Only PID 1 owns the machine it runs on. Any other agent keeps its hands off, unless it is given a directory to
    write to instead.
    """

    def __init__(self, root: str | None) -> None:
        self._root = root if root is not None else "/"
        self._owns_kernel = root is None and os.getpid() == 1
        self.writable = root is not None or os.getpid() == 1

    def path(self, relative: str) -> str:
        return os.path.join(self._root, relative)

    @property
    def hostname(self) -> str | None:
        """None if it is not this agent's to give."""
        return socket.gethostname() if self._owns_kernel else None

    def set_hostname(self, name: str) -> None:
        if not self.writable:
            return
        if self._owns_kernel and socket.gethostname() != name:
            with contextlib.suppress(OSError):
                socket.sethostname(name)
        self.write("etc/hostname", f"{name}\n")
        lines = self._read("etc/hosts").splitlines() or ["127.0.0.1 localhost", "::1 localhost"]
        kept = [line for line in lines if line.split()[:1] != ["127.0.1.1"]]
        self.write("etc/hosts", "\n".join([*kept, f"127.0.1.1 {name}"]) + "\n")

    def make_directory(self, path: str) -> None:
        """Where commands begin. An image may name one that it does not have."""
        place = self.path(path.lstrip("/"))
        if self.writable and not os.path.isdir(place):
            with contextlib.suppress(OSError):
                os.makedirs(place, exist_ok=True)

    def set_machine_id(self, machine_id: str) -> None:
        self.write("etc/machine-id", f"{machine_id}\n")
        copy = self.path("var/lib/dbus/machine-id")
        if os.path.isfile(copy) and not os.path.islink(copy):
            self.write("var/lib/dbus/machine-id", f"{machine_id}\n")

    def set_resolvers(self, addresses: list[str]) -> None:
        self.write("etc/resolv.conf", "".join(f"nameserver {address}\n" for address in addresses))

    def trust(self, certificates: str) -> bool:
        """Add the node's own authorities to those the sandbox trusts; whether the system's bundle has them then. The file
        outlives update-ca-certificates.
        """
        if not self.writable:
            return False
        bundle = self._read(_CA_BUNDLE)
        if self._read(_CA_FILE) != certificates:
            os.makedirs(os.path.dirname(self.path(_CA_FILE)), exist_ok=True)
            self.write(_CA_FILE, certificates)
        if bundle and certificates.strip() not in bundle:
            self.write(_CA_BUNDLE, f"{bundle.rstrip()}\n{certificates.strip()}\n")
        return bool(bundle)

    def add_entropy(self, seed: bytes) -> None:
        with contextlib.suppress(OSError):
            pool = os.open("/dev/urandom", os.O_WRONLY)
            try:
                os.write(pool, seed)
            finally:
                os.close(pool)
        # Only a generator that is loaded can have a state that a fork shares with its parent.
        generator = sys.modules.get("random")
        if generator is not None:
            generator.seed(os.urandom(32) + seed)

    def limit_files_in_memory(self) -> None:
        if self._owns_kernel:
            memory_files.fit()

    def remove_host_keys(self) -> bool:
        """Forget the ssh host keys; whether there were any."""
        directory = self.path("etc/ssh")
        removed = False
        with contextlib.suppress(OSError):
            for name in os.listdir(directory) if self.writable else ():
                if name.startswith("ssh_host_") and name.endswith(("_key", "_key.pub")):
                    os.unlink(os.path.join(directory, name))
                    removed = True
        return removed

    def write(self, relative: str, content: str) -> None:
        """Make a file hold this, unless it does. A machine where that cannot be goes without."""
        if not self.writable or self._read(relative) == content:
            return
        # Plain system calls, few of them: this is on the way of every create.
        with contextlib.suppress(OSError):
            descriptor = self._open(self.path(relative))
            try:
                os.write(descriptor, content.encode("utf-8", "surrogateescape"))
            finally:
                os.close(descriptor)

    def _open(self, path: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        try:
            return os.open(path, flags, 0o644)
        except FileNotFoundError:
            # An image may have no /etc at all, or a link to what a service of its own would have made.
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.islink(path):
                os.unlink(path)
            return os.open(path, flags, 0o644)

    def _read(self, relative: str) -> str:
        try:
            return procfs.read(self.path(relative)).decode("utf-8", "surrogateescape")
        except OSError:
            return ""
