from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.domain.errors import Fault, Invalid, Unsupported
from roost.setup.commands import Commands
from roost.setup.service import Service, check_systemd, install_service, render_unit

SERVICE = Service("roost", Path("/usr/local/bin/roost"), Path("/srv/roost"), {"ROOST_CACHE": "/srv/cache"})


def lines(service: Service = SERVICE) -> list[str]:
    return render_unit(service).splitlines()


def test_only_the_server_is_told_to_end() -> None:
    assert "KillMode=process" in lines()
    assert "ExecStart=/usr/local/bin/roost up --home /srv/roost" in lines()
    assert "Type=notify" in lines()


def test_sandboxes_sleep_when_the_machine_goes_down() -> None:
    [stop] = [line for line in lines() if line.startswith("ExecStop=")]
    assert '"$$(systemctl is-system-running)" = stopping' in stop and "roost down --all --home /srv/roost" in stop


def test_the_cache_is_named_where_it_is_not_the_usual_one() -> None:
    assert "Environment=ROOST_CACHE=/srv/cache" in lines()
    assert "RequiresMountsFor=/srv/roost /srv/cache" in lines()
    usual = lines(Service("roost", Path("/bin/roost"), Path("/srv/roost"), {}))
    assert not [line for line in usual if line.startswith("Environment")]


@pytest.mark.parametrize("home", ["/srv/my roost", "/srv/100%", "/srv/$HOME", "/srv/it's"])
def test_a_path_that_systemd_would_misread_is_refused(home: str) -> None:
    with pytest.raises(Invalid, match="systemd"):
        render_unit(Service("roost", Path("/bin/roost"), Path(home), {}))


def test_without_systemd_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="--dry-run"):
        check_systemd(tmp_path / "missing")


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Plays systemctl: writes down what it is told, and fails where the file `fails` says so."""
    folder = tmp_path / "tools"
    folder.mkdir()
    program = folder / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$*" >> {folder}/told\n[ "$1" != "$(cat {folder}/fails 2>/dev/null)" ]\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


def test_the_unit_is_written_enabled_and_started(systemctl: Path, tmp_path: Path) -> None:
    install_service(SERVICE, Commands(), start=True, units=tmp_path)
    assert (tmp_path / "roost.service").read_text() == render_unit(SERVICE)
    assert (systemctl / "told").read_text().splitlines() == ["daemon-reload", "enable roost.service", "start roost.service"]


def test_it_need_not_be_started(systemctl: Path, tmp_path: Path) -> None:
    install_service(SERVICE, Commands(), start=False, units=tmp_path)
    assert (systemctl / "told").read_text().splitlines() == ["daemon-reload", "enable roost.service"]


def test_a_start_that_fails_names_the_journal(systemctl: Path, tmp_path: Path) -> None:
    (systemctl / "fails").write_text("start")
    with pytest.raises(Fault, match="journalctl -u roost"):
        install_service(SERVICE, Commands(), start=True, units=tmp_path)
