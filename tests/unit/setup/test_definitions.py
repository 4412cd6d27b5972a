from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from roost.domain.errors import Invalid, TemplateNotFound
from roost.domain.sandbox import Size
from roost.setup.carried import carried_templates
from roost.setup.definitions import find_definition, find_definitions, list_definitions, load_definition

DESKTOP = """
name = "desktop"
packages = ["xfce4", "chromium"]
user = "user"
workdir = "/home/user"

[size]
memory_mb = 4096

[env]
DISPLAY = ":0"

[[users]]
name = "user"
uid = 1000
sudo = true
groups = ["video"]
owns = ["/code"]

[[run]]
command = "fc-cache -f"

[[run]]
command = "xfconf-query -c xfwm4 -p /general/theme -s Default"
user = "user"
timeout_s = 30

[start]
command = "startxfce4"
user = "user"

[ready]
command = "xdpyinfo -display :0"
timeout_s = 60
"""


def make(folder: Path, text: str, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "template.toml").write_text(text)
    for name, content in files.items():
        path = folder / "files" / "etc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def test_a_full_definition(tmp_path: Path) -> None:
    found = load_definition(make(tmp_path / "desktop", DESKTOP, motd="hello"))
    assert found.packages == ("xfce4", "chromium")
    assert found.size == Size(cpus=2, memory_mb=4096, disk_mb=10240, pids=4096)
    assert found.users[0].groups == ("video",)
    assert [(step.user, step.timeout_s) for step in found.run] == [("root", 600), ("user", 30)]
    assert found.start is not None and found.start.user == "user"
    assert found.ready is not None and found.ready.timeout_s == 60
    assert found.files == tmp_path / "desktop" / "files"
    assert found.suite == "trixie"


def test_the_digest_covers_text_and_files(tmp_path: Path) -> None:
    folder = make(tmp_path / "desktop", DESKTOP, motd="hello")
    before = load_definition(folder).digest
    assert load_definition(folder).digest == before
    make(folder, DESKTOP, motd="goodbye")
    changed_file = load_definition(folder).digest
    make(folder, DESKTOP + "# a comment\n", motd="hello")
    changed_text = load_definition(folder).digest
    assert len({before, changed_file, changed_text}) == 3


@pytest.mark.parametrize(
    ("was", "becomes", "named"),
    [
        ('name = "desktop"', 'name = "other"', "name"),
        ("uid = 1000", "uid = 0", "users.0.uid"),
        ('packages = ["xfce4", "chromium"]', 'packages = ["a b; rm"]', "packages.0"),
        ('owns = ["/code"]', 'owns = ["/code/../etc"]', "users.0.owns.0"),
        ('owns = ["/code"]', 'owns = ["/a b"]', "users.0.owns.0"),
        ('name = "user"\nuid', 'name = "us er"\nuid', "users.0.name"),
        ('user = "user"\nworkdir', 'user = "nobody"\nworkdir', "nobody"),
        ('command = "startxfce4"\nuser = "user"', 'command = "startxfce4"\nuser = "alice"', "alice"),
        ("memory_mb = 4096", "memory = 4096", "size.memory"),
        ('DISPLAY = ":0"', '"A B" = "x"', "env"),
        ('name = "desktop"', "name = ", "template.toml"),
    ],
)
def test_a_bad_definition_names_the_file_and_the_field(was: str, becomes: str, named: str, tmp_path: Path) -> None:
    assert was in DESKTOP
    folder = make(tmp_path / "desktop", DESKTOP.replace(was, becomes))
    with pytest.raises(Invalid) as refused:
        load_definition(folder)
    assert named in refused.value.message
    assert str(folder / "template.toml") in refused.value.message


@pytest.mark.parametrize("name", ["nothing", "../base", "", "Base"])
def test_an_unknown_template_is_not_found(name: str) -> None:
    with pytest.raises(TemplateNotFound):
        find_definition(name)


def test_the_built_in_base_is_what_was_promised() -> None:
    base = find_definition("base")
    promised = {"python3", "python3-pip", "python3-venv", "nodejs", "npm", "git", "curl", "sudo", "build-essential"}
    assert promised | {"procps", "iproute2", "vim-tiny", "less"} <= set(base.packages)
    assert (base.user, base.users[0].uid, base.users[0].sudo) == ("user", 1000, True)
    assert base.start is None and base.ready is None and base.run == ()


def test_every_built_in_template_loads() -> None:
    assert {"base", "desktop"} <= {definition.name for definition in list_definitions()}


def test_a_definition_can_stand_under_another_name() -> None:
    stand_in, minimal = find_definition("base=minimal"), find_definition("minimal")
    assert stand_in == replace(minimal, name="base")
    assert set(find_definitions(["base=minimal", "desktop"])) == {"base", "desktop"}
    for wrong in ("base=nothing", "=minimal", "base=../minimal", "a=base=minimal"):
        with pytest.raises(TemplateNotFound):
            find_definition(wrong)


def test_templates_hold_no_symbolic_links_since_a_wheel_would_lose_them() -> None:
    assert [path for path in carried_templates().rglob("*") if path.is_symlink()] == []


def test_whose_umask_made_the_files_changes_nothing(tmp_path: Path) -> None:
    folder = make(tmp_path / "desktop", DESKTOP, motd="hello")
    motd = folder / "files" / "etc" / "motd"
    digests = set()
    for mode in (0o644, 0o664, 0o600, 0o755):
        motd.chmod(mode)
        digests.add(load_definition(folder).digest)
    assert len(digests) == 2, "only whether it can be executed counts"


def test_nothing_goes_on_from_a_template_without_apt(tmp_path: Path) -> None:
    make(tmp_path / "small", 'name = "small"\nvariant = "essential"\npackages = []\n')
    child = make(tmp_path / "child", 'name = "child"\nfrom = "small"\npackages = ["gimp"]\n')
    with pytest.raises(Invalid, match="no apt"):
        load_definition(child)


def test_the_built_in_desktop_goes_on_from_base() -> None:
    base, desktop = find_definition("base"), find_definition("desktop")
    assert desktop.parent == base
    assert desktop.has_desktop and not base.has_desktop
    assert (desktop.user, desktop.workdir, desktop.suite) == (base.user, base.workdir, base.suite)
    assert desktop.env["DISPLAY"] == ":0" and desktop.env["LANG"] == base.env["LANG"]
    assert not set(desktop.packages) & set(base.packages), "what base has is there already"
    assert desktop.files is not None
    for program in ("etc/roost/boot.d/desktop", "usr/lib/roost/desktop-start", "usr/lib/roost/desktop-ready"):
        assert (desktop.files / program).stat().st_mode & 0o111


CHILD = """
name = "child"
from = "desktop"
packages = ["gimp"]

[env]
EXTRA = "1"

[[run]]
command = "child's own"

[ready]
command = "true"
user = "user"
"""


def test_what_a_child_does_not_say_is_as_in_its_parent(tmp_path: Path) -> None:
    parent = load_definition(make(tmp_path / "desktop", DESKTOP))
    child = load_definition(make(tmp_path / "child", CHILD))
    assert (child.user, child.workdir, child.size, child.start) == (parent.user, parent.workdir, parent.size, parent.start)
    assert child.packages == ("gimp",)
    assert child.env == {"DISPLAY": ":0", "EXTRA": "1"}
    assert child.run[:-1] == parent.run and child.run[-1].command == "child's own"
    assert child.ready is not None and child.ready.command == "true"


def test_a_changed_parent_is_another_child(tmp_path: Path) -> None:
    make(tmp_path / "desktop", DESKTOP)
    folder = make(tmp_path / "child", CHILD)
    before = load_definition(folder).digest
    make(tmp_path / "desktop", DESKTOP + "# a comment\n")
    assert load_definition(folder).digest != before


@pytest.mark.parametrize(
    ("was", "becomes", "named"),
    [
        ('from = "desktop"', 'from = "nothing"', "nothing"),
        ('from = "desktop"', 'from = "child"', "child"),
        ('packages = ["gimp"]', 'packages = ["gimp"]\nsuite = "sid"', "suite"),
    ],
)
def test_a_parent_that_cannot_be_one_is_refused(was: str, becomes: str, named: str, tmp_path: Path) -> None:
    make(tmp_path / "desktop", DESKTOP)
    make(tmp_path / "other", CHILD.replace('"child"', '"other"'))
    folder = make(tmp_path / "child", CHILD.replace(was, becomes))
    with pytest.raises(Invalid) as refused:
        load_definition(folder)
    assert named in refused.value.message


def test_only_one_step_goes_back(tmp_path: Path) -> None:
    make(tmp_path / "desktop", DESKTOP)
    make(tmp_path / "child", CHILD)
    folder = make(tmp_path / "grandchild", CHILD.replace('"child"', '"grandchild"').replace('"desktop"', '"child"'))
    with pytest.raises(Invalid, match="name that one"):
        load_definition(folder)
