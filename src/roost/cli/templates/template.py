"""`roost template`: what sandboxes are made from, listed, built, tagged and removed."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from roost.cli.connection import connect
from roost.cli.options import AsJson
from roost.cli.progress import waiting
from roost.cli.rendering import age, note, one_line, say, say_json, say_table, span
from roost.cli.templates.build import build
from roost.cli.templates.showing import duration_s, follow, show_failure, shown
from roost.cli.values import seconds
from roost.domain.template_ref import split_ref

template = typer.Typer(help="Make templates of your own: what sandboxes are made from.", no_args_is_help=True)
template.command()(build)

Ref = Annotated[str, typer.Argument(metavar="TEMPLATE", help="NAME or NAME:TAG.", show_default=False)]
BuildId = Annotated[str, typer.Argument(metavar="BUILD", help="A build's id, or a template: its last build.", show_default=False)]


@template.command()
def ls(as_json: AsJson = False) -> None:
    """List templates."""
    with connect() as roost:
        records = roost.templates()
    if as_json:
        say_json([record.raw for record in records])
        return
    rows = (
        (record.name, record.raw["tag"], "Roost" if record.raw["is_built_in"] else "yours", str(record.raw["sandboxes"]),
         age(record.created_at), one_line(record.description))
        for record in records
    )  # fmt: skip
    say_table(("NAME", "TAG", "MADE BY", "SANDBOXES", "AGE", "DESCRIPTION"), rows)


@template.command()
def info(ref: Ref, as_json: AsJson = False) -> None:
    """Show a template and its last builds."""
    from roost.client import builds, calls

    name, _ = split_ref(ref)
    with connect() as roost:
        record = roost.run(calls.get_template(ref))
        made = roost.run(builds.find(name, limit=5))
    if as_json:
        say_json({**record.raw, "builds": made})
        return
    raw = record.raw
    size = raw["size"]
    say(f"{raw['name']}:{raw['tag']}  {one_line(raw['description'])}".rstrip())
    say(f"id {raw['id']}, snapshot {raw['snapshot']}, made {age(record.created_at)} ago, used by {raw['sandboxes']} sandboxes")
    say(f"user {raw['user']}, workdir {raw['workdir']}, {size['cpus']:g} cores, {size['memory_mb']} MB")
    if made:
        _say_builds(made)


@template.command()
def builds(
    name: Annotated[str | None, typer.Argument(metavar="TEMPLATE", help="Only those of it.")] = None, as_json: AsJson = False
) -> None:
    """List builds, newest first."""
    from roost.client import builds as calls

    with connect() as roost:
        found = roost.run(calls.find(name))
    if as_json:
        say_json(found)
    elif found:
        _say_builds(found)
    else:
        note("No builds. `roost template build NAME --dockerfile Dockerfile` begins one.")


@template.command()
def logs(
    ref: BuildId,
    following: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the build has ended.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print what a build says, or said."""
    with connect() as roost:
        build = _find_build(roost, ref)
        if following or build["state"] not in ("queued", "building"):
            follow(roost, build["id"], total=len(build["steps"]), as_json=as_json)
            return
        content = roost.run(_read_log(build["id"]))
    for line in content["lines"]:
        if as_json:
            say_json(line)
        else:
            say(shown(line["text"]))
    note(f"It is still {build['state']}. --follow goes on.")


@template.command()
def cancel(ref: BuildId, as_json: AsJson = False) -> None:
    """Cancel a build. What it has done is kept: the same build goes on from there."""
    from roost.client import builds as calls

    with connect() as roost:
        ended = roost.run(calls.cancel(_find_build(roost, ref)["id"]))
    if as_json:
        say_json(ended)
    else:
        say(ended["id"])


@template.command()
def rm(
    refs: Annotated[
        list[str], typer.Argument(metavar="TEMPLATE...", help="NAME: all its tags; NAME:TAG: one.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Remove templates. Sandboxes that were made from them live on."""
    from roost.client import builds as calls

    removed: list[dict[str, Any]] = []
    with connect() as roost:
        for ref in refs:
            removed += roost.run(calls.remove(ref))
    if as_json:
        say_json(removed)
        return
    for each in removed:
        say(f"{each['name']}:{each['tag']}")


@template.command()
def tag(
    ref: Ref,
    name: Annotated[str, typer.Argument(metavar="TAG", help="It names the same template from now on.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Give a template another tag. To go back to an older build: `roost template tag NAME:OLD latest`."""
    from roost.client import builds as calls

    with connect() as roost:
        made = roost.run(calls.tag(ref, name))
    if as_json:
        say_json(made)
    else:
        say(f"{made['name']}:{made['tag']}")


@template.command()
def prune(
    unused: Annotated[str, typer.Option(help="Only what no build used for so long (1h, 7d).")] = "0",
    as_json: AsJson = False,
) -> None:
    """Delete the results of build steps that no build needs now. Templates and sandboxes are not touched."""
    from roost.client import builds as calls

    with connect() as roost, waiting("Deleting layers"):
        count = roost.run(calls.prune(seconds(unused) or 0.0))
    if as_json:
        say_json({"layers": count})
    else:
        say(f"{count} layers are gone.")


def _find_build(roost: Any, ref: str) -> dict[str, Any]:
    from roost.client import builds as calls
    from roost.domain.errors import NotFound
    from roost.domain.ids import is_id

    if is_id(ref):
        return roost.run(calls.get(ref))
    name, _ = split_ref(ref)
    found = roost.run(calls.find(name, limit=1))
    if not found:
        raise NotFound(
            "build_not_found", f"Template {name!r} was never built here. `roost template builds` lists builds.", name=name
        )
    return found[0]


def _read_log(id: str) -> Any:
    from roost.client.calls import Call

    return Call("GET", f"/v1/builds/{id}/logs", lambda content: content, params=(("limit", "10000"),), repeatable=True)


def _say_builds(found: list[dict[str, Any]]) -> None:
    rows = []
    for each in found:
        ran = sum(step["state"] in ("done", "failed") for step in each["steps"])
        took = duration_s(each)
        rows.append((each["id"], each["template"], each["state"], f"{ran}/{len(each['steps'])}", span(took) if took else "-"))
    say_table(("BUILD", "TEMPLATE", "STATE", "STEPS RUN", "TOOK"), rows)
    if found and found[0]["failure"]:
        show_failure(found[0])
