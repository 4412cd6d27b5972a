"""What each instruction becomes, and what is refused by line and name before anything runs."""

from __future__ import annotations

import pytest

from roost.dockerfile.parsing import parse
from roost.domain import build as b
from roost.domain.build_actions import RunCommand
from roost.domain.build_errors import StepInvalid, StepUnsupported, TargetNotFound
from roost.domain.build_steps import advance, begin
from roost.domain.template import TemplateCommand


def definition(text: str, *, target: str = "", platform: str = "linux/amd64", **arguments: str) -> b.Definition:
    return parse(text, arguments=arguments, target=target, platform=platform)


def steps(*lines: str, **arguments: str) -> list[b.Step]:
    """The steps of a stage that is made of these lines; the first is line 2."""
    (stage,) = definition("\n".join(("FROM debian", *lines)) + "\n", **arguments).stages
    return list(stage.steps)


def at(line: int, text: str) -> b.Place:
    return b.Place(line, text)


# FROM


@pytest.mark.parametrize(
    ("line", "base"),
    [
        ("FROM debian:12", b.FromImage("debian:12")),
        ("FROM registry.local:5000/team/app", b.FromImage("registry.local:5000/team/app")),
        (f"FROM debian@sha256:{'a' * 64}", b.FromImage(f"debian@sha256:{'a' * 64}")),
        ("FROM scratch", b.FromNothing()),
        ("FROM roost/base", b.FromTemplate("base")),
        ("FROM roost/team-tools:v1.2", b.FromTemplate("team-tools", "v1.2")),
        ("FROM --platform=linux/amd64 debian", b.FromImage("debian")),
        ("FROM --platform=$BUILDPLATFORM debian", b.FromImage("debian")),
        ("FROM --platform=x86_64 debian", b.FromImage("debian")),
        ("ARG V=12\nFROM debian:$V", b.FromImage("debian:12")),
        ("ARG V=12\nARG I=debian:${V}\nFROM $I", b.FromImage("debian:12")),
        ("FROM debian:${V:-11}", b.FromImage("debian:11")),
        ("from debian as x", b.FromImage("debian")),
    ],
)
def test_bases(line: str, base: b.Base) -> None:
    (stage,) = definition(line).stages
    assert stage.base == base


def test_arguments_before_from_are_given_or_defaults() -> None:
    text = "ARG V=12\nFROM debian:$V\nARG V\nARG W\nRUN echo $V"
    (stage,) = definition(text).stages
    assert stage.base == b.FromImage("debian:12")
    assert stage.steps[0] == b.DeclareArgument("V", "'12'", at(3, "ARG V"))
    (stage,) = definition(text, V="13").stages
    assert stage.base == b.FromImage("debian:13")


def test_a_default_of_the_stage_wins_over_that_of_the_file() -> None:
    (stage,) = definition("ARG V=12\nFROM debian\nARG V=mine\n").stages
    assert stage.steps == (b.DeclareArgument("V", "mine", at(3, "ARG V=mine")),)


def test_what_is_declared_before_from_is_not_known_inside() -> None:
    (stage,) = definition("ARG V=12\nFROM scratch\nENV X=a$V\n").stages
    progress, _ = advance(begin(b.ImageSettings()), {}, stage.steps[0])
    assert progress.settings.env["X"] == "a"


def test_a_value_of_the_whole_file_is_not_expanded_twice() -> None:
    (stage,) = definition("ARG V='$HOME'\nFROM scratch\nARG V\n").stages
    progress, _ = advance(begin(b.ImageSettings(env={"HOME": "/root"})), {}, stage.steps[0])
    assert progress.variables["V"] == "$HOME"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TARGETPLATFORM", "linux/arm64/v8"),
        ("BUILDPLATFORM", "linux/arm64/v8"),
        ("TARGETOS", "linux"),
        ("TARGETARCH", "arm64"),
        ("TARGETVARIANT", "v8"),
        ("TARGETSTAGE", "last"),
    ],
)
def test_the_platform_is_told_to_who_asks(name: str, value: str) -> None:
    (stage,) = definition(f"FROM scratch AS last\nARG {name}\n", platform="linux/arm64/v8").stages
    progress, _ = advance(begin(b.ImageSettings()), {}, stage.steps[0])
    assert progress.variables[name] == value


def test_stages_are_found_by_name_in_any_case() -> None:
    text = "FROM debian AS Build\nFROM build AS second\nCOPY --from=BUILD /a /\nCOPY --from=0 /b /\nCOPY --from=busybox /c /\n"
    first, second = definition(text).stages
    assert (first.name, second.base) == ("build", b.FromStage(0))
    assert [step.origin for step in second.steps if isinstance(step, b.Copy)] == [
        b.FromStage(0),
        b.FromStage(0),
        b.FromImage("busybox"),
    ]


@pytest.mark.parametrize(("target", "number"), [("", 2), ("one", 0), ("TWO", 1), ("0", 0)])
def test_the_target_is_a_name_or_a_number(target: str, number: int) -> None:
    assert definition("FROM a AS one\nFROM b AS two\nFROM c\n", target=target).target == number


def test_a_target_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(TargetNotFound, match="Its stages are one, two"):
        definition("FROM a AS one\nFROM b AS two\n", target="three")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("RUN true\nFROM a", 1, "RUN comes before the first FROM"),
        ("RUN true\n", 1, "there is no FROM"),
        ("FROM", 1, "write FROM image"),
        ("FROM a b", 1, "write FROM image"),
        ("FROM a AS 1st", 1, "cannot be called '1st'"),
        ("FROM Debian", 1, "names no image"),
        ("FROM $V", 1, "is empty"),
        ("FROM ${V", 1, "is missing"),
        ("ARG V\nFROM a:${V:?which version}", 2, "which version"),
        ("FROM roost/", 1, "names no template"),
        ("FROM roost/a@sha256:b", 1, "names no template"),
        ("FROM --plattform=x a", 1, "no flag --plattform. Did you mean --platform?"),
        ("FROM a\nCOPY --from=later /a /\nFROM a AS later", 2, "'later' is not made yet"),
        ("FROM a\nCOPY --from=0 /a /\n", 2, "not made yet"),
        ("FROM a AS me\nCOPY --from=me /a /\n", 2, "not made yet"),
        ("FROM a\nCOPY --from=7 /a /\n", 2, "there is no stage 7"),
        ("FROM a\nCOPY --from=$X /a /\n", 2, "variables are not replaced in --from"),
        ("FROM a\nCOPY --from=scratch /a /\n", 2, "nothing in scratch"),
        ("FROM a\nRUNN true\n", 2, "RUNN is no instruction. Did you mean RUN?"),
        ("FROM a\nINCLUDE x\n", 2, "INCLUDE is no instruction"),
    ],
)
def test_what_makes_no_sense_is_refused_by_line(text: str, line: int, says: str) -> None:
    with pytest.raises(StepInvalid, match=says) as caught:
        definition(text)
    assert caught.value.facts["line"] == line


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("ONBUILD RUN make", "ONBUILD is not supported"),
        ("RUN --mount=target=/x,from=a true", "type=bind is not supported. COPY the files"),
        ("RUN --mount=type=bind,target=/x true", "--mount=type=bind is not supported"),
        ("RUN --mount=type=tmpfs,target=/x true", "--mount=type=tmpfs is not supported"),
        ("RUN --mount=type=ssh true", "--mount=type=ssh is not supported"),
        ("RUN --mount=type=cache,target=/x,from=a true", "'from' of --mount=type=cache is not supported"),
        ("RUN --mount=type=cache,target=/x,ro true", "'readonly' of --mount=type=cache is not supported"),
        ("RUN --mount=type=cache,target=/x,uid=$U true", "a variable in uid="),
        ("RUN --network=host true", "--network=host is not supported"),
        ("RUN --security=insecure true", "--security=insecure is not supported"),
        ("RUN --device=gpu true", "--device is not supported"),
        ("COPY --from=roost/base /a /", "straight from a template is not supported. Write `FROM roost/base AS name`"),
        ("ADD git@example.com:a/b.git /x", "git over ssh is not supported"),
        ("ADD ssh://example.com/a.git /x", "git over ssh is not supported"),
        ("ADD --unpack https://example.com/a.tgz /x", "--unpack for what comes from the network"),
        ("ADD --exclude=x https://example.com/a.git /x", "--exclude for what comes from the network"),
    ],
)
def test_what_is_not_supported_is_refused_by_name_with_a_way_out(lines: str, says: str) -> None:
    with pytest.raises(StepUnsupported, match=says) as caught:
        steps(lines)
    assert caught.value.facts["line"] == 2


def test_another_platform_is_refused() -> None:
    with pytest.raises(StepUnsupported, match=r"the platform 'linux/arm64' is not supported. This machine is linux/amd64"):
        definition("FROM --platform=linux/arm64 debian")


# RUN


def test_run_in_its_forms() -> None:
    assert steps("RUN echo $A", 'RUN ["echo", "$A"]', "RUN --network=none true") == [
        b.Run("echo $A", at(2, "RUN echo $A")),
        b.Run(("echo", "$A"), at(3, 'RUN ["echo", "$A"]')),
        b.Run("true", at(4, "RUN --network=none true"), has_network=False),
    ]


@pytest.mark.parametrize(
    ("line", "mount"),
    [
        ("type=cache,target=/c", b.CacheMount("/c", "")),
        ("type=cache,dst=/c,id=x,sharing=locked", b.CacheMount("/c", "x", is_shared=False)),
        ("type=cache,destination=/c,sharing=private,rw", b.CacheMount("/c", "", is_shared=False)),
        ("type=cache,target=/c,uid=1000,gid=100,mode=0700", b.CacheMount("/c", "", "1000:100", 0o700)),
        (r"type=cache,\"target=/a,b\"", b.CacheMount("/a,b", "")),
        ("type=secret,id=tok", b.SecretMount("tok")),
        ("type=secret,id=tok,target=/t,required", b.SecretMount("tok", "/t", is_required=True)),
        ("type=secret,source=tok,env=TOKEN,required=true", b.SecretMount("tok", variable="TOKEN", is_required=True)),
        ("type=secret,target=/run/x,mode=0444,uid=5", b.SecretMount("", "/run/x", owner="5:0", mode=0o444)),
    ],
)
def test_mounts(line: str, mount: b.Mount) -> None:
    (step,) = steps(f"RUN --mount={line} true")
    assert isinstance(step, b.Run) and step.mounts == (mount,)


def test_the_names_of_secrets_are_told() -> None:
    text = "FROM a\nRUN --mount=type=secret,id=x --mount=type=secret,id=y true\nRUN --mount=type=secret,id=x true\n"
    assert definition(text).secrets == ("x", "y")


def test_a_heredoc_is_what_the_shell_runs() -> None:
    (step,) = steps("RUN <<EOF", "echo $A", "echo b", "EOF")
    assert isinstance(step, b.Run)
    assert (step.command, step.place) == ("echo $A\necho b\n", at(2, "RUN <<EOF"))


def test_a_heredoc_with_its_own_interpreter_is_a_file() -> None:
    (step,) = steps("RUN <<-EOF", "\t#!/usr/bin/env python3", "\tprint(1)", "\tEOF")
    assert isinstance(step, b.Run)
    assert step.command == "/dev/pipes/EOF"
    assert step.mounts == (b.FileMount("/dev/pipes/EOF", "#!/usr/bin/env python3\nprint(1)\n"),)


def test_heredocs_inside_a_command_are_for_the_shell() -> None:
    (step,) = steps("RUN cat <<A > /a && cat <<B > /b", "1", "A", "2", "B")
    assert isinstance(step, b.Run)
    assert step.command == "cat <<A > /a && cat <<B > /b\n1\nA\n2\nB"


@pytest.mark.parametrize(
    "line",
    [
        "RUN",
        "RUN []",
        'RUN [""]',
        "RUN --mount=type=cache true",
        "RUN --mount=type=wrong,target=/x true",
        "RUN --mount=type=cache,target=/x,sharing=none true",
        "RUN --mount=type=cache,target=/x,mode=999 true",
        "RUN --mount=type=cache,target=/x,uid=-1 true",
        "RUN --mount=type=cache,target true",
        "RUN --mount=type=secret true",
        "RUN --mount=type=secret,id=a,source=b true",
        "RUN --mount=type=secret,id=a,required=maybe true",
        "RUN --mount true",
        "RUN --network true",
        "RUN --network=none --network=none true",
        "RUN --mount=type=cache,target=/ true",
        'RUN --mount=type=cache,target="/x true',
    ],
)
def test_a_wrong_run_is_refused(line: str) -> None:
    with pytest.raises(StepInvalid) as caught:
        steps(line)
    assert caught.value.facts["line"] == 2


# COPY and ADD

CONTEXT = b.FromContext("")


def test_copy_with_everything() -> None:
    line = "COPY --from=busybox --chown=1:$G --chmod=u+x --exclude=*.md --exclude=b --parents --link a b* /x/"
    assert steps(line) == [
        b.Copy(
            b.FromImage("busybox"),
            ("a", "b*"),
            "/x/",
            at(2, line),
            owner="1:$G",
            mode="u+x",
            exclude=("*.md", "b"),
            keeps_parents=True,
        )
    ]
    assert steps('COPY ["a b", "/c d/"]') == [b.Copy(CONTEXT, ("a b",), "/c d/", at(2, 'COPY ["a b", "/c d/"]'))]


def test_add_unpacks_what_it_copies_and_fetches_what_it_names() -> None:
    line = "ADD a.tgz https://example.com/b /x/"
    assert steps(line) == [
        b.Copy(CONTEXT, ("a.tgz",), "/x/", at(2, line), unpacks=True),
        b.Fetch("https://example.com/b", "/x/", at(2, line)),
    ]
    (step,) = steps("ADD --unpack=false a.tgz /x/")
    assert isinstance(step, b.Copy) and not step.unpacks
    line = f"ADD --checksum=sha256:{'a' * 64} --chmod=600 --chown=x https://example.com/b /x"
    assert steps(line) == [b.Fetch("https://example.com/b", "/x", at(2, line), f"sha256:{'a' * 64}", "x", "600")]
    line = "ADD --keep-git-dir https://example.com/a.git#main /x"
    assert steps(line) == [b.Fetch("https://example.com/a.git#main", "/x", at(2, line), keeps_git_dir=True)]


def test_an_address_may_stand_in_a_variable() -> None:
    *_, step = steps("ARG SITE=https://example.com", "ADD ${SITE}/b /x")
    assert isinstance(step, b.Fetch) and step.url == "${SITE}/b"


def test_heredocs_are_files() -> None:
    found = steps("COPY --chown=x --chmod=600 a <<one <<'two' /x/", "1 $A", "one", "2", "two")
    place = at(2, "COPY --chown=x --chmod=600 a <<one <<'two' /x/")
    assert found == [
        b.Copy(CONTEXT, ("a",), "/x/", place, owner="x", mode="600"),
        b.Write("1 $A\n", "/x/", place, "x", "600", "one"),
        b.Write("2\n", "/x/", place, "x", "600", "two", expands=False),
    ]
    assert steps("COPY <<EOF /etc/motd", "hi", "EOF") == [
        b.Write("hi\n", "/etc/motd", at(2, "COPY <<EOF /etc/motd"), name="EOF"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "COPY a",
        "COPY",
        "COPY https://example.com/a /x",
        "COPY --chmod a /x",
        "COPY --chmod=abc a /x",
        "COPY --link=maybe a /x",
        "COPY --parents= a /x",
        "COPY --checksum=x a /x",
        "ADD --from=a b /x",
        "ADD --parents b /x",
        "ADD --checksum=sha256:x a /x",
        "ADD --checksum=sha256:x https://example.com/a https://example.com/b /x",
        "ADD --checksum=wrong https://example.com/a /x",
        "ADD https:// /x",
        "COPY a <<EOF\nx\nEOF",
        "COPY --from=busybox <<EOF /x\nx\nEOF",
    ],
)
def test_a_wrong_copy_is_refused(line: str) -> None:
    with pytest.raises(StepInvalid) as caught:
        steps(line)
    assert caught.value.facts["line"] == 2


# What only changes settings


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("ENV A=1 B=\"x y\" C='$D'", b.SetEnv((("A", "1"), ("B", '"x y"'), ("C", "'$D'")), at(2, "ENV A=1 B=\"x y\" C='$D'"))),
        ("ENV A some words", b.SetEnv((("A", "some words"),), at(2, "ENV A some words"))),
        ('LABEL a="b c" d=e', b.SetLabels((("a", '"b c"'), ("d", "e")), at(2, 'LABEL a="b c" d=e'))),
        ("MAINTAINER J's $X", b.SetLabels((("maintainer", "'J'\"'\"'s $X'"),), at(2, "MAINTAINER J's $X"))),
        ("WORKDIR /a b", b.SetWorkdir("/a b", at(2, "WORKDIR /a b"))),
        ("USER $U:1", b.SetUser("$U:1", at(2, "USER $U:1"))),
        ("EXPOSE 80 $P", b.SetPorts(("80", "$P"), at(2, "EXPOSE 80 $P"))),
        ("VOLUME /a /b", b.SetVolumes(("/a", "/b"), at(2, "VOLUME /a /b"))),
        ('VOLUME ["/a b"]', b.SetVolumes(("/a b",), at(2, 'VOLUME ["/a b"]'))),
        ("STOPSIGNAL SIGINT", b.SetStopSignal("SIGINT", at(2, "STOPSIGNAL SIGINT"))),
        ('SHELL ["/bin/bash", "-c"]', b.SetShell(("/bin/bash", "-c"), at(2, 'SHELL ["/bin/bash", "-c"]'))),
        ("CMD go $A", b.SetStart(at(2, "CMD go $A"), command="go $A")),
        ('CMD ["go", "$A"]', b.SetStart(at(2, 'CMD ["go", "$A"]'), command=("go", "$A"))),
        ("CMD []", b.SetStart(at(2, "CMD []"), command=())),
        ("ENTRYPOINT go", b.SetStart(at(2, "ENTRYPOINT go"), entrypoint="go")),
        ("ENTRYPOINT []", b.SetStart(at(2, "ENTRYPOINT []"), entrypoint=())),
        ("HEALTHCHECK NONE", b.SetHealth(None, at(2, "HEALTHCHECK NONE"))),
        (
            "HEALTHCHECK CMD curl -f x | cat",
            b.SetHealth(TemplateCommand("curl -f x | cat", ""), at(2, "HEALTHCHECK CMD curl -f x | cat")),
        ),
        ('HEALTHCHECK CMD ["a", "b c"]', b.SetHealth(TemplateCommand("a 'b c'", ""), at(2, 'HEALTHCHECK CMD ["a", "b c"]'))),
    ],
)
def test_settings(line: str, step: b.Step) -> None:
    assert steps(line) == [step]


def test_several_arguments_of_one_line() -> None:
    place = at(2, "ARG A B=2 C=")
    assert steps("ARG A B=2 C=") == [
        b.DeclareArgument("A", None, place),
        b.DeclareArgument("B", "2", place),
        b.DeclareArgument("C", "", place),
    ]


def test_what_has_no_effect_is_said() -> None:
    text = "FROM a\nHEALTHCHECK --interval=5s --retries=3 --start-period=1m30s CMD true\n"
    assert definition(text, TYPO="1", HTTP_PROXY="p").notes == (
        "Line 2: --interval, --retries, --start-period of HEALTHCHECK have no effect: it is asked until the template is ready.",
        "The build argument TYPO is not used: no ARG declares it.",
    )


@pytest.mark.parametrize(
    "line",
    [
        "WORKDIR",
        "USER",
        "EXPOSE",
        "EXPOSE http",
        "VOLUME",
        "LABEL",
        "STOPSIGNAL",
        "STOPSIGNAL NOPE",
        "SHELL bash -c",
        "SHELL []",
        "CMD",
        "ENTRYPOINT",
        "ARG",
        "ARG =1",
        "HEALTHCHECK",
        "HEALTHCHECK CMD",
        "HEALTHCHECK NONE x",
        "HEALTHCHECK true",
        "HEALTHCHECK --interval=soon CMD true",
        "HEALTHCHECK --retries=-1 CMD true",
        "HEALTHCHECK --when=now CMD true",
        "ENV A=${B",
        "ENV A='x",
        "WORKDIR --x=1 /a",
    ],
)
def test_wrong_settings_are_refused(line: str) -> None:
    with pytest.raises(StepInvalid) as caught:
        steps(line)
    assert caught.value.facts["line"] == 2


def test_what_only_a_base_can_say_is_left_to_it() -> None:
    """A variable that the file does not set may come from the image: that is no mistake yet."""
    assert len(steps("STOPSIGNAL $SIG", "EXPOSE $PORT", "ENV A=${B:?needed}", "ENV $NAME=1", "VOLUME $DATA")) == 5
    for line in ("STOPSIGNAL $SIG", "ENV A=${B:?needed}"):
        with pytest.raises(StepInvalid):
            definition(f"FROM scratch\n{line}\n")


def test_another_escape_reaches_the_words() -> None:
    text = "# escape=`\nFROM scratch\nENV P=C:\\dir`$A\nRUN echo a `\n && echo b\n"
    found = definition(text)
    assert found.escape == "`"
    progress, _ = advance(begin(b.ImageSettings(), found.escape), {}, found.stages[0].steps[0])
    assert progress.settings.env["P"] == "C:\\dir$A"
    _, action = advance(progress, {}, found.stages[0].steps[1])
    assert isinstance(action, RunCommand) and action.words == ("/bin/sh", "-c", "echo a  && echo b")
