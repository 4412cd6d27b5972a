from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from roost.domain.address import check_instance
from roost.domain.errors import Invalid
from roost.settings import Settings, instance_of


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("ROOST_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))


def write(home: Path, text: str) -> None:
    (home / "roost.toml").write_text(text)


def test_later_layers_win_and_each_value_remembers_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 'port = 1001\nhost = "0.0.0.0"\ndomain = "from.file"\n')
    monkeypatch.setenv("ROOST_PORT", "1002")
    monkeypatch.setenv("ROOST_HOST", "::1")
    settings = Settings.load(port=1003)
    assert (settings.port, settings.origin("port")) == (1003, "--port")
    assert (settings.host, settings.origin("host")) == ("::1", "ROOST_HOST")
    assert (settings.domain, settings.origin("domain")) == ("from.file", "roost.toml")
    assert (settings.warm_pool, settings.origin("warm_pool")) == (2, "default")


def test_options_not_given_do_not_count() -> None:
    assert Settings.load(port=None).origin("port") == "default"


def test_an_empty_variable_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_MIRROR", "")
    assert Settings.load().mirror is None


def test_variables_of_the_client_and_the_guest_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ROOST_URL", "ROOST_API_KEY", "ROOST_SANDBOX_ID"):
        monkeypatch.setenv(name, "x")
    assert Settings.load().port == 4700


def test_the_file_of_the_home_named_on_the_command_line_is_read(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write(other, "port = 1004\n")
    settings = Settings.load(home=other)
    assert (settings.home, settings.port) == (other, 1004)


@pytest.mark.parametrize("words", ["desktop", "base,desktop", " base , desktop ,"])
def test_templates_are_a_list_in_the_file_and_words_in_a_variable(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tuple(word.strip() for word in words.split(",") if word.strip())
    monkeypatch.setenv("ROOST_TEMPLATES", words)
    assert Settings.load().templates == wanted
    monkeypatch.delenv("ROOST_TEMPLATES")
    write(tmp_path, f"templates = {list(wanted)}\n")
    assert (Settings.load().templates, Settings.load().origin("templates")) == (wanted, "roost.toml")


def test_the_tree_is_frozen() -> None:
    settings = Settings.load()
    with pytest.raises(ValidationError):
        settings.port = 1


def test_instances_differ_by_home_and_stay(tmp_path: Path) -> None:
    names = {instance_of(tmp_path / str(number)) for number in range(500)}
    assert len(names) == 500
    assert all(len(name) == 5 and name.isalnum() and name == name.lower() for name in names)
    assert Settings.load().instance == instance_of(tmp_path)
    assert Settings.load().origin("instance") == "derived from home"
    assert Settings.load(instance="mine1").instance == "mine1"


@pytest.mark.parametrize("name", ["mine", "sixsix", "Mine1", "mi-ne", "mine1\n", ""])
def test_an_instance_that_the_network_would_refuse_is_refused_when_settings_are_read(name: str) -> None:
    with pytest.raises(Invalid):
        check_instance(name)
    with pytest.raises(Invalid, match="instance"):
        Settings.load(instance=name)


def test_two_ways_to_one_home_are_one_instance(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    assert Settings.load(home=tmp_path / "link").instance == Settings.load(home=real).instance


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", "70000"),
        ("port", "http"),
        ("domain", "no domain"),
        ("network", "10.0.0.0/24"),
        ("mirror", "ftp://old"),
        ("log_level", "loud"),
        ("volume_size_gb", "1"),
        ("instance", "TooLong"),
    ],
)
def test_a_bad_value_is_refused_with_its_name_and_origin(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = f"ROOST_{name.upper()}"
    monkeypatch.setenv(variable, value)
    with pytest.raises(Invalid) as refused:
        Settings.load()
    assert variable in refused.value.message
    assert refused.value.code == "setting_invalid"
    assert refused.value.facts["setting"] == name


@pytest.mark.parametrize("text", ["prot = 4700\n", "[sandbox]\ncpus = 1\n", 'home = "/elsewhere"\n'])
def test_the_file_may_only_hold_settings(text: str, tmp_path: Path) -> None:
    write(tmp_path, text)
    with pytest.raises(Invalid) as refused:
        Settings.load()
    assert str(tmp_path / "roost.toml") in refused.value.message


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "port = \n")
    with pytest.raises(Invalid, match=r"roost\.toml cannot be read"):
        Settings.load()


def test_every_setting_is_listed_once_with_a_description() -> None:
    rows = Settings.load().rows()
    names = [name for name, _, _ in rows]
    assert len(set(names)) == len(names)
    assert {name.partition(".")[0] for name in names} == set(Settings.model_fields)
    assert all(field.description for field in Settings.model_fields.values())


def test_names_under_which_the_server_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_ALLOWED_HOSTS", "Proxy.example.com., my_service")
    settings = Settings.load()
    assert settings.allowed_hosts == ("proxy.example.com", "my_service")
    assert {"proxy.example.com", "my_service", "127.0.0.1"} < set(settings.own_names)
    for bad in ("https://proxy.example.com", "proxy.example.com:443", "*"):
        monkeypatch.setenv("ROOST_ALLOWED_HOSTS", bad)
        with pytest.raises(Invalid, match="without scheme and port"):
            Settings.load()


def test_registries_are_named_as_images_name_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_INSECURE_REGISTRIES", "127.0.0.1:5000, [::1]:5000")
    monkeypatch.setenv("ROOST_REGISTRY_MIRRORS", "docker.io=mirror.example.com,docker.io=other:5000")
    settings = Settings.load()
    assert settings.insecure_registries == ("127.0.0.1:5000", "[::1]:5000")
    assert settings.registry_mirrors == ("docker.io=mirror.example.com", "docker.io=other:5000")


@pytest.mark.parametrize(
    "line",
    [
        'insecure_registries = ["http://127.0.0.1:5000"]',
        'private_registries = ["registry.example.com/team"]',
        'private_registries = [""]',
        'registry_mirrors = ["mirror.example.com"]',
        'registry_mirrors = ["docker.io=https://mirror.example.com"]',
        "image_size_gb = 0",
        "image_timeout_s = 0",
    ],
)
def test_registries_that_cannot_be_meant_are_refused(tmp_path: Path, line: str) -> None:
    write(tmp_path, line)
    with pytest.raises(Invalid, match=line.partition(" ")[0]):
        Settings.load()
