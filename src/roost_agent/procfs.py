"""What /proc says of the sandbox's processes, memory and sockets."""

from __future__ import annotations

import os

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Row:
    """One process as /proc/<pid>/stat has it."""

    __slots__ = ("command", "cpu_ticks", "group", "parent", "pid", "reaped_cpu_ticks", "rss_bytes", "session", "start_ticks")

    def __init__(self, pid: int, raw: bytes) -> None:
        # The command, in brackets, may hold anything: the fields begin after its last bracket.
        head, _, tail = raw.rpartition(b")")
        fields = tail.split()
        self.pid = pid
        self.command = head.partition(b"(")[2].decode("utf-8", "replace")
        self.parent, self.group, self.session = int(fields[1]), int(fields[2]), int(fields[3])
        self.cpu_ticks = int(fields[11]) + int(fields[12])
        # Of children that are gone and waited for, theirs included.
        self.reaped_cpu_ticks = int(fields[13]) + int(fields[14])
        self.start_ticks = int(fields[19])
        self.rss_bytes = int(fields[21]) * PAGE_BYTES


def rows() -> list[Row]:
    """Every process that can be seen. Those that end meanwhile are left out."""
    found: list[Row] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found.append(Row(int(name), read(f"/proc/{name}/stat")))
            except (OSError, IndexError, ValueError):
                continue
    return found


def cpu_seconds(table: list[Row]) -> float:
    """CPU used by all of them, and by all that have ended and were waited for: the whole sandbox's, ever."""
    return sum(row.cpu_ticks + row.reaped_cpu_ticks for row in table) / TICKS_PER_S


def command_line(pid: int, otherwise: str) -> str:
    try:
        return read(f"/proc/{pid}/cmdline").rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace") or otherwise
    except OSError:
        return otherwise


def owner(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def uptime_s() -> float:
    return float(read("/proc/uptime").split()[0])


def memory_bytes() -> dict[str, int]:
    """The lines of /proc/meminfo, in bytes."""
    found: dict[str, int] = {}
    for line in read("/proc/meminfo").decode("ascii", "replace").splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdigit():
            found[name] = int(words[0]) * (1024 if len(words) > 1 else 1)
    return found


class Socket:
    """One TCP socket. Addresses are text, as in 127.0.0.1 or ::1."""

    __slots__ = ("inode", "listening", "local", "local_port", "peer", "peer_port")

    def __init__(self, fields: list[bytes]) -> None:
        self.local, self.local_port = _address(fields[1])
        self.peer, self.peer_port = _address(fields[2])
        self.listening = fields[3] == b"0A"
        self.inode = int(fields[9])


def sockets() -> list[Socket]:
    """Listening and established TCP sockets."""
    found: list[Socket] = []
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = read(path).splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            try:
                if fields[3] in (b"01", b"0A"):
                    found.append(Socket(fields))
            except (IndexError, ValueError):
                continue
    return found


def holders(inodes: set[int], table: list[Row]) -> dict[int, int]:
    """Which process holds which of these sockets, as far as it may be seen."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, int] = {}
    for row in table:
        directory = f"/proc/{row.pid}/fd"
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names:
            try:
                inode = wanted.get(os.readlink(f"{directory}/{name}"))
            except OSError:
                continue
            if inode is not None:
                found.setdefault(inode, row.pid)
    return found


def read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        pieces = []
        while piece := os.read(descriptor, 65536):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def _address(text: bytes) -> tuple[str, int]:
    raw, _, port = text.partition(b":")
    # The kernel prints each 32-bit word as a number of the machine's own byte order.
    packed = bytes.fromhex(raw.decode("ascii"))
    packed = b"".join(packed[at : at + 4][::-1] for at in range(0, len(packed), 4))
    if len(packed) == 16:
        if packed.startswith(b"\0" * 10 + b"\xff\xff"):
            packed = packed[12:]
        else:
            import socket

            return socket.inet_ntop(socket.AF_INET6, packed), int(port, 16)
    return ".".join(str(byte) for byte in packed), int(port, 16)
