"""Templates made by E2B's own builder: the Python SDK, and its command line."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from e2b import Sandbox, Template, wait_for_file, wait_for_port
from e2b.exceptions import BuildException

from tests.real.server import Server


@pytest.fixture
def name(server: Server) -> Iterator[str]:
    """Of a template that is gone afterwards."""
    name = f"t-{secrets.token_hex(4)}"
    yield name
    for each in (name, f"{name}-above"):
        httpx.delete(f"{server.url}/templates/{each}", headers={"X-API-KEY": server.key}, trust_env=False)


def test_every_kind_of_step_is_carried_out(name: str, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.py").write_text("print('from the app')\n")
    (tmp_path / "app" / "link.py").symlink_to("main.py")
    (tmp_path / "note.txt").write_text("a note\n")
    template = (
        Template(file_context_path=tmp_path)
        .from_base_image()
        .set_envs({"GREETING": "hello"})
        .set_envs({"WHOLE": "$GREETING world"})
        .copy("app", "/srv/app")
        .copy("note.txt", "notes/", mode=0o600)
        .set_workdir("/srv/app")
        .run_cmd("python3 main.py > /tmp/said; whoami >> /tmp/said; pwd >> /tmp/said")
        .run_cmd("whoami > /root/who", user="root")
        .set_user("worker")
        .make_dir("/tmp/made")
        .set_start_cmd("touch /tmp/started && sleep infinity", wait_for_file("/tmp/started"))
    )
    said: list[str] = []
    info = Template.build(template, name, cpu_count=1, memory_mb=512, on_build_logs=lambda line: said.append(line.message))
    assert info.name == name and said
    sandbox = Sandbox.create(name)
    try:
        run = sandbox.commands.run
        assert run("cat /tmp/said").stdout.split("\n") == ["from the app", "user", "/srv/app", ""]
        assert run("cat /root/who", user="root").stdout == "root\n"
        assert run("whoami; pwd; echo $WHOLE; readlink link.py").stdout == "worker\n/srv/app\nhello world\nmain.py\n"
        assert run("stat -c '%U %a' /home/user/notes/note.txt", user="root").stdout == "user 600\n"
        assert run("pgrep -f 'sleep infinity'").stdout.strip()
        assert run("awk '/MemTotal/ {print $2}' /proc/meminfo").stdout.split() == [str(512 << 10)]
        assert sandbox.get_info().cpu_count == 1
    finally:
        sandbox.kill()


def test_a_step_that_fails_is_named_with_what_it_said(name: str) -> None:
    template = Template().from_base_image().run_cmd("true").run_cmd("echo it broke >&2; exit 3")
    with pytest.raises(BuildException, match="it broke"):
        Template.build(template, name)
    assert not Template.exists(name)
    told = "failed to run command 'whoami': command failed: unauthenticated: invalid username: 'root123'"
    with pytest.raises(BuildException, match=told):
        Template.build(Template().from_base_image().run_cmd("whoami", user="root123"), name)


def test_what_was_built_once_is_not_built_again(name: str) -> None:
    template = Template().from_base_image().run_cmd("head -c 8 /proc/sys/kernel/random/uuid > /tmp/drawn")
    Template.build(template, name)
    Template.build(template, f"{name}:second")
    drawn = []
    for each in (name, f"{name}:second"):
        sandbox = Sandbox.create(each)
        drawn.append(sandbox.files.read("/tmp/drawn"))
        sandbox.kill()
    assert drawn[0] == drawn[1]
    Template.build(template, name, skip_cache=True)
    sandbox = Sandbox.create(name)
    assert sandbox.files.read("/tmp/drawn") != drawn[0]
    sandbox.kill()


def test_a_build_goes_on_in_the_background(name: str) -> None:
    info = Template.build_in_background(Template().from_base_image().run_cmd("sleep 2"), name)
    assert Template.get_build_status(info).status.value == "building"
    offset, messages = 0, list[str]()
    while (status := Template.get_build_status(info, logs_offset=offset)).status.value == "building" or status.log_entries:
        offset += len(status.log_entries)
        messages += [entry.message for entry in status.log_entries]
    assert status.status.value == "ready" and messages


def test_tags_name_builds(name: str) -> None:
    Template.build(Template().from_base_image().run_cmd("echo one > /tmp/which"), name, tags=["v1", "stable"])
    Template.build(Template().from_base_image().run_cmd("echo two > /tmp/which"), name, tags=["v2"])

    def which(tag: str) -> str:
        sandbox = Sandbox.create(f"{name}:{tag}")
        try:
            return sandbox.files.read("/tmp/which").strip()
        finally:
            sandbox.kill()

    assert [which(tag) for tag in ("v1", "stable", "v2")] == ["one", "one", "two"]
    assert Template.assign_tags(f"{name}:v2", "stable").tags == ["stable"]
    assert which("stable") == "two"
    Template.remove_tags(name, "v1")
    assert sorted(tag.tag for tag in Template.get_tags(name)) == ["stable", "v2"]


def test_a_template_is_the_base_of_another(name: str) -> None:
    Template.build(Template().from_base_image().run_cmd("echo below > /tmp/below"), name)
    above = f"{name}-above"
    service = "cd /tmp && exec python3 -m http.server 8000"
    Template.build(Template().from_template(name).set_start_cmd(service, wait_for_port(8000)), above)
    sandbox = Sandbox.create(above)
    try:
        assert sandbox.commands.run("curl -s localhost:8000/below").stdout == "below\n"
    finally:
        sandbox.kill()
