"""Verbs by which agents and people meet, and by which mistakes are taken back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from roost.client import Roost, questions
from roost.contracts.store import EventQuery
from roost.domain.events import EventKind

from .server import Server


def told(server: Server, *words: str) -> Any:
    ran = server.verb(*words, "--json")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def asked(server: Server, *words: str) -> str:
    ran = server.verb("ask", "ada", "--no-wait", *words)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.decode().strip()


async def next_question(server: Server, seen: int) -> str:
    who = await server.house.services.keys.identify(server.key)
    async for event in server.house.services.events.follow(who, EventQuery(kinds=(EventKind.QUESTION_ASKED,), after=seen)):
        return str(event.facts["question"])
    raise AssertionError("the feed never ends")


@contextmanager
def asking(server: Server, *words: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A `roost ask` that waits, and what it asked."""
    seen = server.call(server.house.services.events.newest)
    command = [sys.executable, "-m", "roost.cli.main", "ask", "ada", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=server.env) as waiting:
        yield server.call(next_question, server, seen), waiting


@pytest.mark.parametrize(("answer", "code"), [("approve", 0), ("deny", 1)])
def test_ask_waits_prints_the_answer_and_ends_with_it(server: Server, sandbox: str, answer: str, code: int) -> None:
    with asking(server, "Deploy?", "--approve") as (question, waiting):
        assert server.verb("answer", question, answer, "--text", "by Friday").returncode == 0
        output, error = waiting.communicate(timeout=60)
    assert (waiting.returncode, output) == (code, f"{answer}\nby Friday\n".encode()), error


def test_what_nobody_answers_has_an_exit_code_of_its_own(server: Server, sandbox: str) -> None:
    with asking(server, "Anybody?") as (question, waiting):
        with Roost(server.url, server.key) as roost:
            roost.run(questions.withdraw(question))
        output, error = waiting.communicate(timeout=60)
    assert (waiting.returncode, output) == (3, b"")
    assert b"withdrawn" in error


def test_questions_are_listed_shown_and_answered_once(server: Server, sandbox: str) -> None:
    question = asked(server, "Deploy\nto production?", "--approve", "--ttl", "2h")
    assert question.encode() in server.verb("questions").stdout
    shown = server.verb("answer", question).stdout
    assert shown == b"Deploy\nto production?\nAnswer with: approve | deny\n"
    assert server.verb("answer", question, "perhaps").returncode == 1
    assert server.verb("answer", question, "deny", "--text", "not on a Friday").returncode == 0
    again = server.verb("answer", question, "approve")
    assert again.returncode == 1 and b"already" in again.stderr
    assert told(server, "questions") == []
    closed = told(server, "questions", "--all", "ada")[0]
    assert (closed["answer"]["choice"], closed["answer"]["text"]) == ("deny", "not on a Friday")


def test_a_killed_one_is_listed_and_brought_back(server: Server, sandbox: str) -> None:
    dead = told(server, "info", "ada")["id"]
    assert dead not in server.verb("ls", "--dead").stdout.decode()
    server.verb("kill", "ada")
    assert dead.encode() in server.verb("ls", "--dead").stdout
    back = server.verb("undelete", dead)
    assert back.returncode == 0 and b"called ada again" in back.stderr
    assert told(server, "info", "ada")["id"] == back.stdout.decode().strip() != dead
    server.verb("kill", "--now", "ada")
    assert dead not in {each["id"] for each in told(server, "ls", "--dead")}
    assert server.verb("undelete", dead).returncode == 1


def test_back_to_a_snapshot(server: Server, sandbox: str) -> None:
    server.verb("snapshot", "--name", "sound", "ada")
    assert server.verb("rollback", "ada", "sound").returncode == 0
    names = [each["name"] for each in told(server, "snapshots", "ls", "--sandbox", "ada")]
    assert any(name.startswith("before-rollback-") for name in names)
    assert server.verb("rollback", "ada", "nothing").returncode == 1
