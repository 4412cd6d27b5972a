"""`roost template build`."""

from __future__ import annotations

import os
import platform as machine
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.progress import transferring
from roost.cli.rendering import note, say, say_json
from roost.cli.templates.showing import follow, show_end, show_failure
from roost.cli.values import megabytes, pairs
from roost.domain.errors import Invalid
from roost.domain.template_ref import split_ref

if TYPE_CHECKING:
    from roost.dockerfile.archives import Archive
    from roost.domain.build import Definition

PLATFORMS = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}


def build(
    ref: Annotated[str, typer.Argument(metavar="NAME[:TAG]", help="What the template is called.", show_default=False)],
    image: Annotated[str | None, typer.Option("--from", metavar="IMAGE", help="An image of a registry: debian:12.")] = None,
    dockerfile: Annotated[Path | None, typer.Option("--dockerfile", "-f", help="A Dockerfile.", show_default=False)] = None,
    context: Annotated[Path | None, typer.Option(help="The directory that COPY takes from; else the Dockerfile's own.")] = None,
    target: Annotated[str, typer.Option(help="The stage that becomes the template; else the last.")] = "",
    build_arg: Annotated[list[str] | None, typer.Option("--build-arg", metavar="NAME=VALUE")] = None,
    secret: Annotated[
        list[str] | None, typer.Option("--secret", metavar="id=ID,src=FILE", help="In no layer and no log.")
    ] = None,
    start: Annotated[str | None, typer.Option(help="What runs in every sandbox; else ENTRYPOINT and CMD.")] = None,
    ready: Annotated[str | None, typer.Option(help="Succeeds once that is up; else HEALTHCHECK.")] = None,
    description: Annotated[str, typer.Option(help="For people.")] = "",
    cpus: Annotated[float | None, typer.Option(help="Cores of the build and of the sandboxes.")] = None,
    memory: Annotated[str | None, typer.Option(help="Their memory (512M, 4G).")] = None,
    disk: Annotated[str | None, typer.Option(help="Their disk (20G).")] = None,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Use what earlier builds did.")] = True,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Print the build's id and do not wait.")] = False,
    as_json: AsJson = False,
) -> None:
    """Build a template from an image or a Dockerfile. Only steps run whose result is not there yet."""
    name, tag = split_ref(ref)
    if (image is None) == (dockerfile is None):
        raise Invalid("invalid", "Say what it is made from: either --from IMAGE or --dockerfile FILE.")
    size = {"cpus": cpus, "memory_mb": megabytes(memory), "disk_mb": megabytes(disk)}
    request = {
        "tag": tag,
        "description": description,
        "cache": cache,
        "secrets": _secrets(secret or []) or None,
        "size": {each: value for each, value in size.items() if value is not None} or None,
    }
    with connect() as roost, tempfile.TemporaryDirectory(prefix="roost-build-") as folder:
        archives: tuple[Archive, ...] = ()
        if dockerfile is not None:
            arguments = pairs(build_arg, "build argument")
            definition, archives = _read(dockerfile, context, target, arguments, Path(folder))
        else:
            definition = _from_image(str(image))
        definition = _with_commands(definition, start, ready)
        for archive in archives:
            _send(roost, archive)
        begun = roost.begin_build(name, asdict(definition), **request)
        if detach:
            say_json(begun) if as_json else say(begun["id"])
            return
        ended = follow(roost, begun["id"], total=len(begun["steps"]), as_json=as_json, is_quiet=True)
    if as_json:
        say_json(ended)
    elif ended["state"] == "ready":
        show_end(ended)
    elif ended["failure"]:
        show_failure(ended)
        note(f"The log is kept: roost template logs {ended['id']}")
    else:
        note(f"The build was {ended['state']}.")
    if ended["state"] != "ready":
        raise typer.Exit(1)


def _read(
    dockerfile: Path, context: Path | None, target: str, arguments: dict[str, str], folder: Path
) -> tuple[Definition, tuple[Archive, ...]]:
    from roost.dockerfile.context import pack
    from roost.dockerfile.parsing import parse
    from roost.dockerfile.tree import Tree, read_ignore

    try:
        text = dockerfile.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid("dockerfile_unreadable", f"{dockerfile} cannot be read: {error}.", file=str(dockerfile)) from error
    directory = context or dockerfile.parent
    if not directory.is_dir():
        raise Invalid("context_missing", f"{directory} is no directory. --context names the one that COPY takes from.")
    definition = parse(text, arguments=arguments, target=target, platform=PLATFORMS.get(machine.machine(), "linux/amd64"))
    packed = pack(definition, Tree(directory, read_ignore(directory, dockerfile)), folder)
    for said in packed.definition.notes:
        note(said)
    return packed.definition, packed.archives


def ensure_image(roost: Any, reference: str, *, size: dict[str, Any] | None, as_json: bool) -> str:
    """The template of an image, built now unless it is there and the image is still the same. Raises Invalid, and exits when
    the build fails, which is shown then."""
    from roost.domain.image import Reference, template_name

    name = template_name(Reference.parse(reference))
    begun = roost.begin_build(name, asdict(_from_image(reference)), size=size, description=f"the image {reference}"[:200])
    ended = follow(roost, begun["id"], total=len(begun["steps"]), as_json=as_json, is_quiet=True)
    if ended["state"] != "ready":
        if ended["failure"]:
            show_failure(ended)
        raise typer.Exit(1)
    return name


def _from_image(reference: str) -> Definition:
    from roost.domain.build import Definition, FromImage, Place, Stage

    return Definition((Stage("", FromImage(reference), (), Place(1, f"FROM {reference}")),))


def _with_commands(definition: Definition, start: str | None, ready: str | None) -> Definition:
    from roost.domain.template_command import TemplateCommand

    if start is not None:
        definition = replace(definition, start=TemplateCommand(start, user=""))
    if ready is not None:
        definition = replace(definition, ready=TemplateCommand(ready, user=""))
    return definition


def _send(roost: Any, archive: Archive) -> None:
    with transferring("Sending files", archive.size_bytes) as bar, archive.path.open("rb") as file:

        def pieces() -> Any:
            while piece := file.read(1 << 20):
                bar.advance(len(piece))
                yield piece

        roost.upload(archive.digest, pieces())


def _secrets(given: list[str]) -> dict[str, str]:
    """`id=ID,src=FILE` or `id=ID,env=NAME`. Raises Invalid."""
    found: dict[str, str] = {}
    for text in given:
        fields: dict[str, str] = {}
        for part in text.split(","):
            field, _, value = part.partition("=")
            fields[field] = value
        name, file, variable = fields.get("id", ""), fields.get("src") or fields.get("source"), fields.get("env")
        if not name or not (file or variable or name in os.environ):
            raise Invalid("invalid", f"{text!r} is no secret. Write id=ID,src=FILE or id=ID,env=NAME.", value=text)
        try:
            found[name] = Path(file).read_text() if file else os.environ[variable or name]
        except (OSError, KeyError, UnicodeDecodeError) as error:
            raise Invalid("secret_unreadable", f"The secret {name!r} cannot be read: {error}.", secret=name) from error
    return found
