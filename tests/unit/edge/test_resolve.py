from __future__ import annotations

import pytest

from roost.domain.errors import Invalid
from roost.domain.ids import SandboxId
from roost.edge.admission.resolve import HostResolver, Target
from roost.edge.http.head import parse_request

ID = SandboxId("i0123456789abcdefghij")


def resolve(host: str, domain: str = "roost.localhost", **headers: str) -> Target | None:
    lines = [f"Host: {host}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return HostResolver(domain).resolve(parse_request(("GET / HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode("latin-1")))


@pytest.mark.parametrize(
    "host",
    [
        f"8080-{ID}.roost.localhost",
        f"8080-{ID}.roost.localhost:4700",
        f"8080-{ID}.ROOST.localhost.",
        f"8080-{ID.upper()}.roost.localhost",
        f"8080-{ID}-deadbeef.roost.localhost",
    ],
)
def test_by_host(host: str) -> None:
    assert resolve(host) == Target(ID, 8080)
    assert resolve(host, "Roost.localhost:4700", E2b_Sandbox_Id="other", E2b_Sandbox_Port="1") == Target(ID, 8080)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "127.0.0.1:4700",
        "[::1]:4700",
        "roost.localhost",
        "sandbox.roost.localhost",
        "api.roost.localhost",
        "box.example:80",
    ],
)
def test_by_headers_on_any_other_host(host: str) -> None:
    assert resolve(host) is None
    assert resolve(host, E2b_Sandbox_Id=ID, E2b_Sandbox_Port="49983") == Target(ID, 49983, by_name=False)


@pytest.mark.parametrize(
    "host",
    [
        f"8080-{ID}.elsewhere",
        f"8080-{ID}roost.localhost",
        f"x-{ID}.roost.localhost",
        "8080.roost.localhost",
        "8080-.roost.localhost",
    ],
)
def test_hosts_that_are_no_sandbox(host: str) -> None:
    assert resolve(host) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"E2b_Sandbox_Id": ID},
        {"E2b_Sandbox_Port": "80"},
        {"E2b_Sandbox_Id": "", "E2b_Sandbox_Port": "80"},
        {"E2b_Sandbox_Id": "a/b", "E2b_Sandbox_Port": "80"},
        {"E2b_Sandbox_Id": ID, "E2b_Sandbox_Port": "0"},
        {"E2b_Sandbox_Id": ID, "E2b_Sandbox_Port": "65536"},
        {"E2b_Sandbox_Id": ID, "E2b_Sandbox_Port": "80 "*3},
        {"E2b_Sandbox_Id": ID, "E2b_Sandbox_Port": "²"},
    ],
)  # fmt: skip
def test_headers_that_name_no_port_of_a_sandbox(headers: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        resolve("localhost", **headers)


def test_a_host_with_an_impossible_port() -> None:
    with pytest.raises(Invalid):
        resolve(f"70000-{ID}.roost.localhost")
