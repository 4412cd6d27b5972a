from __future__ import annotations

import pytest

from roost.edge.admission.hosts import Hosts

HOSTS = Hosts("Roost.example:4700", ["box", "proxy.example.com."])


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:4700",
        "192.0.2.7",
        "[::1]:4700",
        "[2001:db8::7]",
        "localhost",
        "LOCALHOST:81",
        "localhost.",
        "roost.example",
        "roost.example:4700",
        "api.roost.example:4700",
        "8000-i0123456789abcdefghij.Roost.Example.:4700",
        "box:4700",
        "Proxy.example.com",
        "",
    ],
)
def test_ours(host: str) -> None:
    assert HOSTS.has(host.encode())


def test_a_health_check_without_a_host_is_served() -> None:
    assert HOSTS.has(None)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:4700",
        "roost.example.evil.example",
        "notroost.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "2130706433x",
        "x.box",
        "a.localhost",
        "192.0.2.7 ",
        "é.example",
    ],
)
def test_not_ours(host: str) -> None:
    assert not HOSTS.has(host.encode("latin-1"))
