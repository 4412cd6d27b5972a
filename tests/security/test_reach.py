"""What a sandbox reaches: itself and the internet. Neither the machine it runs on nor its neighbours."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from roost.client import Sandbox
from roost.domain.address import plan_slot
from tests.real.server import Server, said, sandbox_of

# Says "open" if the port answers, and otherwise why not.
_KNOCK = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3])).recv(4)
    print("open")
except OSError as error:
    print(type(error).__name__)
"""


@contextmanager
def listening(address: str, port: int = 0) -> Iterator[socket.socket]:
    """A listener of this test's, to be found or not."""
    with socket.create_server((address, port)) as listener:
        listener.settimeout(0)
        yield listener


def knock(sandbox: Sandbox, address: str, port: int, within_s: float = 3.0) -> str:
    sandbox.files.write("/tmp/knock.py", _KNOCK)
    return said(sandbox, f"sudo python3 /tmp/knock.py {address} {port} {within_s}")


def slot_of(server: Server, sandbox: Sandbox) -> int:
    return json.loads((server.volume / "sandboxes" / sandbox.id / "journal.json").read_text())["slot"]


def addresses_of_host(server: Server, sandbox: Sandbox) -> list[str]:
    """Every address under which the sandbox might find the machine: its own side of the slot's link, and all others it has."""
    plan = plan_slot(server.instance, server.network, slot_of(server, sandbox))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing: it only asks for the address that would be used
        own = probe.getsockname()[0]
    return [str(plan.host_address), own, "169.254.7.1"]


def test_the_host_is_out_of_reach(server: Server) -> None:
    with sandbox_of(server) as sandbox, listening("0.0.0.0") as listener:
        port = listener.getsockname()[1]
        for address in addresses_of_host(server, sandbox):
            assert knock(sandbox, address, port) != "open", f"the host answered at {address}"
            with pytest.raises(BlockingIOError):
                listener.accept()  # nothing came as far as the listener
        for address in addresses_of_host(server, sandbox):
            assert knock(sandbox, address, server.port) != "open"


def test_the_hosts_loopback_is_not_the_sandboxs(server: Server) -> None:
    with sandbox_of(server) as sandbox, listening("127.0.0.1") as listener:
        assert knock(sandbox, "127.0.0.1", listener.getsockname()[1], 30) == "ConnectionRefusedError"
        assert knock(sandbox, "127.0.0.1", server.port, 30) == "ConnectionRefusedError"


def test_neighbours_are_out_of_reach(server: Server) -> None:
    """Root in one sandbox knocks at another's agent, at the address by which the host reaches it."""
    with ExitStack() as stack:
        one, other = (stack.enter_context(sandbox_of(server)) for _ in range(2))
        address = str(plan_slot(server.instance, server.network, slot_of(server, other)).router_address)
        socket.create_connection((address, 49983), timeout=30).close()  # the host does reach it
        assert knock(one, address, 49983) != "open"


def test_cloud_metadata_and_private_ranges_are_out_of_reach(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        for address in ("169.254.169.254", "10.0.0.1", "192.168.0.1", "172.16.0.1"):
            assert knock(sandbox, address, 80) != "open"


@pytest.mark.parametrize("method, path", [("POST", "/init"), ("POST", "/roost/after-restore"), ("GET", "/roost/bridge?port=22")])
def test_the_nodes_routes_do_not_exist_inside(server: Server, method: str, path: str) -> None:
    """Neither for the user nor for root: a program inside cannot take the agent's token away."""
    with sandbox_of(server) as sandbox:
        for address in ("127.0.0.1", "169.254.7.2"):
            command = f"curl -s -o /dev/null -w '%{{http_code}}' -X {method} -d '{{}}' http://{address}:49983{path}"
            assert said(sandbox, command) == "404"
            assert said(sandbox, f"sudo {command}") == "404"
        denied = "curl -s -o /dev/null -w '%{http_code}' 'http://127.0.0.1:49983/files?path=/etc/shadow&username=root'"
        assert said(sandbox, denied) == "401"


def test_the_guest_sees_no_file_of_the_host(server: Server) -> None:
    with sandbox_of(server) as sandbox:
        assert said(sandbox, f"sudo test -e {server.home}/roost.db && echo seen || echo hidden") == "hidden"
        assert said(sandbox, "sudo touch /.roost/x 2>/dev/null && echo written || echo refused") == "refused"
        assert said(sandbox, "sudo sh -c 'ls /proc | grep -c ^[0-9]'") != "0"
        seen = said(sandbox, "sudo sh -c 'cat /proc/[0-9]*/cmdline' | tr '\\0' ' '")
        assert "cat /proc/" in seen and str(server.home) not in seen, "its own processes, and not the server's"
