from __future__ import annotations

import hashlib
import socket
import sys

import pytest

from .guest import STREAM, Events, Guest, RpcFailure, b64, envelope, read_to_end

# Numbered lines on both streams as fast as they can be written, ended by a line of their own.
FLOOD = """
import os, sys
for block in range({blocks}):
    os.write(1 + block % 2, b"".join(b"%09d\\n" % (block * 1000 + line) for line in range(1000)))
"""


def flood(blocks: int) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", FLOOD.format(blocks=blocks)]


def expected(blocks: int, remainder: int) -> bytes:
    picked = (block for block in range(blocks) if block % 2 == remainder)
    return b"".join(b"%09d\n" % (block * 1000 + line) for block in picked for line in range(1000))


def test_no_byte_is_lost_or_repeated_over_many_cuts(guest: Guest) -> None:
    """A client that is cut again and again in the middle of heavy output puts together exactly what was written."""
    blocks = 2000
    got = {"stdout": hashlib.sha256(), "stderr": hashlib.sha256()}
    with guest.start(*flood(blocks)) as events:
        pid, position, cuts, end = events.pid, 0, 0, None
        for kind, content in events:
            got[kind].update(content)
            if events.position > 300_000:
                break
        position = events.position
    while end is None:
        with guest.connect(pid, from_sequence=position) as events:
            assert events.position == position
            for kind, content in events:
                got[kind].update(content)
                position = events.position
                if cuts < 20 and position > 300_000 * (cuts + 2):
                    cuts += 1
                    break
            else:
                end = events.end
    assert end["exitCode"] == 0 and cuts == 20
    assert position == blocks * 10_000
    assert got["stdout"].digest() == hashlib.sha256(expected(blocks, 0)).digest()
    assert got["stderr"].digest() == hashlib.sha256(expected(blocks, 1)).digest()


def test_a_finished_process_can_still_be_read_from_any_kept_byte(guest: Guest) -> None:
    with guest.start("/bin/sh", "-c", "printf hello; printf world >&2") as events:
        events.finish()
    with guest.connect(events.pid, from_sequence=3) as late:
        assert list(late) == [("stdout", b"lo"), ("stderr", b"world")]
    with guest.connect(events.pid) as late:
        assert list(late) == []
        assert late.end["exitCode"] == 0
    with guest.connect(events.pid, from_sequence=10) as late:
        assert list(late) == []


def test_bytes_that_are_gone_are_an_error_not_a_gap(guest: Guest) -> None:
    with guest.start(sys.executable, "-I", "-S", "-c", "print('x' * 5_000_000)") as events:
        events.finish()
    with pytest.raises(RpcFailure) as failure, guest.connect(events.pid, from_sequence=0):
        pass
    assert failure.value.code == "out_of_range"
    assert f"to {events.position}, not from 0" in failure.value.message
    for beyond in (events.position + 1, -1):
        with pytest.raises(RpcFailure, match="out_of_range"), guest.connect(events.pid, from_sequence=beyond):
            pass


def test_all_that_is_kept_can_be_asked_for_without_knowing_how_much_that_is(guest: Guest) -> None:
    with guest.start(sys.executable, "-I", "-S", "-c", "print('x' * 5_000_000 + 'end')") as events:
        events.finish()
    oldest = {"process": {"pid": events.pid}, "fromOldest": True}
    with guest.stream("process.Process/Connect", oldest) as messages:
        late = Events(messages)
        assert late.position > 0
        kept = b"".join(content for _, content in late)
    assert late.position == events.position
    assert kept.startswith(b"xxx") and kept.endswith(b"xend\n")


def test_all_readers_get_everything(guest: Guest) -> None:
    with guest.start("/bin/sh", "-c", "read go; seq 1 50000", stdin=True) as first, guest.connect(first.pid) as second:
        guest.call("process.Process/SendInput", {"process": {"pid": first.pid}, "input": {"stdin": b64(b"\n")}})
        text = "".join(f"{number}\n" for number in range(1, 50001))
        assert first.finish().stdout == text
        assert second.finish().stdout == text


def test_output_is_drained_with_nobody_listening(guest: Guest) -> None:
    with guest.start("/bin/sh", "-c", "read go; head -c 20000000 /dev/zero; read end", stdin=True) as events:
        pid = events.pid
    guest.call("process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": b64(b"\n")}})
    # The second line is read only once all of the output was taken.
    guest.call("process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": b64(b"\n")}})
    with guest.connect(pid) as events:
        for _ in events:
            pass
    assert events.end["exitCode"] == 0
    assert events.position == 20_000_000


def test_a_reader_that_never_reads_is_dropped_and_the_process_goes_on() -> None:
    guest = Guest("--trust-local", "--stall-s", "5")  # longer than who does read is ever held up
    try:
        body = envelope({"process": {"cmd": "/bin/sh", "args": ["-c", "head -c 60000000 /dev/zero"]}, "tag": "big"})
        with socket.socket() as wire:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.connect(("127.0.0.1", guest.port))
            wire.sendall(
                b"POST /process.Process/Start HTTP/1.1\r\nHost: x\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
                % (STREAM.encode(), len(body), body)
            )
            assert wire.recv(15) == b"HTTP/1.1 200 OK"
            with guest.stream("process.Process/Connect", {"process": {"tag": "big"}}) as events:
                for message in events:
                    if "end" in message["event"]:
                        assert message["event"]["end"]["exitCode"] == 0
            assert b"resource_exhausted" in read_to_end(wire)
    finally:
        guest.close()


def test_a_slow_reader_gets_every_byte() -> None:
    """Slower than the process, but reading: it slows the process down and misses nothing."""
    guest = Guest("--trust-local", "--ring-bytes", "65536")
    try:
        with guest.start("/bin/sh", "-c", "seq 1 400000") as events:
            text = b"".join(content for _, content in events)
        assert text == b"".join(b"%d\n" % number for number in range(1, 400001))
    finally:
        guest.close()


def test_output_in_drops_stays_within_bounds(guest: Guest) -> None:
    """Single bytes that change streams each time are the dearest output there is; memory must not follow."""
    code = "import os\nfor n in range(60000): os.write(1 + n % 2, b'x')"
    with guest.start(sys.executable, "-I", "-S", "-c", code) as events:
        result = events.finish()
    assert len(result.output["stdout"]) == len(result.output["stderr"]) == 30000
