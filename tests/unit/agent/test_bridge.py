from __future__ import annotations

import os
import socket
import threading

from .guest import Guest, read_to_end


def open_bridge(guest: Guest, port: int, ahead: bytes = b"") -> socket.socket:
    wire = socket.create_connection(("127.0.0.1", guest.port), timeout=20)
    request = b"GET /roost/bridge?port=%d HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: roost-bridge\r\n\r\n"
    wire.sendall(request % port + ahead)
    return wire


def head_of(wire: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += wire.recv(1)
    return head


def test_bytes_both_ways_and_half_closes(guest: Guest) -> None:
    content = os.urandom(5_000_000)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def echo() -> None:
            peer, _ = server.accept()
            with peer:
                peer.sendall(read_to_end(peer)[::-1])

        service = threading.Thread(target=echo)
        service.start()
        with open_bridge(guest, server.getsockname()[1], ahead=content[:10]) as wire:
            assert head_of(wire).startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
            wire.sendall(content[10:])
            wire.shutdown(socket.SHUT_WR)
            assert read_to_end(wire) == content[::-1]
        service.join(20)


def test_the_service_may_speak_first_and_leave(guest: Guest) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, open_bridge(guest, server.getsockname()[1]) as wire:
        assert b" 101 " in head_of(wire)
        peer, _ = server.accept()
        with peer:
            peer.sendall(b"220 hello\r\n")
        assert read_to_end(wire) == b"220 hello\r\n"


def test_the_caller_leaves(guest: Guest) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        wire = open_bridge(guest, server.getsockname()[1])
        head_of(wire)
        peer, _ = server.accept()
        with peer:
            peer.settimeout(20)
            wire.close()
            assert read_to_end(peer) == b""


def test_a_closed_port(guest: Guest) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        answer = guest.http.get(
            f"/roost/bridge?port={unused.getsockname()[1]}", headers={"Connection": "Upgrade", "Upgrade": "roost-bridge"}
        )
    assert answer.status_code == 502
    assert (answer.json()["code"], answer.json()["message"]) == (502, "port is not open")
    assert guest.http.get("/roost/bridge?port=80").status_code == 400
    assert guest.http.get("/roost/bridge?port=x", headers={"Upgrade": "roost-bridge"}).status_code == 400
