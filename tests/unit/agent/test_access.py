from __future__ import annotations

import pytest

from .guest import STREAM, Guest, b64, envelope

TOKEN = {"X-Access-Token": "secret"}


def test_with_a_token_set_every_route_wants_it(fresh_agent: Guest) -> None:
    guest = fresh_agent
    guest.init(accessToken="secret")
    assert guest.http.get("/health").status_code == 204
    for method, path in (
        ("GET", "/metrics"),
        ("GET", "/envs"),
        ("GET", "/processes"),
        ("GET", "/ports"),
        ("GET", "/history"),
        ("GET", "/history/changes"),
        ("GET", "/tail"),
        ("GET", "/files/archive"),
        ("POST", "/files/compose"),
        ("POST", "/process.Process/List"),
        ("POST", "/process.Process/Start"),
        ("POST", "/filesystem.Filesystem/Stat"),
        ("GET", "/nothing"),
    ):
        for headers in ({}, {"X-Access-Token": "wrong"}, {"X-Access-Token": ""}):
            answer = guest.http.request(method, path, headers=headers)
            assert answer.status_code == 401
            assert answer.json()["code"] == 401 and isinstance(answer.json()["message"], str)
    assert guest.http.get("/envs", headers=TOKEN).status_code == 200
    assert guest.http.get("/files", params={"path": "/etc/hostname"}, headers=TOKEN).status_code == 200
    guest.init()  # What is not said stays.
    assert guest.http.get("/envs").status_code == 401
    guest.init(accessToken="")
    assert guest.http.get("/envs").status_code == 200


def test_the_nodes_routes_do_not_exist_for_callers_inside() -> None:
    guest = Guest()  # Without --trust-local, as in a sandbox: the tests call from "inside".
    try:
        for method, path in (
            ("POST", "/init"),
            ("POST", "/roost/before-checkpoint"),
            ("POST", "/roost/after-restore"),
            ("GET", "/roost/version"),
            ("GET", "/roost/bridge?port=1"),
        ):
            assert guest.http.request(method, path, json={}).status_code == 404, path
        assert guest.http.get("/health").status_code == 204
    finally:
        guest.close()


@pytest.mark.parametrize("credentials", ["Basic !!!", "Basic " + b64(b"\xff\xfe:")])
def test_malformed_credentials(guest: Guest, credentials: str) -> None:
    answer = guest.http.post(
        "/process.Process/Start",
        content=envelope({"process": {"cmd": "/bin/true"}}),
        headers={"Content-Type": STREAM, "Authorization": credentials},
    )
    assert answer.status_code == 401
