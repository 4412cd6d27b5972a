"""Rules by host name, headers, proxies and DNS servers of a sandbox, with E2B's own SDK. The internet is the test's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import e2b
import pytest
from e2b import ALL_TRAFFIC
from e2b.exceptions import SandboxException

from roost.domain.rules import MASK
from tests.e2b.conftest import end
from tests.e2b.internet import DNS, SITE, internet
from tests.real import sites
from tests.real.server import Server, serving

Sandbox: Any = e2b.Sandbox  # its types are stricter than its methods
API, WWW, EVIL = "api.example.com", "www.other.example", "evil.example"
REACHED, REFUSED = "200", "000"
NAMES = {"allow_out": [API, "*.other.example"], "deny_out": [ALL_TRAFFIC], "dns_servers": [DNS]}
PROXY = {"address": f"{SITE}:1080", "username": sites.USER, "password": sites.PASSWORD}


@dataclass(frozen=True, slots=True)
class World:
    server: Server
    asked: Path

    def lines(self, word: str) -> list[str]:
        return [line for line in self.asked.read_text().splitlines() if line.startswith(word)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the sites, with their certificates."""
    folder = tmp_path_factory.mktemp("sites")
    sites.make_certificates(folder, API, WWW, "proxy.example")
    return folder


@pytest.fixture(scope="module", autouse=True)
def variables(folder: Path, secure_home: Path) -> Iterator[None]:
    """In the place of the package's own: here clients talk to the server of this module, which trusts the sites' authority.
    So does all else in this process; but the Python SDK reads whom to trust once, so that has to be as everywhere too."""
    both = folder / "trusted.pem"
    both.write_text((folder / "authority.pem").read_text() + (secure_home.parent / "ca.pem").read_text())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(both))
        yield


@pytest.fixture(scope="module")
def world(variables: None, folder: Path) -> Iterator[World]:
    with serving(warm_pool=1) as server:
        zone: dict[str, str] = dict.fromkeys((API, WWW, EVIL, "proxy.example"), SITE)
        with internet(server, folder, zone) as asked:
            yield World(server, asked)


@pytest.fixture(autouse=True)
def clients(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    point_clients(monkeypatch, world.server)


def point_clients(patch: pytest.MonkeyPatch, server: Server) -> None:
    """At the server that lives now."""
    for name, value in {"API_URL": server.url, "SANDBOX_URL": server.url, "API_KEY": server.key}.items():
        patch.setenv(f"E2B_{name}", value)


@pytest.fixture
def made(world: World, clients: None) -> Iterator[list[Any]]:
    """Sandboxes that are ended afterwards."""
    sandboxes: list[Any] = []
    yield sandboxes
    end(world.server, *(sandbox.sandbox_id for sandbox in sandboxes))


def create(made: list[Any], **network: Any) -> Any:
    made.append(Sandbox.create(timeout=600, network=network))
    return made[-1]


def reach(sandbox: Any, url: str, *options: str) -> str:
    curl = f"curl -s -m 30 -o /dev/null -w '%{{http_code}}' {' '.join(options)} {url} || true"
    return sandbox.commands.run(curl).stdout


def told(sandbox: Any, url: str) -> dict[str, str]:
    """The headers that the site got. What the guest trusts must do."""
    answer = json.loads(sandbox.commands.run(f"curl -sS -m 30 -H 'Authorization: guest' {url}").stdout)
    return {name.lower(): value for name, value in answer["headers"]}


def test_hosts_are_allowed_by_name(world: World, made: list[Any]) -> None:
    sandbox = create(made, **NAMES)

    def holds(sandbox: Any) -> None:
        for name in (API, WWW):
            assert reach(sandbox, f"http://{name}/") == REACHED
            assert reach(sandbox, f"https://{name}/", "-k") == REACHED
        for url in (f"http://{EVIL}/", f"https://{EVIL}/", f"http://{SITE}/"):
            assert reach(sandbox, url, "-k") == REFUSED
        for there in (f"{API}:443:{SITE}", f"{EVIL}:443:{SITE}"):  # whoever knows the address has still to say the name
            assert reach(sandbox, f"https://{there.split(':')[0]}/", "-k", "--resolve", there) == (
                REACHED if API in there else REFUSED
            )

    holds(sandbox)
    info = sandbox.get_info().network
    assert {name: info[name] for name in NAMES} == NAMES
    sandbox.pause()
    sandbox.connect()
    holds(sandbox)
    [child] = sandbox.fork()
    made.append(child)
    holds(child)
    sandbox.update_network({"deny_out": [ALL_TRAFFIC]})
    assert reach(sandbox, f"http://{API}/") == REFUSED
    sandbox.update_network({"dns_servers": [DNS]})
    assert reach(sandbox, f"http://{EVIL}/") == REACHED
    assert "allow_out" not in sandbox.get_info().network


def masked(rules: dict[str, Any]) -> dict[str, Any]:
    """As they are told: that there is a value, not which."""
    return {
        host: [{"transform": {"headers": dict.fromkeys(rule["transform"]["headers"], MASK)}} for rule in each]
        for host, each in rules.items()
    }


def test_requests_to_a_host_are_given_its_headers(world: World, made: list[Any]) -> None:
    rules = {API: [{"transform": {"headers": {"Authorization": "Bearer secret", "X-Team": "ours"}}}]}
    sandbox = create(made, rules=rules, dns_servers=[DNS])

    def holds(sandbox: Any) -> None:
        headers = told(sandbox, f"https://{API}/")
        assert (headers["authorization"], headers["x-team"]) == ("*" * len("Bearer secret"), "ours")  # given, and not told
        assert told(sandbox, f"http://{API}/")["authorization"] == "guest"
        assert told(sandbox, f"http://{WWW}/")["authorization"] == "guest"
        assert reach(sandbox, f"https://{WWW}/") == REFUSED  # its own certificate, which nobody inside trusts
        assert reach(sandbox, f"https://{WWW}/", "-k") == REACHED
        fetch = f"import urllib.request as u; print(u.urlopen('https://{API}/', timeout=30).status)"
        assert sandbox.commands.run(f'python3 -c "{fetch}"').stdout.strip() == "200"

    holds(sandbox)
    assert sandbox.get_info().network["rules"] == masked(rules)
    sandbox.pause()
    sandbox.connect()
    holds(sandbox)
    [child] = sandbox.fork()
    made.append(child)
    holds(child)
    plain = create(made, dns_servers=[DNS])
    assert reach(plain, f"https://{API}/") == REFUSED  # one without rules trusts nobody new
    plain.update_network({"rules": rules, "dns_servers": [DNS]})
    holds(plain)
    plain.update_network({"dns_servers": [DNS]})
    assert told(plain, f"http://{API}/")["authorization"] == "guest"


def test_everything_goes_through_the_proxy(world: World, made: list[Any]) -> None:
    sandbox = create(made, egress_proxy=PROXY, dns_servers=[DNS])
    before = len(world.lines("socks"))
    assert reach(sandbox, f"http://{API}/") == REACHED
    assert world.lines("socks")[before:] == [f"socks {SITE} 80 {sites.USER}"]
    assert sandbox.get_info().network["egress_proxy"] == {"address": PROXY["address"], "username": sites.USER}
    sandbox.update_network({"egress_proxy": {**PROXY, "password": "wrong"}, "dns_servers": [DNS]})
    assert reach(sandbox, f"http://{API}/") == REFUSED
    sandbox.update_network({"egress_proxy": {"address": f"http://{SITE}:3128", **CREDENTIALS}, **NAMES})
    assert (reach(sandbox, f"http://{API}/"), reach(sandbox, f"http://{EVIL}/")) == (REACHED, REFUSED)
    assert world.lines("connect")[-1] == f"connect {SITE}:80 True"
    sandbox.update_network({"dns_servers": [DNS]})
    proxied = len(world.lines("connect")) + len(world.lines("socks"))
    assert reach(sandbox, f"http://{API}/") == REACHED
    assert len(world.lines("connect")) + len(world.lines("socks")) == proxied


def test_names_are_asked_of_the_servers_that_were_named(world: World, made: list[Any]) -> None:
    sandbox = create(made, dns_servers=[DNS])
    assert SITE in sandbox.commands.run(f"getent ahostsv4 {API}").stdout
    assert f"dns {API} 1" in world.lines("dns")
    assert sandbox.get_info().network["dns_servers"] == [DNS]
    sandbox.update_network({"dns_servers": []})
    asked = len(world.lines("dns"))
    assert sandbox.commands.run(f"getent ahostsv4 {API} || true").stdout == ""
    assert len(world.lines("dns")) == asked
    assert sandbox.get_info().network["dns_servers"] == []


def test_it_holds_with_the_next_server(world: World, made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {API: [{"transform": {"headers": {"X-Team": "ours"}}}]}
    sandbox = create(made, **NAMES, rules=rules)
    server = world.server
    server.kill()
    server.start()
    point_clients(monkeypatch, server)
    again = Sandbox.connect(sandbox.sandbox_id)
    assert told(again, f"https://{API}/")["x-team"] == "ours"
    assert reach(again, f"http://{EVIL}/") == REFUSED
    assert again.get_info().network["rules"] == masked(rules)


@pytest.mark.parametrize(
    ("network", "status"),
    [
        ({"allow_out": [API]}, "400"),  # needs everything else denied
        ({"deny_out": [API]}, "400"),
        ({"allow_out": ["no name"], "deny_out": [ALL_TRAFFIC]}, "400"),
        ({"rules": {f"h{n}.example": [] for n in range(11)}}, "400"),
        ({"rules": {API: [{}, {}]}}, "400"),
        ({"rules": {API: [{"transform": {"headers": {f"X-{n}": "v" for n in range(21)}}}]}}, "400"),
        ({"rules": {API: [{"transform": {"headers": {"Content-Length": "1"}}}]}}, "400"),
        ({"rules": {API: [{"transform": {"headers": {"X": "a\r\nb"}}}]}}, "400"),
        ({"rules": {API: [{"transform": {"headers": {"X": "${e2b.secrets.key}"}}}]}}, "501"),
        ({"dns_servers": ["10.0.0.1"]}, "400"),
        ({"dns_servers": ["dns.example"]}, "400"),
        ({"egress_proxy": {"address": "nowhere"}}, "400"),
        ({"egress_proxy": {"address": "10.0.0.1:1080"}}, "400"),
        ({"egress_proxy": {"address": "proxy.example:1080", "password": "alone"}}, "400"),
    ],
)
def test_what_cannot_be_is_said(world: World, network: dict[str, Any], status: str) -> None:
    with pytest.raises(SandboxException, match=status):
        Sandbox.create(network=network)


CREDENTIALS = {"username": sites.USER, "password": sites.PASSWORD}
