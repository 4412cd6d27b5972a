from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from roost.cli.main import build
from roost.domain.errors import EngineFailed
from roost.domain.ids import SandboxId
from roost.domain.node import Usage

from .server import Server


def told(server: Server, *words: str) -> object:
    ran = server.verb(*words, "--json")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_create_prints_the_id_alone(server: Server) -> None:
    made = server.verb("create", "--name", "ada", "-m", "task=7", "-e", "A=1", "--idle", "15m", "--timeout", "2h")
    assert re.fullmatch(rb"i[0-9a-z]{20}\n", made.stdout)
    assert b"roost exec ada" in made.stderr
    record = told(server, "info", "ada")
    assert isinstance(record, dict)
    assert record["metadata"] == {"task": "7"}
    assert (record["policy"]["idle_s"], record["policy"]["timeout_s"]) == (900, 7200)


def test_what_is_said_of_its_size_takes_the_place_of_the_templates(server: Server) -> None:
    def size(*words: str) -> object:
        made = told(server, "create", *words)
        assert isinstance(made, dict)
        return made["size"]

    assert size() == {"cpus": 2.0, "memory_mb": 2048, "disk_mb": 10240, "pids": 4096}
    assert size("--cpus", "0.5", "--memory", "512M") == {"cpus": 0.5, "memory_mb": 512, "disk_mb": 10240, "pids": 4096}
    assert size("--memory", "1.5GB", "--disk", "0") == {"cpus": 2.0, "memory_mb": 1536, "disk_mb": 0, "pids": 4096}
    for words, why in (("--memory", "512"), b"Write 512M, 4G"), (("--disk", "1x"), b"'1x'"), (("--memory", "1M"), b"needs 64"):
        refused = server.verb("create", *words)
        assert refused.returncode != 0 and why in refused.stderr


def test_rules_come_in_a_file(server: Server, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('{"api.example.com": {"X-Key": "secret"}, "old.example.com": {"headers": {"X-Key": "x"}, "plain": true}}')
    assert server.verb("create", "--name", "ada", "--rules", str(rules)).returncode == 0
    assert b"headers for api.example.com, old.example.com (also in plain http)" in server.verb("info", "ada").stdout
    rules.write_text("no JSON")
    refused = server.verb("update", "ada", "--rules", str(rules))
    assert refused.returncode != 0 and b"are no JSON" in refused.stderr
    rules.write_text("{}")
    assert told(server, "update", "ada", "--rules", str(rules))["network"]["rules"] == {}  # type: ignore[index]


def test_what_it_may_reach_is_said_and_changed(server: Server) -> None:
    assert (
        server.verb("create", "--name", "ada", "--no-internet", "--allow", "api.example.com", "--allow", "203.0.113.7").returncode
        == 0
    )
    network = told(server, "info", "ada")["network"]  # type: ignore[index]
    assert (network["internet"], network["allow"]) == (False, ["api.example.com", "203.0.113.7"])
    assert b"nothing but what is allowed; allow api.example.com, 203.0.113.7" in server.verb("info", "ada").stdout
    assert told(server, "info", "ada")["network"]["public"] is True  # type: ignore[index]
    assert told(server, "update", "ada", "--private")["network"]["public"] is False  # type: ignore[index]
    network = told(server, "update", "ada", "--internet", "--allow", "none", "--deny", "203.0.113.0/24")["network"]  # type: ignore[index]
    assert (network["internet"], network["allow"], network["deny"]) == (True, [], ["203.0.113.0/24"])
    refused = server.verb("update", "ada", "--allow", "api.example.com")
    assert refused.returncode != 0 and b"everything else is closed" in refused.stderr


def test_ls_lists_all_pages(server: Server) -> None:
    for _ in range(3):
        assert server.verb("create").returncode == 0
    forked = server.verb("fork", "-n", "60", told(server, "ls")[0]["id"])  # type: ignore[index]
    assert len(forked.stdout.split()) == 60
    forked = server.verb("fork", "-n", "60", told(server, "ls")[0]["id"])  # type: ignore[index]
    listed = told(server, "ls")
    assert isinstance(listed, list)
    assert len(listed) == 123
    assert len(server.verb("ls").stdout.splitlines()) == 124
    assert len({each["id"] for each in listed}) == 123


def test_ls_filters(server: Server, sandbox: str) -> None:
    server.verb("create", "--name", "bob", "-m", "a=1")
    server.verb("pause", "bob")
    assert [each["name"] for each in told(server, "ls", "--state", "paused")] == ["bob"]  # type: ignore[union-attr]
    assert [each["name"] for each in told(server, "ls", "-m", "a=1")] == ["bob"]  # type: ignore[union-attr]
    assert told(server, "ls", "--template", "other") == []
    server.verb("kill", "bob")
    assert [each["name"] for each in told(server, "ls")] == ["ada"]  # type: ignore[union-attr]
    assert {"ada", "bob"} <= {each["name"] for each in told(server, "ls", "--all")}  # type: ignore[union-attr]


def test_sleep_and_wake(server: Server, sandbox: str) -> None:
    assert server.verb("pause", sandbox).stdout.endswith(b" paused\n")
    assert server.verb("resume", sandbox).stdout.endswith(b" running\n")
    server.verb("pause", "--no-memory", sandbox)
    cold = server.verb("resume", sandbox)
    assert b"booted from its disk" in cold.stderr


def test_snapshots_are_taken_listed_used_and_removed(server: Server, sandbox: str) -> None:
    taken = server.verb("snapshot", "--name", "good", sandbox)
    snapshot = taken.stdout.strip().decode()
    assert snapshot in server.verb("snapshots").stdout.decode()
    listed = told(server, "snapshots", "ls", "--sandbox", sandbox)
    assert [each["id"] for each in listed] == [snapshot]  # type: ignore[union-attr]
    assert server.verb("create", "--template", "good").returncode == 0
    assert server.verb("snapshots", "rm", snapshot).stdout.decode() == f"{snapshot}\n"
    gone = server.verb("snapshots", "rm", snapshot)
    assert (gone.returncode, gone.stdout) == (1, b"")
    assert snapshot.encode() in gone.stderr


def test_fork_prints_a_list_and_tells_of_failures(server: Server, sandbox: str) -> None:
    children = told(server, "fork", "-n", "2", "--name", "a1", "--name", "a2", sandbox)
    assert [child["name"] for child in children] == ["a1", "a2"]  # type: ignore[union-attr]
    server.call(server.house.node.fail, "create", EngineFailed("restore", "no luck"))
    partly = server.verb("fork", "-n", "2", sandbox)
    assert partly.returncode == 1
    assert len(partly.stdout.split()) == 1
    assert b"failed: The engine could not restore: no luck" in partly.stderr


def test_kill_says_which_failed_and_kills_the_others(server: Server, sandbox: str) -> None:
    server.verb("create", "--name", "bob")
    ran = server.verb("kill", "ada", "nobody", "bob")
    assert ran.returncode == 1
    assert ran.stdout == b"ada\nbob\n"
    assert b"'nobody'" in ran.stderr
    assert told(server, "ls") == []
    assert server.verb("kill").returncode == 1


def test_holding_extending_and_asking_why(server: Server, sandbox: str) -> None:
    assert server.verb("extend", sandbox, "1h").returncode == 0
    assert server.verb("hold", sandbox, "10m", "--reason", "a demo").stdout.endswith(b"held for 10m\n")
    why = server.verb("activity", sandbox).stdout
    assert b"hold: a demo" in why
    assert b"deadline" in why
    assert server.verb("hold", sandbox, "0").stdout.endswith(b"let go\n")
    assert server.verb("update", sandbox, "--name", "eve", "--idle", "5m").returncode == 0
    assert told(server, "info", "eve")["policy"]["idle_s"] == 300  # type: ignore[index]
    server.verb("update", "eve", "--idle", "never")
    assert told(server, "info", "eve")["policy"]["idle_s"] is None  # type: ignore[index]


def test_events_and_logs_tell_what_happened(server: Server, sandbox: str) -> None:
    server.verb("pause", sandbox)
    kinds = [event["kind"] for event in told(server, "events", "--sandbox", sandbox)]  # type: ignore[union-attr]
    assert kinds == ["sandbox.created", "sandbox.paused"]
    logs = server.verb("logs", sandbox)
    assert b"sandbox.paused" in logs.stdout
    assert b"is paused" in logs.stderr


def test_top_shows_what_is_used(server: Server, sandbox: str) -> None:
    record = told(server, "info", sandbox)
    assert isinstance(record, dict)
    now = time.time() - 10
    samples = [Usage(now + at, at / 2, 1_500_000, 0, 0, 0) for at in (0.0, 5.0)]
    server.call(server.house.store.add_usage, SandboxId(record["id"]), samples)
    table = server.verb("top", "--once").stdout.decode().splitlines()
    assert table[0].split() == ["ID", "NAME", "CPU", "MEMORY", "DISK", "RECEIVED", "SENT"]
    assert "ada" in table[1]
    assert "50%" in table[1]
    assert "1.5 MB" in table[1]


def test_env_points_clients_here(server: Server) -> None:
    lines = dict(line.removeprefix("export ").split("=", 1) for line in server.verb("env").stdout.decode().splitlines())
    assert lines["ROOST_URL"] == lines["E2B_API_URL"] == lines["E2B_SANDBOX_URL"] == server.url
    assert lines["ROOST_API_KEY"] == lines["E2B_API_KEY"] == server.key
    assert lines["E2B_DOMAIN"] == f"roost.localhost:{server.url.rsplit(':')[-1]}"


def test_status_and_templates(server: Server, sandbox: str) -> None:
    status = server.verb("status").stdout.decode()
    assert server.url in status
    assert "engine 1" in status
    assert [each["name"] for each in told(server, "templates")] == ["base"]  # type: ignore[union-attr]


def test_keys_are_made_listed_and_revoked(server: Server) -> None:
    made = told(server, "keys", "create", "robot")
    assert isinstance(made, dict)
    assert b"robot" in server.verb("keys").stdout
    assert told(server, "keys", "rm", made["id"]) == [{"id": made["id"], "deleted": True}]
    refused = server.verb("ls", env={**server.env, "ROOST_API_KEY": made["secret"]})
    assert refused.returncode == 1
    assert b"API key" in refused.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["nonsense"], 2, "nonsense"),
        (["ls", "--nonsense"], 2, "--nonsense"),
        (["info"], 2, "SANDBOX"),
        (["info", "nobody"], 1, "roost: There is no sandbox 'nobody'"),
        (["create", "--timeout", "soon"], 1, "roost: 'soon' is no length of time"),
        (["create", "--metadata", "x"], 1, "roost: 'x' is no metadata"),
        (["create", "--template", "windows"], 1, "roost templates"),
        (["create", "--name", "No Good"], 1, "roost: 'No Good' cannot be a name"),
        (["cp", "a", "b"], 1, "roost: One of the two must be in a sandbox"),
        (["shell", "ada"], 1, "roost: A shell needs a terminal"),
    ],
)
def test_mistakes_are_told_with_a_way_out(server: Server, words: list[str], code: int, says: str) -> None:
    ran = server.verb(*words)
    assert ran.returncode == code
    assert ran.stdout == b""
    assert says in ran.stderr.decode()


def test_no_server_is_told_with_what_to_do(server: Server) -> None:
    nowhere = {name: value for name, value in server.env.items() if name != "ROOST_URL"}
    ran = server.verb("ls", env=nowhere)
    assert ran.returncode == 1
    assert b"roost up" in ran.stderr
    refused = server.verb("ls", env={**server.env, "ROOST_URL": "http://127.0.0.1:1"})
    assert refused.returncode == 1
    assert b"No Roost server answers at http://127.0.0.1:1" in refused.stderr
    assert server.verb("ls", env={**server.env, "ROOST_URL": "nonsense"}).returncode == 1


def test_every_verb_has_help(server: Server) -> None:
    from roost.cli.main import VERBS

    listed = server.cli("--help", env={**server.env, "COLUMNS": "200"}).stdout.decode()
    for verb in VERBS:
        assert f" {verb} " in listed
    assert server.cli("--version").stdout.startswith(b"roost ")


@pytest.mark.parametrize("words", [("events", "--sandbox"), ("logs",)])
def test_events_are_followed_as_they_happen(server: Server, sandbox: str, words: tuple[str, ...]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "roost.cli.main", *words, sandbox, "--follow", "--json"],
        stdout=subprocess.PIPE,
        env=server.env,
    ) as following:
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["kind"] == "sandbox.created"
        server.verb("pause", sandbox)
        assert json.loads(following.stdout.readline())["kind"] == "sandbox.paused"
        following.send_signal(signal.SIGINT)
        assert following.wait(30) == 130


def test_links_to_a_screen(server: Server, sandbox: str) -> None:
    made = server.verb("link", sandbox, "--control", "--for", "2h", "--label", "anna")
    assert re.fullmatch(rb"http://[^ ]+/app/screen#i[0-9a-z]{20}\.[0-9a-f]{64}\n", made.stdout)
    assert b"watch and take over for 2h" in made.stderr
    (kept,) = told(server, "links", sandbox)  # type: ignore[misc]
    assert (kept["mode"], kept["label"], "token" in kept) == ("control", "anna", False)
    heading, row = server.verb("links", sandbox).stdout.decode().splitlines()
    assert heading.split() == ["ID", "OPENS", "FOR", "AGE", "ENDS", "IN"]
    assert row.split()[:5] == [kept["id"], "screen,", "to", "drive", "anna"]
    assert server.verb("unlink", sandbox, kept["id"]).stdout.decode().strip() == kept["id"]
    assert told(server, "links", sandbox) == []
    another = told(server, "link", sandbox)["id"]  # type: ignore[index]
    assert told(server, "unlink", sandbox, another) == [{"id": another, "deleted": True}]
    assert b"has no link" in server.verb("unlink", sandbox, kept["id"]).stderr


def test_links_to_a_port(server: Server, sandbox: str) -> None:
    made = server.verb("link", sandbox, "--port", "8000", "--for", "15m", "--label", "ben")
    assert re.fullmatch(rb"http://8000-i[0-9a-z]{20}\.[^ ]+/\?roost_link=[0-9a-f]{64}\n", made.stdout)
    assert b"open port 8000 for 15m" in made.stderr
    (kept,) = told(server, "links", sandbox)  # type: ignore[misc]
    assert (kept["mode"], kept["port"], kept["label"]) == (None, 8000, "ben")
    row = server.verb("links", sandbox).stdout.decode().splitlines()[1]
    assert row.split()[:4] == [kept["id"], "port", "8000", "ben"]
    assert b"has no mode" in server.verb("link", sandbox, "--port", "8000", "--control").stderr
    server.verb("unlink", sandbox, kept["id"])
    assert told(server, "links", sandbox) == []


def options_of(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Every verb with its options; a group that runs without a word counts too."""
    inner = getattr(command, "commands", None)
    if not inner or command.invoke_without_command:
        yield words, {name for parameter in command.params for name in parameter.opts}
    for name, each in (inner or {}).items():
        yield from options_of(each, (*words, name))


def test_every_verb_speaks_json_but_the_one_that_is_a_terminal() -> None:
    every = dict(options_of(typer.main.get_command(build()), ()))
    silent = {" ".join(words) for words, options in every.items() if words and "--json" not in options}
    assert silent == {"shell"}
    assert len(every) > 40
