from __future__ import annotations

import pytest

from roost.domain.ids import is_name
from roost.domain.image import Reference, read_settings, template_name
from roost.domain.image_errors import ImageBroken, ReferenceInvalid

DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("debian", "docker.io/library/debian:latest"),
        ("debian:12", "docker.io/library/debian:12"),
        ("team/app", "docker.io/team/app:latest"),
        ("index.docker.io/library/debian", "docker.io/library/debian:latest"),
        ("localhost/app:1", "localhost/app:1"),
        ("registry:5000/app", "registry:5000/app:latest"),
        ("registry.example.com/a/b/c__d:1.0-rc_1", "registry.example.com/a/b/c__d:1.0-rc_1"),
        ("[::1]:5000/app:1", "[::1]:5000/app:1"),
        (f"debian@{DIGEST}", f"docker.io/library/debian@{DIGEST}"),
        (f"debian:12@{DIGEST}", f"docker.io/library/debian@{DIGEST}"),
    ],
)
def test_what_is_left_out_is_filled_in_as_docker_does(written: str, meant: str) -> None:
    assert str(Reference.parse(written)) == meant
    assert str(Reference.parse(meant)) == meant


@pytest.mark.parametrize(
    "written",
    [
        "", " ", "Debian", "debian:", "debian:a b", "debian@sha256:12", "debian@md5:" + "0" * 32, "../etc", "a//b", "-x",
        "--help", "a/-b", "a/../b", "https://example.com/app", "example.com:99999999/app", "exa mple.com/app", "app:" + "x" * 129,
        "a" * 600, "app\n", "app:1\n", "user@example.com/app", "[::1/app", "app:1:2", "a\0b",
    ],
)  # fmt: skip
def test_what_names_no_image_is_refused(written: str) -> None:
    with pytest.raises(ReferenceInvalid):
        Reference.parse(written)


def test_a_pinned_reference_has_a_digest_and_no_tag() -> None:
    assert str(Reference.parse("debian:12").pinned(DIGEST)) == f"docker.io/library/debian@{DIGEST}"


def test_everything_that_an_image_says_is_kept() -> None:
    said = {
        "Env": ["PATH=/bin", "EMPTY=", "EQUALS=a=b", "=ignored"],
        "User": "app:staff",
        "WorkingDir": "/srv",
        "Entrypoint": ["/init"],
        "Cmd": ["serve", "--all"],
        "ExposedPorts": {"8080/tcp": {}, "53/udp": {}},
        "Volumes": {"/data": {}},
        "Labels": {"a": "b"},
        "StopSignal": "SIGINT",
        "Shell": ["/bin/bash", "-c"],
        "Healthcheck": {"Test": ["CMD", "curl", "a b"], "Timeout": 3_000_000_000},
    }
    settings = read_settings("app", {"config": said})
    assert settings.env == {"PATH": "/bin", "EMPTY": "", "EQUALS": "a=b"}
    assert (settings.user, settings.workdir, settings.shell) == ("app:staff", "/srv", ("/bin/bash", "-c"))
    assert (settings.entrypoint, settings.command) == (("/init",), ("serve", "--all"))
    assert (settings.ports, settings.volumes) == (("53/udp", "8080/tcp"), ("/data",))
    assert (settings.labels, settings.stop_signal) == ({"a": "b"}, "SIGINT")
    assert settings.health is not None
    assert settings.health.command == "curl 'a b'"


@pytest.mark.parametrize("config", [{}, {"config": None}, {"config": {"Env": None, "Cmd": None, "Labels": None}}])
def test_an_image_that_says_nothing_is_root_at_the_top(config: dict[str, object]) -> None:
    settings = read_settings("app", config)
    assert (settings.user, settings.workdir, settings.env, settings.health) == ("", "/", {}, None)
    assert settings.shell == ("/bin/sh", "-c")


@pytest.mark.parametrize(
    ("test", "command"),
    [(["CMD-SHELL", "curl -f localhost"], "curl -f localhost"), (["CMD", "/check"], "/check")],
)
def test_a_health_check_becomes_a_command(test: list[str], command: str) -> None:
    health = read_settings("app", {"config": {"Healthcheck": {"Test": test}}}).health
    assert health is not None
    assert health.command == command


@pytest.mark.parametrize("test", [[], ["NONE"]])
def test_a_health_check_may_be_none(test: list[str]) -> None:
    assert read_settings("app", {"config": {"Healthcheck": {"Test": test}}}).health is None


@pytest.mark.parametrize(
    "said",
    [
        {"Env": "PATH=/bin"},
        {"Env": [1]},
        {"User": 0, "Cmd": {"a": 1}},
        {"User": ["root"]},
        {"WorkingDir": "/a\0b"},
        {"Labels": ["a"]},
        {"ExposedPorts": ["80"]},
        {"Healthcheck": {"Test": ["CMD"]}},
        {"Healthcheck": {"Test": ["RUN", "x"]}},
    ],
)
def test_a_configuration_that_makes_no_sense_is_a_broken_image(said: dict[str, object]) -> None:
    with pytest.raises(ImageBroken):
        read_settings("app", {"config": said})


def test_a_working_directory_is_always_absolute() -> None:
    assert read_settings("app", {"config": {"WorkingDir": "srv"}}).workdir == "/srv"


@pytest.mark.parametrize(
    "written", ["debian:12", f"a/b/c@{DIGEST}", "x:" + "T" * 128, "registry.example.com/" + "a" * 200 + ":_"]
)
def test_the_template_of_an_image_has_a_name_of_its_own(written: str) -> None:
    reference = Reference.parse(written)
    assert is_name(template_name(reference))
    assert template_name(reference) == template_name(Reference.parse(str(reference)))
    assert template_name(reference) != template_name(
        Reference.parse(f"other.example.com/{reference.repository}:{reference.tag or 1}")
    )
