"""An internet to talk to, as a program: run in a network namespace it is DNS, web sites and proxies at one address.

    sites.py <address> <folder> [<address of DNS>]

The folder holds `zone.json` (names to addresses) and perhaps `site.pem` (key and certificate, for what speaks TLS). What
was asked of whom is written to `asked.log` there, a line each, before it is answered. "ready" on stdout when all listen.

    53 DNS   80 web   8080 web in HTTP/1.0   443 web by TLS   2222 speaks first   1080 SOCKS5   1443 SOCKS5 in TLS   3128 CONNECT
"""

from __future__ import annotations

import base64
import gzip
import json
import select
import socket
import socketserver
import ssl
import struct
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

USER, PASSWORD = "ada", "lovelace"


def make_certificates(folder: Path, *names: str) -> Path:
    """`site.pem` for these names, and the file of the authority that vouches for it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    def called(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

    now, authority, key = datetime.now(UTC), ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())

    def signed(name: str, owner: ec.EllipticCurvePrivateKey, *extensions: x509.ExtensionType) -> bytes:
        builder = x509.CertificateBuilder(called("the test's authority"), called(name), owner.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    trusted = folder / "authority.pem"
    trusted.write_bytes(signed("the test's authority", authority, x509.BasicConstraints(True, None)))
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
    (folder / "site.pem").write_bytes(private + signed(names[0], key, alternatives, x509.BasicConstraints(False, None)))
    return trusted


class Log:
    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)
        self._lock = threading.Lock()

    def __call__(self, *words: object) -> None:
        with self._lock:
            self._file.write(" ".join(map(str, words)) + "\n")


class Streams(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


class Sites(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def server_bind(self) -> None:
        """Without asking for the name of its own address: here nobody knows it."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "site", self.server_address[1]


def web(log: Log, version: str = "HTTP/1.1") -> type[BaseHTTPRequestHandler]:
    class Echo(BaseHTTPRequestHandler):
        """Says what it was asked, and by whom. `/never` is not answered. The paths of TELLTALE say what `Authorization` was, each
        in a way of its own."""

        protocol_version = version

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            log("web", self.headers.get("Host"), self.path)
            told = {"method": self.command, "path": self.path, "headers": self.headers.items(), "size": len(body)}
            told["peer"] = self.client_address[0]
            content = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            secret = self.headers.get("Authorization", "")
            if self.headers.get("Upgrade") == "echo":
                self.wfile.write(f"HTTP/1.1 101 Here {secret}\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n".encode())
                if self.path == "/tell":
                    self.connection.sendall(f"it is {secret}".encode())
                echo(self.connection)
                self.close_connection = True
            elif telltale := TELLTALE.get(self.path):
                log("web", self.headers.get("Host"), self.path)
                self.wfile.write(telltale(secret.encode("latin-1")))
                self.close_connection = True
            elif self.path == "/never":
                log("web", self.headers.get("Host"), self.path)
                self.connection.recv(1)
                log("gone", self.headers.get("Host"), self.path)
                self.close_connection = True
            else:
                self.answer()

        def do_TRACE(self) -> None:
            log("web", self.headers.get("Host"), "TRACE")
            self.wfile.write(simple(f"{self.requestline}\r\n{self.headers}".encode()))

        do_POST = do_PUT = do_OPTIONS = do_HEAD = answer

        def log_message(self, format: str, *args: Any) -> None: ...

    return Echo


def simple(body: bytes, *headers: bytes, reason: bytes = b"OK") -> bytes:
    """An answer that is whole."""
    return b"\r\n".join((b"HTTP/1.1 200 " + reason, *headers, b"Content-Length: %d" % len(body), b"", body))


def chunked(*pieces: bytes, trailer: bytes = b"") -> bytes:
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n" + trailer + b"\r\n"


TELLTALE: dict[str, Callable[[bytes], bytes]] = {
    "/body": lambda secret: simple(b'{"it": "%b"}' % secret),
    "/credential": lambda secret: simple(secret.split(b" ")[-1]),
    "/headers": lambda secret: simple(
        b"", b"X-Echo: %b" % secret, b"Location: /?key=%b" % secret.replace(b" ", b"%20"), reason=secret
    ),
    "/chunks": lambda secret: chunked(*(bytes([byte]) for byte in b"it is %b." % secret)),
    "/trailer": lambda secret: chunked(b"behind this", trailer=b"X-Echo: %b\r\n" % secret),
    "/hint": lambda secret: b"HTTP/1.1 103 Hint\r\nX-Echo: %b\r\n\r\n%b" % (secret, simple(b"done")),
    "/gzip": lambda secret: simple(gzip.compress(secret), b"Content-Encoding: gzip"),
    "/until-the-end": lambda secret: b"HTTP/1.0 200 OK\r\n\r\nit is %b" % secret,
    "/cut-off": lambda secret: simple(b"it is %b" % secret[:-1]),
    "/two-ways": lambda secret: b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "/one-hop": lambda secret: simple(
        b"done", b"Connection: X-Hop, close", b"X-Hop: 1", b"Keep-Alive: timeout=5", b"Proxy-Authenticate: Basic", b"X-End: 1"
    ),
}


def echo(connection: socket.socket) -> None:
    while data := connection.recv(65536):
        connection.sendall(data)


def banner(log: Log) -> type[socketserver.BaseRequestHandler]:
    class Banner(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            log("banner")
            self.request.sendall(b"hello\n")
            echo(self.request)

    return Banner


def join(one: socket.socket, other: socket.socket) -> None:
    pending = getattr(one, "pending", lambda: 0)
    while True:
        ready = [one] if pending() else select.select([one, other], [], [])[0]
        for source in ready:
            data = source.recv(65536)
            if not data:
                return
            (other if source is one else one).sendall(data)


def exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def socks(log: Log, *, secret: bool) -> type[socketserver.BaseRequestHandler]:
    class Socks(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            connection: socket.socket = self.request
            try:
                methods = exactly(connection, exactly(connection, 2)[1])
                method = 2 if secret else 0
                if method not in methods:
                    connection.sendall(b"\5\xff")
                    return
                connection.sendall(bytes([5, method]))
                user = ""
                if secret:
                    user = exactly(connection, exactly(connection, 2)[1]).decode()
                    password = exactly(connection, exactly(connection, 1)[0]).decode()
                    right = (user, password) == (USER, PASSWORD)
                    connection.sendall(b"\1\0" if right else b"\1\1")
                    if not right:
                        return
                assert exactly(connection, 4) == b"\5\1\0\1", "an IPv4 address"
                address = socket.inet_ntoa(exactly(connection, 4))
                (port,) = struct.unpack(">H", exactly(connection, 2))
                log("socks", address, port, user)
                with socket.create_connection((address, port)) as onward:
                    connection.sendall(b"\5\0\0\1\0\0\0\0\0\0")
                    join(connection, onward)
            except (EOFError, OSError):
                return

    return Socks


def connect(log: Log) -> type[socketserver.BaseRequestHandler]:
    class Connect(socketserver.StreamRequestHandler):
        rbufsize = 0

        def handle(self) -> None:
            lines: list[str] = []
            while line := self.rfile.readline().decode().rstrip():
                lines.append(line)
            target = lines[0].split()[1]
            given = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            right = f"Proxy-Authorization: Basic {given}" in lines
            log("connect", target, right)
            if not right:
                self.wfile.write(b"HTTP/1.1 407 Who are you\r\n\r\n")
                return
            host, _, port = target.partition(":")
            with socket.create_connection((host, int(port))) as onward:
                self.wfile.write(b"HTTP/1.1 200 Here you are\r\n\r\n")
                join(self.connection, onward)

    return Connect


def dns(log: Log, zone: dict[str, str]) -> type[socketserver.BaseRequestHandler]:
    class Dns(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            query, sock = self.request
            at, labels = 12, []
            while query[at]:
                labels.append(query[at + 1 : at + 1 + query[at]].decode())
                at += 1 + query[at]
            name, kind = ".".join(labels).lower(), struct.unpack(">H", query[at + 1 : at + 3])[0]
            log("dns", name, kind)
            log("message", query.hex())
            found = zone.get(name) if kind == 1 else None
            flags = 0x8180 if name in zone else 0x8183
            answer = query[:2] + struct.pack(">HHHHH", flags, 1, 1 if found else 0, 0, 0) + query[12 : at + 5]
            if found:
                answer += b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(found)
            sock.sendto(answer, self.client_address)

    return Dns


def main(address: str, folder: Path, dns_address: str) -> None:
    log, zone = Log(folder / "asked.log"), json.loads((folder / "zone.json").read_text())
    servers: list[socketserver.BaseServer] = [
        socketserver.ThreadingUDPServer((dns_address, 53), dns(log, zone)),
        Sites((address, 80), web(log)),
        Sites((address, 8080), web(log, "HTTP/1.0")),
        Streams((address, 2222), banner(log)),
        Streams((address, 1080), socks(log, secret=True)),
        Streams((address, 3128), connect(log)),
    ]
    if (folder / "site.pem").exists():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "site.pem")
        secure: list[tuple[int, Callable[..., Any], type[Streams | Sites]]] = [
            (443, web(log), Sites),
            (1443, socks(log, secret=False), Streams),
        ]
        for port, handler, kind in secure:
            server = kind((address, port), handler)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            servers.append(server)
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else sys.argv[1])
