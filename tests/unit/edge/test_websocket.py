from __future__ import annotations

import pytest
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from roost.edge.http.head import RequestHead, parse_request
from roost.edge.http.websocket import HandshakeRefused, WebSocket

GOOD = (
    "Connection: keep-alive, Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec-WebSocket-Version: 13",
)


def head(*fields: str, line: str = "GET /desktop/rfb?link=x HTTP/1.1") -> RequestHead:
    return parse_request("\r\n".join((line, "Host: x", *fields, "", "")).encode())


def talking(longest_bytes: int = 1000) -> tuple[WebSocket, ClientProtocol]:
    client = ClientProtocol(parse_uri("ws://x/desktop/rfb"))
    client.send_request(client.connect())
    server = WebSocket(parse_request(b"".join(client.data_to_send())), longest_bytes)
    client.receive_data(server.to_send())
    (answer,) = client.events_received()
    assert isinstance(answer, Response) and answer.status_code == 101
    return server, client


def sent(client: ClientProtocol) -> bytes:
    return b"".join(client.data_to_send())


def test_bytes_pass_both_ways_whatever_their_frames() -> None:
    server, client = talking()
    client.send_binary(b"one", fin=False)
    client.send_ping(b"there?")
    client.send_continuation(b"two", fin=True)
    client.send_binary(b"three")
    assert b"".join(server.receive(sent(client))) == b"onetwothree"
    client.receive_data(server.to_send() + server.send(b"picture"))
    frames = [event for event in client.events_received() if isinstance(event, Frame)]
    assert [(frame.opcode, bytes(frame.data)) for frame in frames] == [(Opcode.PONG, b"there?"), (Opcode.BINARY, b"picture")]


def test_a_close_is_answered_and_ends_it() -> None:
    server, client = talking()
    client.send_close(1000, "enough")
    assert server.receive(sent(client)) == []
    client.receive_data(server.to_send())
    assert client.close_rcvd is not None and client.close_rcvd.code == 1000
    assert not server.is_open
    assert server.send(b"more") == server.ping() == b""
    server.close(4001, "twice")
    assert server.to_send() == b""


def test_a_reason_is_cut_to_what_a_frame_holds_and_stays_text() -> None:
    server, client = talking()
    server.close(4001, "é" * 100)
    client.receive_data(server.to_send())
    assert client.close_rcvd is not None and client.close_rcvd.reason == "é" * 61


def test_text_and_what_is_too_long_are_refused() -> None:
    for words, code in (
        (lambda client: client.send_text(b"hello"), 1003),
        (lambda client: client.send_binary(bytes(1001)), 1009),
    ):
        server, client = talking()
        words(client)
        assert server.receive(sent(client)) == []
        client.receive_data(server.to_send())
        assert client.close_rcvd is not None and client.close_rcvd.code == code
        assert not server.is_open


@pytest.mark.parametrize(
    "fields",
    [
        GOOD[:1] + GOOD[2:],
        GOOD[:2] + GOOD[3:],
        (*GOOD[:2], "Sec-WebSocket-Key: short", GOOD[3]),
        (*GOOD[:3], "Sec-WebSocket-Version: 12"),
        (*GOOD, *(f"X-{number}: y" for number in range(500))),
        (*GOOD, "X: " + "y" * 20_000),
    ],
)
def test_what_is_no_handshake_is_refused(fields: tuple[str, ...]) -> None:
    with pytest.raises(HandshakeRefused, match="No WebSocket can be opened"):
        WebSocket(head(*fields), 1000)


def test_noise_ends_it_without_breaking() -> None:
    server, client = talking()
    assert server.receive(b"\x7f" * 100) == []
    client.receive_data(server.to_send())
    assert client.close_rcvd is not None and client.close_rcvd.code == 1002
    assert server.receive(b"more") == []
