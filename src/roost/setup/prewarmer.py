"""`gvisor-sentry-prewarmer`: makes room for 256 file descriptors, then becomes the sentry.

gVisor moves its standard streams to descriptors 253 to 255. In a process with many threads the kernel can grow the table of
descriptors only after an RCU grace period, which takes a fifth of a start. This program has one thread, grows the table at once,
and the table outlives the exec. runsc starts it as `prewarmer BINARY ARGV0 ARGUMENTS...` where it lies in `gvisor-bin/`.

It must not be a Go program, which would have threads, and a machine that only runs Roost has no C compiler: so here are its 57
bytes of code. BINARY must not be /proc/self/exe, which would be the prewarmer itself; with `gvisor_sentry` beside it, it is not.
"""

from __future__ import annotations

import struct

_X86_64 = bytes.fromhex(
    "4889e3"  #           mov  rbx, rsp                 argc, then the arguments
    "31ff"  #             xor  edi, edi                 standard input
    "be06040000"  #       mov  esi, 1030                F_DUPFD_CLOEXEC
    "baff000000"  #       mov  edx, 255                 so the table has 256 places
    "b848000000"  #       mov  eax, 72                  fcntl; should it fail, the start is only slower
    "0f05"  #             syscall
    "488b0b"  #           mov  rcx, [rbx]
    "488b7b10"  #         mov  rdi, [rbx + 16]          BINARY
    "488d7318"  #         lea  rsi, [rbx + 24]          ARGV0 and what follows
    "488d54cb10"  #       lea  rdx, [rbx + 8*rcx + 16]  the environment
    "b83b000000"  #       mov  eax, 59                  execve
    "0f05"  #             syscall
    "bf7f000000"  #       mov  edi, 127
    "b83c000000"  #       mov  eax, 60                  exit
    "0f05"  #             syscall
)
_ADDRESS = 0x400000


def prewarmer(machine: str) -> bytes | None:
    """The program for machines of this name (`uname -m`), where there is one."""
    return _elf(_X86_64) if machine == "x86_64" else None


def _elf(code: bytes) -> bytes:
    """A static ELF executable for x86-64: header, one segment, code."""
    header_size, segment_size = 64, 56
    entry = header_size + segment_size
    size = entry + len(code)
    identity = b"\x7fELF" + bytes([2, 1, 1, 0]) + bytes(8)  # 64 bits, little-endian, version 1, System V
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", identity, 2, 62, 1, _ADDRESS + entry, header_size, 0, 0, header_size, segment_size, 1, 0, 0, 0
    )
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, _ADDRESS, _ADDRESS, size, size, 0x1000)  # load it all, readable and executable
    return header + segment + code
