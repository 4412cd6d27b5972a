"""What steps mean, as Docker says it: which words are expanded, what commands see, where files go."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from roost.domain import build as b
from roost.domain.build_actions import Action, CopyFiles, FetchFile, MakeDirectory, MakeUser, RunCommand, WriteFile
from roost.domain.build_errors import StepInvalid
from roost.domain.build_stages import needed_stages
from roost.domain.build_steps import DEFAULT_PATH, Progress, advance, begin, follow
from roost.domain.template import TemplateCommand

HERE = b.Place(7, "STEP")


def fold(
    *steps: b.Step, base: b.ImageSettings | None = None, given: Mapping[str, str] | None = None, escape: str = "\\"
) -> tuple[Progress, list[Action]]:
    progress = begin(base or b.ImageSettings(), escape)
    actions: list[Action] = []
    for step in steps:
        progress, action = advance(progress, given or {}, step)
        actions += [action] if action else []
    return progress, actions


def env(**pairs: str) -> b.SetEnv:
    return b.SetEnv(tuple(pairs.items()), HERE)


def arg(name: str, default: str | None = None) -> b.DeclareArgument:
    return b.DeclareArgument(name, default, HERE)


def run(command: str | tuple[str, ...] = "true", **more: object) -> b.Run:
    return b.Run(command, HERE, **more)  # pyright: ignore[reportArgumentType]


def seen(*steps: b.Step, given: Mapping[str, str] | None = None, base: b.ImageSettings | None = None) -> Mapping[str, str]:
    """What a command sees after these steps."""
    _, actions = fold(*steps, run(), given=given, base=base)
    (command,) = (action for action in actions if isinstance(action, RunCommand))
    return {name: value for name, value in command.env.items() if name != "PATH"}


# Variables


def test_a_stage_has_a_path() -> None:
    assert begin(b.ImageSettings()).settings.env == {"PATH": DEFAULT_PATH}
    assert begin(b.ImageSettings(env={"PATH": "/bin"})).settings.env == {"PATH": "/bin"}


def test_env_is_kept_and_an_argument_is_not() -> None:
    progress, _ = fold(env(A="1"), arg("B", "2"))
    assert progress.settings.env == {"PATH": DEFAULT_PATH, "A": "1"}
    assert seen(env(A="1"), arg("B", "2")) == {"A": "1", "B": "2"}


def test_pairs_of_one_env_see_what_was_before_it() -> None:
    step = b.SetEnv((("A", "new"), ("B", "$A"), ("$A", "x")), HERE)
    assert seen(env(A="old"), step) == {"A": "new", "B": "old", "old": "x"}


def test_an_argument_is_given_else_its_default_else_unset() -> None:
    assert seen(arg("X", "d")) == {"X": "d"}
    assert seen(arg("X", "d"), given={"X": "g"}) == {"X": "g"}
    assert seen(arg("X")) == {}
    assert seen(arg("X"), given={"X": ""}) == {"X": ""}


def test_what_is_given_and_not_declared_is_not_seen() -> None:
    assert seen(given={"X": "g"}) == {}


def test_an_argument_is_known_from_its_line_on() -> None:
    _, (first, second) = fold(b.SetWorkdir("/a$X", HERE), arg("X", "1"), b.SetWorkdir("/a$X", HERE))
    assert (first, second) == (MakeDirectory("/a"), MakeDirectory("/a1"))


def test_defaults_see_arguments_before_them() -> None:
    assert seen(arg("A", "1"), arg("B", "$A-2")) == {"A": "1", "B": "1-2"}


def test_env_wins_over_an_argument_before_it() -> None:
    assert seen(arg("X", "arg"), env(X="env"), given={"X": "given"}) == {"X": "env"}
    assert seen(arg("X", "arg"), env(X="${X:-other}"), given={"X": "given"}) == {"X": "given"}


def test_an_argument_after_env_covers_it_while_building_only() -> None:
    progress, _ = fold(env(X="env"), arg("X", "arg"))
    assert progress.settings.env["X"] == "env"
    assert seen(env(X="env"), arg("X", "arg")) == {"X": "arg"}
    assert seen(env(X="env"), arg("X")) == {"X": "env"}


def test_a_default_that_is_not_needed_is_not_read() -> None:
    assert seen(arg("X", "${Y:?}"), given={"X": "1"}) == {"X": "1"}


def test_a_stage_on_a_stage_knows_its_arguments() -> None:
    first, _ = fold(arg("X", "1"), env(Y="2"))
    second, action = advance(follow(first), {}, run("true"))
    assert isinstance(action, RunCommand) and action.env["X"] == "1" and action.env["Y"] == "2"
    assert "X" not in second.settings.env


def test_in_a_stage_on_a_stage_env_wins_again() -> None:
    first, _ = fold(env(X="env"), arg("X", "arg"))
    assert first.variables["X"] == "arg"
    assert follow(first).variables["X"] == "env"


def test_proxies_are_seen_undeclared_in_both_spellings_and_expand_nowhere() -> None:
    _, (made, command) = fold(
        b.SetWorkdir("/x$HTTP_PROXY", HERE), run(), given={"HTTP_PROXY": "http://p", "no_proxy": "n", "Z": "z"}
    )
    assert made == MakeDirectory("/x")
    assert isinstance(command, RunCommand)
    assert command.proxies == {"HTTP_PROXY": "http://p", "http_proxy": "http://p", "NO_PROXY": "n", "no_proxy": "n"}
    assert "HTTP_PROXY" not in command.env


def test_what_cannot_be_expanded_names_the_line() -> None:
    with pytest.raises(StepInvalid, match=r"Line 7, `STEP`: .*`}` is missing") as caught:
        fold(env(A="${B"))
    assert caught.value.facts["line"] == 7
    with pytest.raises(StepInvalid, match=r"B: say which\. Give it as a build argument"):
        fold(env(A="${B:?say which}"))


@pytest.mark.parametrize("name", ["", "A=B", "A\0"])
def test_a_variable_has_a_name(name: str) -> None:
    with pytest.raises(StepInvalid, match="needs a name"):
        fold(b.SetEnv(((name, "x"),), HERE) if "=" not in name else b.SetEnv((("'A=B'", "x"),), HERE))


# Commands


def test_a_command_is_for_the_shell_or_started_as_it_is() -> None:
    shell = b.SetShell(("/bin/bash", "-ec"), HERE)
    _, actions = fold(run("echo $A"), run(("echo", "$A")), shell, run("echo $A"))
    assert [a.words for a in actions if isinstance(a, RunCommand)] == [
        ("/bin/sh", "-c", "echo $A"),
        ("echo", "$A"),
        ("/bin/bash", "-ec", "echo $A"),
    ]


def test_a_command_runs_as_the_user_in_the_directory() -> None:
    _, actions = fold(b.SetWorkdir("/app", HERE), arg("WHO", "nobody"), b.SetUser("$WHO:1000", HERE), run(has_network=False))
    assert actions[-1] == RunCommand(
        ("/bin/sh", "-c", "true"),
        {"PATH": DEFAULT_PATH, "WHO": "nobody"},
        "/app",
        "nobody:1000",
        has_network=False,
    )
    _, actions = fold(b.SetUser("nobody", HERE), run(user="root"))
    assert isinstance(actions[-1], RunCommand) and actions[-1].user == "root"


def test_mounts_are_resolved() -> None:
    mounts = (
        b.CacheMount("$HOME_DIR/.cache", ""),
        b.CacheMount("node_modules", "npm-$A"),
        b.SecretMount("tok$A"),
        b.SecretMount("", target="/etc/key"),
        b.SecretMount("npm", variable="NPM_TOKEN"),
        b.FileMount("/dev/pipes/EOF", "#!/bin/sh\n$A"),
    )
    _, actions = fold(env(A="1", HOME_DIR="/root"), b.SetWorkdir("/app", HERE), run(mounts=mounts))
    assert isinstance(actions[-1], RunCommand)
    assert actions[-1].mounts == (
        b.CacheMount("/root/.cache", "/root/.cache"),
        b.CacheMount("/app/node_modules", "npm-1"),
        b.SecretMount("tok1", target="/run/secrets/tok1"),
        b.SecretMount("key", target="/etc/key"),
        b.SecretMount("npm", variable="NPM_TOKEN"),
        b.FileMount("/dev/pipes/EOF", "#!/bin/sh\n$A"),
    )


@pytest.mark.parametrize("mount", [b.CacheMount("/", "x"), b.CacheMount("/a/..", "x"), b.SecretMount("")])
def test_a_mount_that_goes_nowhere_is_refused(mount: b.Mount) -> None:
    with pytest.raises(StepInvalid):
        fold(run(mounts=(mount,)))


# Directories and users


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["/a"], "/a"),
        (["a"], "/a"),
        (["/a", "b", "c"], "/a/b/c"),
        (["/a", "../b"], "/b"),
        (["/a/"], "/a"),
        (["//a"], "/a"),
        (["/a", "$MISSING"], "/a"),
        (["/a", "/"], "/"),
        (["../../x"], "/x"),
        (["'/with space'"], "/with space"),
    ],
)
def test_a_relative_workdir_is_below_the_last(paths: list[str], expected: str) -> None:
    progress, _ = fold(*(b.SetWorkdir(path, HERE) for path in paths))
    assert progress.settings.workdir == expected


def test_a_workdir_is_made_for_the_user_and_the_root_is_there() -> None:
    _, actions = fold(b.SetWorkdir("/", HERE), b.SetUser("app", HERE), b.SetWorkdir("/srv", HERE))
    assert actions == [MakeDirectory("/srv", "app")]


def test_a_user_is_made_where_the_front_end_says_so() -> None:
    assert fold(b.SetUser("user", HERE, is_made=True))[1] == [MakeUser("user")]
    assert fold(b.SetUser("user", HERE))[1] == []


# Files


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/x", "/x"),
        ("/x/", "/x/"),
        ("x", "/app/x"),
        ("x/", "/app/x/"),
        (".", "/app/"),
        ("./", "/app/"),
        ("x/.", "/app/x/"),
        ("/", "/"),
        ("$D/y", "/d/y"),
        ("$MISSING", "/app/"),
        ("../../../x", "/x"),
    ],
)
def test_a_target_is_below_the_workdir(target: str, expected: str) -> None:
    _, actions = fold(env(D="/d"), b.SetWorkdir("/app", HERE), b.Copy(b.FromContext("u"), ("a",), target, HERE))
    assert isinstance(actions[-1], CopyFiles) and actions[-1].target == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [("a", "a"), ("/a", "a"), ("./a/", "a"), (".", ""), ("../../etc/passwd", "etc/passwd"), ("a/../b", "b"), ("$S", "src/*.py")],
)
def test_a_source_never_leaves_its_origin(source: str, expected: str) -> None:
    _, actions = fold(env(S="src/*.py"), b.Copy(b.FromContext("u"), (source,), "/", HERE))
    assert isinstance(actions[-1], CopyFiles) and actions[-1].sources == (expected,)


def test_parents_begin_at_the_pivot() -> None:
    step = b.Copy(b.FromContext("u"), ("/a/b/./c/*.txt", "d/e"), "/", HERE, keeps_parents=True)
    (action,) = fold(step)[1]
    assert isinstance(action, CopyFiles) and action.sources == ("a/b/./c/*.txt", "d/e")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(None, None), (0o600, 0o600), ("0755", 0o755), ("$M", 0o640), ("u=rwX,go=rX", "u=rwX,go=rX"), ("$NO", None)],
)
def test_modes(mode: b.Mode, expected: b.Mode) -> None:
    _, actions = fold(env(M="640"), b.Copy(b.FromContext("u"), ("a",), "/", HERE, mode=mode))
    assert isinstance(actions[-1], CopyFiles) and actions[-1].mode == expected


@pytest.mark.parametrize("mode", ["999", "17777", "rwxr-xr-x", "u+q"])
def test_a_wrong_mode_is_refused(mode: str) -> None:
    with pytest.raises(StepInvalid, match="is no mode"):
        fold(b.Copy(b.FromContext("u"), ("a",), "/", HERE, mode=mode))


def test_a_document_is_expanded_unless_its_name_was_quoted() -> None:
    _, actions = fold(
        env(A="1"),
        b.Write('v=$A "q"\n', "/etc/conf", HERE, owner="$A", mode="0600", name="EOF"),
        b.Write("v=$A\n", "/etc/", HERE, expands=False, name="EOF"),
    )
    assert actions == [
        WriteFile('v=1 "q"\n', "/etc/conf", "EOF", "1", 0o600),
        WriteFile("v=$A\n", "/etc/", "EOF"),
    ]


def test_a_fetch_is_expanded() -> None:
    step = b.Fetch("https://example.com/$V.tgz", "/opt/", HERE, checksum="sha256:$SUM")
    assert fold(env(V="1.2", SUM="a" * 64), step)[1] == [FetchFile("https://example.com/1.2.tgz", "/opt/", f"sha256:{'a' * 64}")]
    with pytest.raises(StepInvalid, match="is no checksum"):
        fold(env(V="1.2", SUM="a"), step)


# Settings


def test_an_entrypoint_forgets_the_base_command_but_not_its_own() -> None:
    base = b.ImageSettings(entrypoint=("old",), command=("base",))
    entrypoint = b.SetStart(HERE, entrypoint=("new",))
    assert fold(entrypoint, base=base)[0].settings.command == ()
    settings = fold(b.SetStart(HERE, command=("mine",)), entrypoint, base=base)[0].settings
    assert (settings.entrypoint, settings.command) == (("new",), ("mine",))


def test_a_stage_on_a_stage_forgets_the_others_command() -> None:
    first, _ = fold(b.SetStart(HERE, command=("theirs",)))
    second, _ = advance(follow(first), {}, b.SetStart(HERE, entrypoint=("new",)))
    assert second.settings.command == ()


def test_starts_are_for_the_shell_of_their_line_and_not_expanded() -> None:
    steps = (b.SetStart(HERE, entrypoint="run $A"), b.SetShell(("bash", "-c"), HERE), b.SetStart(HERE, command="go $A"))
    settings = fold(env(A="1"), *steps)[0].settings
    assert settings.entrypoint == ("/bin/sh", "-c", "run $A")
    assert settings.command == ("bash", "-c", "go $A")


def test_labels_ports_and_volumes_add_up() -> None:
    base = b.ImageSettings(labels={"a": "0", "b": "0"}, ports=("80/tcp",), volumes=("/data",))
    settings = fold(
        env(P="8000-8002/udp 443", N="n"),
        b.SetLabels((("a", "1"), ("$N", "${N}x")), HERE),
        b.SetPorts(("80", "$P", "9:53/UDP"), HERE),
        b.SetVolumes(("/data", "/$N"), HERE),
        base=base,
    )[0].settings
    assert settings.labels == {"a": "1", "b": "0", "n": "nx"}
    assert settings.ports == ("80/tcp", "8000/udp", "8001/udp", "8002/udp", "443/tcp", "53/udp")
    assert settings.volumes == ("/data", "/n")


@pytest.mark.parametrize("port", ["http", "70000", "80/icmp", "90-80", "-1", "80-", "٣"])
def test_a_wrong_port_is_refused(port: str) -> None:
    with pytest.raises(StepInvalid, match="is no port"):
        fold(b.SetPorts((port,), HERE))


@pytest.mark.parametrize("signal", ["SIGTERM", "term", "9", "SIGRTMIN+3", "$S"])
def test_signals(signal: str) -> None:
    assert fold(env(S="SIGINT"), b.SetStopSignal(signal, HERE))[0].settings.stop_signal in (signal, "SIGINT")


@pytest.mark.parametrize("signal", ["SIGNOT", "0", "65", "", "SIG"])
def test_a_wrong_signal_is_refused(signal: str) -> None:
    with pytest.raises(StepInvalid, match="is no signal"):
        fold(b.SetStopSignal(signal, HERE))


def test_a_health_check_is_set_and_taken_away() -> None:
    check = TemplateCommand("curl -f $URL", user="")
    assert fold(b.SetHealth(check, HERE))[0].settings.health == check
    assert fold(b.SetHealth(None, HERE), base=b.ImageSettings(health=check))[0].settings.health is None


def test_another_escape_is_used_in_every_word() -> None:
    assert fold(env(A="`$B\\c"), escape="`")[0].settings.env["A"] == "$B\\c"


# Stages


def stage(base: b.Base, *origins: b.Origin) -> b.Stage:
    return b.Stage("", base, tuple(b.Copy(origin, ("a",), "/", HERE) for origin in origins), HERE)


def test_only_what_the_target_needs_is_built() -> None:
    image = b.FromImage("debian:12")
    stages = (
        stage(image),  # 0
        stage(b.FromStage(0)),  # 1
        stage(image),  # 2: nobody needs it
        stage(image, b.FromStage(1), b.FromContext("u")),  # 3
        stage(b.FromNothing(), b.FromStage(3), b.FromStage(0), b.FromImage("busybox")),  # 4
        stage(image),  # 5: after the target
    )
    assert needed_stages(b.Definition(stages, target=4)) == {
        0: frozenset(),
        1: frozenset({0}),
        3: frozenset({1}),
        4: frozenset({0, 3}),
    }
    assert list(needed_stages(b.Definition(stages))) == [5]


@pytest.mark.parametrize("needed", [1, 2, -1])
def test_a_stage_needs_earlier_ones_only(needed: int) -> None:
    stages = (stage(b.FromNothing()), stage(b.FromNothing(), b.FromStage(needed)))
    with pytest.raises(StepInvalid, match="does not come before"):
        needed_stages(b.Definition(stages))


@pytest.mark.parametrize("target", [2, -3])
def test_the_target_exists(target: int) -> None:
    with pytest.raises(StepInvalid, match="there is no stage"):
        needed_stages(b.Definition((stage(b.FromNothing()), stage(b.FromNothing())), target=target))
