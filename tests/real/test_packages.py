"""A fresh sandbox can be furnished: the package managers that agents reach for work, through its firewall, DNS and CAs."""

from __future__ import annotations

import pytest

from tests.real.server import Server, said, sandbox_of


@pytest.mark.parametrize(
    "install, use, answer",
    [
        pytest.param("pip install --quiet six", "python3 -c 'import six; print(six.PY3)'", "True", id="pip"),
        pytest.param("npm install --silent is-number", "node -p 'require(\"is-number\")(7)'", "true", id="npm"),
        pytest.param(
            "sudo apt-get -qq update && sudo DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends tree",
            "tree --version | cut -d' ' -f1",
            "tree",
            id="apt",
        ),
    ],
)
def test_a_package_is_installed_and_used(server: Server, install: str, use: str, answer: str) -> None:
    with sandbox_of(server) as sandbox:
        said(sandbox, install, timeout_s=600)
        assert said(sandbox, use) == answer


def test_a_user_is_added_as_on_any_debian(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        said(sandbox, "sudo adduser --quiet --disabled-password --gecos '' eve")
        assert said(sandbox, "sudo -u eve sh -c 'cd && id -un && pwd'").split() == ["eve", "/home/eve"]
