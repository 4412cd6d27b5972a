"""A registry that says what a test wants it to say, true or not."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.registry import MANIFEST, Image, digest_of


@dataclass(slots=True)
class Reply:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None  # what it says of the body's, where that is a lie
    waits: threading.Event | None = None  # nothing more comes before it is set
    sent: threading.Event = field(default_factory=threading.Event)  # the body is


class FalseRegistry:
    """Serves what `replies` has for a path, else what `says` it, else 404. Remembers what it was asked."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {"/v2/": Reply(b"{}")}
        self.asked: list[str] = []
        self.host = ""

    def serve(self, name: str, image: Image, *, tag: str = "1") -> str:
        kind = {"content-type": MANIFEST}
        manifest = Reply(image.manifest.content, headers=kind)
        self.replies[f"/v2/{name}/manifests/{tag}"] = manifest
        self.replies[f"/v2/{name}/manifests/{digest_of(image.manifest.content)}"] = manifest
        for blob in image.blobs:
            self.replies[f"/v2/{name}/blobs/{digest_of(blob.content)}"] = Reply(blob.content)
        return f"{self.host}/{name}:{tag}"


def manifest_of(config: dict[str, Any], layers: list[dict[str, Any]]) -> bytes:
    """One that describes its blobs as it likes."""
    return json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}).encode()


@contextmanager
def serving_false_registry(tls: ssl.SSLContext | None = None) -> Iterator[FalseRegistry]:
    registry = FalseRegistry()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(lambda: registry))
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.daemon_threads = True
    registry.host = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield registry
    finally:
        for reply in registry.replies.values():
            if reply.waits:
                reply.waits.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(registry: Callable[[], FalseRegistry]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            registry().asked.append(self.path)
            reply = registry().replies.get(self.path.partition("?")[0], Reply(b'{"errors":[]}', 404))
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(reply.body) if reply.length is None else reply.length))
            self.end_headers()
            if self.command == "HEAD":
                return
            self.wfile.write(reply.body)
            self.wfile.flush()
            reply.sent.set()
            if reply.waits:
                reply.waits.wait()
            if reply.length is not None:
                self.close_connection = True

        do_HEAD = do_GET

        def log_message(self, format: str, *arguments: object) -> None:
            """Not into the output of tests."""

    return Handler
