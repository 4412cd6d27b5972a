"""`roost up`."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roost.cli.rendering import say, say_json_line
from roost.domain.errors import Conflict, Fault, TimedOut

if TYPE_CHECKING:
    from roost.settings import Settings

STARTS_WITHIN_S = 900.0  # the first start builds the templates
TAIL_BYTES = 4000

Home = Annotated[Path | None, typer.Option("--home", help="The directory that holds everything of this Roost.")]


def up(
    home: Home = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen on.")] = None,
    domain: Annotated[str | None, typer.Option(help="Sandboxes are reached at <port>-<sandbox>.<domain>.")] = None,
    tls: Annotated[bool | None, typer.Option("--tls/--no-tls", help="Speak https, with a certificate made here.")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Your own certificate for the domain and *.<domain>.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key.")] = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Serve in the background.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print address, pid and key as JSON once it serves.")] = False,
    ready_fd: Annotated[int | None, typer.Option("--ready-fd", hidden=True)] = None,
) -> None:
    """Make this machine ready, if it is not, and serve. Ctrl-C ends the server; sandboxes live on until the next
    one."""
    from roost.settings import Settings

    settings = Settings.load(home=home, host=host, port=port, domain=domain, tls=tls, tls_cert=tls_cert, tls_key=tls_key)
    _refuse_second(settings)
    _refuse_taken_port(settings)
    if settings.is_exposed and ready_fd is None:
        warn_of_exposure(settings)
    if detach:
        _install(settings)
        given = {"--host": host, "--port": port, "--domain": domain, "--tls-cert": tls_cert, "--tls-key": tls_key}
        words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
        words += [] if tls is None else ["--tls" if tls else "--no-tls"]
        _serve_in_background(settings, words, as_json=as_json)
    else:
        _serve(settings, _install(settings), ready_fd, as_json=as_json)


def _refuse_second(settings: Settings) -> None:
    from roost.setup.running import find_running, is_held

    if not is_held(settings.home):
        return
    running = find_running(settings.home)
    who = f"at {running.url} (pid {running.pid})" if running else "and is still starting"
    raise Conflict(
        "already_running",
        f"A server runs on {settings.home} already, {who}. `roost down` ends it; another home makes a second one (--home).",
        home=str(settings.home),
    )


def _refuse_taken_port(settings: Settings) -> None:
    """Before the minutes that setting up may take; the server takes the port for good later."""
    from roost.listening import listening

    with listening(settings.host, settings.port):
        pass


def _install(settings: Settings) -> Any:
    from rich.console import Console

    from roost.setup.boards import show_progress
    from roost.setup.installation import install

    with show_progress(Console(stderr=True, highlight=False)) as board:
        return install(settings, board, with_puller=False)  # built when the first image is asked for


def _serve(settings: Settings, installation: Any, ready_fd: int | None, *, as_json: bool) -> None:
    import anyio

    from roost.serving import server as serving
    from roost.setup.commands import search_path

    os.environ["PATH"] = search_path()  # for whatever the server starts, nft first of all

    def on_ready(info: serving.ServerInfo) -> None:
        told = {"url": info.url, "pid": info.pid, "key": info.key, "ca": str(info.ca) if info.ca else None}
        if ready_fd is not None:
            os.write(ready_fd, json.dumps(told).encode())
            os.close(ready_fd)
        tell_service_manager("READY=1")
        if ready_fd is not None:
            return
        if as_json:
            say_json_line(told)
        else:
            greet(settings, info.url, info.key, str(info.ca) if info.ca else None)
            say("\nCtrl-C ends the server; sandboxes live on.")
            sys.stdout.flush()

    async def serve() -> None:
        await serving.serve(settings, installation, on_ready=on_ready)

    anyio.run(serve, backend_options={"use_uvloop": True})


def tell_service_manager(state: str) -> None:
    """What systemd waits for with Type=notify. Nobody listens unless it started us."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as told, suppress(OSError):
        told.connect("\0" + address[1:] if address.startswith("@") else address)
        told.send(state.encode())


def _serve_in_background(settings: Settings, options: list[str], *, as_json: bool) -> None:
    """Starts a server that outlives us and waits until it serves: it writes to a pipe when it does, or ends and closes
    it."""
    reader, writer = os.pipe()
    words = [sys.executable, "-m", "roost.cli.main", "up", "--home", str(settings.home), "--ready-fd", str(writer)]
    words += options
    log = settings.home / "server.log"
    with log.open("ab") as out:
        started_at = out.tell()
        child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, pass_fds=(writer,)
        )
    os.close(writer)
    try:
        ready, _, _ = select.select([reader], [], [], STARTS_WITHIN_S)
        told = os.read(reader, 65536) if ready else None
    finally:
        os.close(reader)
    if told:
        info = json.loads(told)
        if as_json:
            say_json_line(info)
            return
        greet(settings, info["url"], info["key"], info["ca"])
        say("\n`roost down` ends the server; sandboxes live on.")
        return
    if told is None:
        raise TimedOut(
            "server_does_not_start",
            f"The server (pid {child.pid}) does not serve after {STARTS_WITHIN_S:g} s; it goes on trying. Its log: {log}.",
            pid=child.pid,
        )
    child.wait()
    raise Fault("server_ended", f"The server ended while it started. The end of its log, {log}:\n{_tail(log, started_at)}")


def _tail(log: Path, start: int) -> str:
    with log.open("rb") as content:
        content.seek(max(start, content.seek(0, os.SEEK_END) - TAIL_BYTES))
        return content.read().decode(errors="replace").strip()


def greet(settings: Settings, url: str, key: str, ca: str | None = None) -> None:
    """The address, the key, whom to trust, and what to try next."""
    from roost.client.endpoint import DEFAULT_HOME

    command = "roost" if shutil.which("roost") else shlex.quote(os.path.relpath(Path(sys.executable).parent / "roost"))
    say(f"Roost serves at {url}{_elsewhere(settings, url)}")
    say(f"Mission Control {url}/ (in a browser; sign in with the key)")
    say(f"API key         {key}")
    if ca is not None:
        say(f"Clients trust   {ca} (`roost env` sets what E2B's clients need)")
    say("\nTry, in another terminal:")
    if settings.home != DEFAULT_HOME:
        say(f"  export ROOST_HOME={shlex.quote(str(settings.home))}")
    say(f"  {command} create --name demo")
    say(f"  {command} exec demo -- python3 -c 'print(6 * 7)'")
    say(f"  {command} pause demo && {command} resume demo")


def warn_of_exposure(settings: Settings) -> None:
    """On stderr, so that it is seen with `--json` too, and before the server takes its first key over the wire."""
    where = f"{settings.host}:{settings.port}"
    typer.secho(
        f"WARNING: Roost listens on {where}, for others than this machine, without TLS.", err=True, bold=True, fg="yellow"
    )
    typer.echo(
        "Whoever is on the way can read what passes: API keys, commands, files, screens. A key that was read opens everything.\n"
        "Use --tls, or --host 127.0.0.1 with a proxy in front that speaks https: docs/guides/tls.md.\n",
        err=True,
    )


def _elsewhere(settings: Settings, url: str) -> str:
    """The other addresses at which a server is reached that listens on all of them."""
    if settings.host not in ("0.0.0.0", "::"):
        return ""
    own = _address_of_machine()
    return " and every other address of this machine" + (f", such as {url.replace('127.0.0.1', own)}" if own else "")


def _address_of_machine() -> str | None:
    """The one that this machine uses to speak to the world. Sends nothing: it only asks for the route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return probe.getsockname()[0]
