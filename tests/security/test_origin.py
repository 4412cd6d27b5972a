"""What a sandbox says at the server's own address: never a page, never a cookie, whatever its root makes of it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlencode

import httpx
import pytest

from roost.client import Sandbox
from roost.edge.admission.access import sign
from tests.real.server import DOMAIN, Server, eventually, sandbox_of, serving

PATIENCE_S = 60.0
PORT = 8000
PAGE = "<script>fetch('/v1/keys', {method: 'POST'})</script>"
# Answers everything as an attacker would, and with what it was sent.
_HOSTILE = """
import http.server
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.requestline.encode() + b"\\r\\n" + bytes(self.headers)
        self.send_response(200)
        for name, value in (
            ("Content-Type", "text/html"), ("Content-Disposition", "inline"), ("Set-Cookie", "roost_session=planted; Path=/"),
            ("Service-Worker-Allowed", "/"), ("Clear-Site-Data", '"*"'), ("Refresh", "0; url=https://evil.example"),
            ("Location", "https://evil.example"), ("Link", "</x.js>; rel=preload; as=script"), ("Cache-Control", "public"),
            ("Connection", "Content-Security-Policy, X-Content-Type-Options, Content-Disposition"),
            ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("", 8000), Answer).serve_forever()
"""


@pytest.fixture(scope="module")
def sandbox(server: Server) -> Iterator[Sandbox]:
    with sandbox_of(server) as sandbox:
        sandbox.files.write("/home/user/report.html", PAGE)
        sandbox.files.write("/home/user/hostile.py", _HOSTILE)
        sandbox.start("exec python3 hostile.py")
        eventually(lambda: _is_up(server, sandbox))
        yield sandbox


def _is_up(server: Server, sandbox: Sandbox) -> None:
    assert by_headers(server, sandbox).status_code == 200


def by_headers(server: Server, sandbox: Sandbox, **headers: str) -> httpx.Response:
    routed = {"E2b-Sandbox-Id": sandbox.id, "E2b-Sandbox-Port": str(PORT)}
    return httpx.get(server.url, headers={**routed, **headers}, timeout=PATIENCE_S, trust_env=False)


def by_signature(server: Server, sandbox: Sandbox, **headers: str) -> httpx.Response:
    path = "/home/user/report.html"
    signature = sign(path, "user", sandbox.tokens().access_token, write=False, expiration=None)
    query = urlencode({"path": path, "username": "user", "signature": signature})
    return httpx.get(f"{server.url}/files?{query}", headers=headers, timeout=PATIENCE_S, trust_env=False)


def check_inert(answer: httpx.Response) -> None:
    assert answer.headers.get_list("content-type") == ["application/octet-stream"]
    assert answer.headers.get_list("content-security-policy") == ["sandbox; default-src 'none'"]
    assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
    assert answer.headers.get_list("cross-origin-resource-policy") == ["same-origin"]
    assert answer.headers.get_list("cache-control") == ["no-store"]
    assert answer.headers["content-disposition"].startswith("attachment")
    for name in ("set-cookie", "service-worker-allowed", "clear-site-data", "refresh", "location", "link"):
        assert name not in answer.headers


def test_a_signed_report_is_a_download(server: Server, sandbox: Sandbox) -> None:
    answer = by_signature(server, sandbox)
    assert (answer.status_code, answer.text) == (200, PAGE)
    check_inert(answer)


def test_so_is_what_its_own_programs_answer_by_headers(server: Server, sandbox: Sandbox) -> None:
    check_inert(by_headers(server, sandbox))


@pytest.mark.parametrize("destination", ["document", "script", "worker", "serviceworker", "frame", "iframe", "style"])
def test_browsers_are_refused(server: Server, sandbox: Sandbox, destination: str) -> None:
    for answer in (
        by_signature(server, sandbox, **{"Sec-Fetch-Dest": destination}),
        by_headers(server, sandbox, **{"Sec-Fetch-Dest": destination}),
        by_signature(server, sandbox, **{"Service-Worker": "script"}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "own_host_only")


def test_a_persons_session_is_not_handed_to_the_sandbox(server: Server, sandbox: Sandbox) -> None:
    heard = by_headers(server, sandbox, Cookie="roost_session=secret", **{"X-Kept": "1"}).text
    assert "X-Kept: 1" in heard
    assert "secret" not in heard and "Cookie" not in heard


@pytest.mark.parametrize("host", ["evil.example", "roost.localhost.evil.example", "127.0.0.1.evil.example"])
def test_under_the_name_of_another_site_nothing_is_answered(server: Server, sandbox: Sandbox, host: str) -> None:
    """Whose pages would be of one origin with it: a name can lead anywhere."""
    named = {"Host": f"{host}:{server.port}"}
    for path in ("/", "/v1/sandboxes", "/health", "/app/"):
        headers = {**named, "Authorization": f"Bearer {server.key}"}
        answer = httpx.get(server.url + path, headers=headers, timeout=PATIENCE_S, trust_env=False)
        assert (answer.status_code, answer.json()["error"]["code"]) == (421, "unknown_host")
    assert by_headers(server, sandbox, **named).status_code == 421
    assert by_signature(server, sandbox, **named).status_code == 421


def test_its_own_names_and_all_addresses_are_served(server: Server) -> None:
    for host in ("127.0.0.1", "192.0.2.7", "[::1]", "localhost", DOMAIN, f"api.{DOMAIN}", socket.gethostname()):
        headers = {"Host": f"{host}:{server.port}", "Authorization": f"Bearer {server.key}"}
        answer = httpx.get(f"{server.url}/v1/sandboxes", headers=headers, timeout=PATIENCE_S, trust_env=False)
        assert answer.status_code == 200, host


def test_a_server_for_others_warns_and_answers_under_the_names_it_was_given() -> None:
    with serving(host="0.0.0.0", allowed_hosts="proxy.example.com", templates="base") as open_to_all:
        assert "listening for others than this machine, without TLS" in open_to_all.log_tail(100_000)
        for host, status in (("proxy.example.com", 200), ("evil.example", 421)):
            headers = {"Host": host, "Authorization": f"Bearer {open_to_all.key}"}
            answer = httpx.get(f"{open_to_all.url}/v1/sandboxes", headers=headers, timeout=PATIENCE_S, trust_env=False)
            assert answer.status_code == status
