"""`roost`: finds the verb that was asked for and runs it.

Only the verb's own module is imported, because the command line is started often: once for each command of an agent.
Exit codes: 0 success, 1 an error of Roost's (told on stderr), 2 wrong usage, 130 interrupted; `exec` and `shell` pass
on their command's.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import Any

SANDBOXES = "Sandboxes"
INSIDE = "Inside a sandbox"
WATCHING = "Watching"
PEOPLE = "People"
SERVER = "The server"


@dataclass(frozen=True, slots=True)
class CliVerb:
    module: str
    function: str
    panel: str
    group: str = ""  # reached as `roost GROUP FUNCTION`
    keeps_words: bool = False  # what follows the sandbox is a command of the user's, not options of ours


VERBS: dict[str, CliVerb] = {
    "create": CliVerb("sandboxes.create", "create", SANDBOXES),
    "ls": CliVerb("sandboxes.ls", "ls", SANDBOXES),
    "info": CliVerb("sandboxes.info", "info", SANDBOXES),
    "update": CliVerb("sandboxes.update", "update", SANDBOXES),
    "pause": CliVerb("sandboxes.pause", "pause", SANDBOXES),
    "resume": CliVerb("sandboxes.resume", "resume", SANDBOXES),
    "snapshot": CliVerb("sandboxes.snapshot", "snapshot", SANDBOXES),
    "snapshots": CliVerb("sandboxes.snapshots", "snapshots", SANDBOXES),
    "fork": CliVerb("sandboxes.fork", "fork", SANDBOXES),
    "extend": CliVerb("sandboxes.extend", "extend", SANDBOXES),
    "hold": CliVerb("sandboxes.hold", "hold", SANDBOXES),
    "kill": CliVerb("sandboxes.kill", "kill", SANDBOXES),
    "undelete": CliVerb("sandboxes.undelete", "undelete", SANDBOXES),
    "rollback": CliVerb("sandboxes.rollback", "rollback", SANDBOXES),
    "templates": CliVerb("sandboxes.templates", "templates", SANDBOXES),
    "template": CliVerb("templates.template", "template", SANDBOXES),
    "exec": CliVerb("inside.exec", "exec_", INSIDE, keeps_words=True),
    "attach": CliVerb("inside.attach", "attach", INSIDE),
    "shell": CliVerb("inside.shell", "shell", INSIDE),
    "cp": CliVerb("inside.cp", "cp", INSIDE),
    "desktop": CliVerb("inside.desktop", "desktop", INSIDE),
    "ps": CliVerb("inside.ps", "ps", INSIDE),
    "ports": CliVerb("inside.ports", "ports", INSIDE),
    "history": CliVerb("inside.history", "history", INSIDE),
    "token": CliVerb("inside.token", "token", INSIDE),
    "logs": CliVerb("watching.logs", "logs", WATCHING),
    "events": CliVerb("watching.events", "events", WATCHING),
    "activity": CliVerb("watching.activity", "activity", WATCHING),
    "link": CliVerb("watching.links", "link", WATCHING),
    "links": CliVerb("watching.links", "links", WATCHING),
    "unlink": CliVerb("watching.links", "unlink", WATCHING),
    "top": CliVerb("watching.top", "top", WATCHING),
    "ask": CliVerb("people.ask", "ask", PEOPLE),
    "questions": CliVerb("people.questions", "questions", PEOPLE),
    "answer": CliVerb("people.answer", "answer", PEOPLE),
    "up": CliVerb("server.up", "up", SERVER),
    "down": CliVerb("server.down", "down", SERVER),
    "status": CliVerb("server.status", "status", SERVER),
    "env": CliVerb("server.env", "env", SERVER),
    "keys": CliVerb("server.keys", "keys", SERVER),
    "setup": CliVerb("server.setup", "setup", SERVER),
    "doctor": CliVerb("server.doctor", "doctor", SERVER),
    "install-service": CliVerb("server.install_service", "install_service", SERVER),
    "config": CliVerb("server.config", "show", SERVER, group="config"),
}


def main() -> None:
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        sys.stdout.write(f"roost {installed_version()}\n")
        return
    sys.exit(run(arguments))


def installed_version() -> str:
    from importlib.metadata import version

    return version("roost")


def run(arguments: list[str]) -> int:
    """Runs one command line and returns its exit code."""
    from roost.domain.errors import RoostError

    _spare_what_is_not_used()
    try:
        if arguments[:1] == ["exec"]:
            from roost.cli.inside.execution import execute, read

            if asked := read(arguments[1:]):
                return execute(asked)
        return _run_with_typer(arguments)
    except RoostError as error:
        sys.stderr.write(f"roost: {error.message}\n")
        return 1
    except KeyboardInterrupt:
        return 130


def _run_with_typer(arguments: list[str]) -> int:
    import typer

    try:
        asked = next((word for word in arguments if not word.startswith("-")), None)
        result = build(asked)(arguments, prog_name="roost", standalone_mode=False)
    except typer.Exit as leaving:
        return leaving.exit_code
    except typer.Abort:
        return 130
    except Exception as error:
        show = getattr(error, "show", None)  # a usage error: Typer does not offer its class for catching
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", 2))
    return result if isinstance(result, int) else 0


def build(asked: str | None = None) -> Any:
    """The application: with the one verb that was asked for, or with all of them when there is none such (to list
    them)."""
    import typer

    app = typer.Typer(
        name="roost",
        help="Computers for AI agents: they sleep with their memory, wake where they left off, fork and roll back.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def roost(
        version: bool = typer.Option(False, "--version", "-V", help="Print the version and exit."),
    ) -> None:
        """Computers for AI agents: they sleep with their memory, wake where they left off, fork and roll back."""

    for name in [asked] if asked in VERBS else VERBS:
        _register(app, name, VERBS[name])
    return app


def _register(app: Any, name: str, verb: CliVerb) -> None:
    module = importlib.import_module(f"roost.cli.{verb.module}")
    function = getattr(module, verb.function)
    if verb.keeps_words:
        from roost.cli.words import WordsCommand

        app.command(name, cls=WordsCommand, rich_help_panel=verb.panel)(function)
    elif verb.group:
        app.add_typer(_group(function, verb), name=name, rich_help_panel=verb.panel)
    elif hasattr(function, "registered_commands"):
        app.add_typer(function, name=name, rich_help_panel=verb.panel)
    else:
        app.command(name, rich_help_panel=verb.panel)(function)


def _group(function: Any, verb: CliVerb) -> Any:
    """A verb of two words: a group that is listed under its one function's first sentence."""
    import typer

    group = typer.Typer(help=(function.__doc__ or "").partition(": ")[0] + ".", no_args_is_help=True)
    group.callback()(lambda: None)
    group.command(verb.function)(function)
    return group


def _spare_what_is_not_used() -> None:
    """httpx and httpcore import whatever they find installed: a command line of their own (with pygments and most of
    rich), HTTP/2, SOCKS. That is more than half of their start-up time. A module that is None counts as not installed,
    which they are prepared for."""
    for module in ("httpx._main", "h2", "socksio"):
        sys.modules.setdefault(module, None)  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    main()
