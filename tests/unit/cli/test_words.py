"""The two readings of `roost exec`, and the values people write."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command

from roost.cli.inside.execution import FLAGS, VALUES, Execution, read
from roost.cli.main import VERBS, build
from roost.cli.rendering import span, volume
from roost.cli.server.env import variables_for
from roost.cli.values import pairs, seconds
from roost.cli.words import mark_words
from roost.client.endpoint import Endpoint
from roost.domain.errors import Invalid


def test_both_readings_know_the_same_options() -> None:
    command = get_command(build("exec")).commands["exec"]  # type: ignore[attr-defined]
    declared = {
        name: parameter.name
        for parameter in command.params
        for name in parameter.opts
        if name.startswith("-") and name not in ("-h", "--help")
    }
    assert declared == {**FLAGS, **VALUES}


@pytest.mark.parametrize(
    "arguments",
    [
        ["ada", "ls"],
        ["ada", "--", "ls", "-l"],
        ["ada", "ls", "-l", "--", "x"],
        ["-i", "--user", "root", "ada", "-e", "A=1", "--env", "B=2", "cat", "-i"],
        ["--json", "ada", "--detach", "--timeout", "5s", "--cwd", "/", "--", "--odd"],
        ["ada", "-u", "-i", "--", "x"],
    ],
)
def test_both_readings_agree(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    quick = read(arguments)
    command = get_command(build("exec")).commands["exec"]  # type: ignore[attr-defined]
    found = command.make_context("exec", list(arguments)).params
    found["env"] = list(found["env"] or ())
    assert quick is not None
    quick.env = list(quick.env)
    quick.command = list(quick.command)
    assert quick == Execution(**{**found, "command": list(found["command"])})


@pytest.mark.parametrize(
    "arguments", [[], ["ada"], ["--help"], ["ada", "--"], ["--user"], ["--odd", "ada", "x"], ["-iu", "root", "ada", "x"]]
)
def test_what_needs_explaining_is_left_to_typer(arguments: list[str]) -> None:
    assert read(arguments) is None


@pytest.mark.parametrize(
    ("arguments", "marked"),
    [
        (["ada", "ls", "-l"], ["ada", "--", "ls", "-l"]),
        (["ada", "--", "ls"], ["ada", "--", "ls"]),
        (["-u", "root", "ada", "ls"], ["-u", "root", "ada", "--", "ls"]),
        (["ada"], ["ada"]),
    ],
)
def test_the_command_begins_at_the_second_word(arguments: list[str], marked: list[str]) -> None:
    assert mark_words(arguments, frozenset({"-u"})) == marked


@pytest.mark.parametrize(("text", "value"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("1d", 86400), (None, None)])
def test_lengths_of_time(text: str | None, value: float | None) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "soon", "-5", "5 minutes", "1e3", "infs"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(Invalid):
        seconds(text)


def test_pairs() -> None:
    assert pairs(["a=1", "b=x=y", "c="], "thing") == {"a": "1", "b": "x=y", "c": ""}
    with pytest.raises(Invalid, match="'=1' is no thing"):
        pairs(["=1"], "thing")


def test_amounts_read_well() -> None:
    assert [volume(n) for n in (0, 999, 1_500, 35_000_000, 123_456_789, 5e12)] == [
        "0 B",
        "999 B",
        "1.5 KB",
        "35.0 MB",
        "123 MB",
        "5.0 TB",
    ]
    assert [span(n) for n in (0, 59.9, 119, 120, 7199, 7200, 200_000)] == ["0s", "59s", "119s", "2m", "119m", "2h", "2d"]


def test_every_verb_can_be_built_alone() -> None:
    for verb in VERBS:
        assert list(get_command(build(verb)).commands) == [verb]  # type: ignore[attr-defined]


def test_clients_of_a_server_with_tls_trust_the_machine_too() -> None:
    """Both variables take the place of what a machine with an authority of its own had set."""
    endpoint = Endpoint("https://127.0.0.1:4700", "key", Path("/home/tls/ca.pem"))
    variables = variables_for(endpoint, "sbx.localhost")
    assert variables["SSL_CERT_FILE"] == variables["NODE_EXTRA_CA_CERTS"] == "/home/tls/bundle.pem"
    assert variables["E2B_DOMAIN"] == "sbx.localhost:4700" and "E2B_SANDBOX_URL" not in variables
    assert not {"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"} & set(variables_for(Endpoint("http://h:1", "key", None), "x.y"))
