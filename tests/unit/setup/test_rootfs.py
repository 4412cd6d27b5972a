from __future__ import annotations

import dataclasses
import os
import subprocess
import time
from pathlib import Path

import pytest

from roost.setup.artefacts import write_marker
from roost.setup.commands import Commands
from roost.setup.definitions import TemplateDefinition, find_definition
from roost.setup.mirror import Mirror
from roost.setup.rootfs import (
    drop_unwanted,
    ensure_rootfs,
    extract,
    find_rootfs,
    host_cas,
    mmdebstrap_command,
    render_hook,
    rootfs_digest,
)

# Addresses only: nothing is resolved, nothing is asked.
MIRROR = Mirror("http://192.0.2.1/debian", "http://192.0.2.1/debian-security")


@pytest.fixture
def base() -> TemplateDefinition:
    return find_definition("base")


def ca(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_extra_cas_are_found_in_order(tmp_path: Path) -> None:
    assert host_cas(tmp_path / "missing") == ()
    two, one = ca(tmp_path, "b/two.crt", "2"), ca(tmp_path, "a.crt", "1")
    ca(tmp_path, "notes.txt", "no certificate")
    assert host_cas(tmp_path) == (one, two)


def test_the_digest_covers_definition_and_cas(base: TemplateDefinition, tmp_path: Path) -> None:
    first, second = ca(tmp_path, "a.crt", "1"), ca(tmp_path, "b.crt", "2")
    other = dataclasses.replace(base, digest="other")
    digests = [
        rootfs_digest(base, ()),
        rootfs_digest(base, (first,)),
        rootfs_digest(base, (first, second)),
        rootfs_digest(other, ()),
    ]
    assert len(set(digests)) == 4
    # The same certificates by other names make the same root filesystem.
    assert rootfs_digest(base, (ca(tmp_path, "renamed.crt", "1"),)) == rootfs_digest(base, (first,))


def test_a_tar_counts_only_when_it_is_whole(base: TemplateDefinition, tmp_path: Path) -> None:
    digest = rootfs_digest(base, ())
    tar = tmp_path / "rootfs" / f"base-{digest[:16]}.tar"
    tar.parent.mkdir()
    tar.write_text("tar")
    assert find_rootfs(base, (), tmp_path) is None
    write_marker(tar.with_suffix(".json"), {"digest": digest, "size_bytes": 3})
    found = find_rootfs(base, (), tmp_path)
    assert found is not None and found.path == tar and found.env == {"LANG": "C.UTF-8"}
    tar.write_text("ta")
    assert find_rootfs(base, (), tmp_path) is None


def test_tars_that_nobody_wanted_for_a_month_are_dropped(base: TemplateDefinition, tmp_path: Path) -> None:
    def tar(name: str, days_ago: int) -> Path:
        path = tmp_path / "rootfs" / f"{name}.tar"
        path.parent.mkdir(exist_ok=True)
        path.write_text("tar")
        write_marker(path.with_suffix(".json"), {"digest": name, "size_bytes": 3})
        then = time.time() - days_ago * 24 * 3600
        os.utime(path.with_suffix(".json"), (then, then))
        return path

    digest = rootfs_digest(base, ())
    wanted = tar(f"base-{digest[:16]}", 40)
    write_marker(wanted.with_suffix(".json"), {"digest": digest, "size_bytes": 3})
    os.utime(wanted.with_suffix(".json"), (0, 0))
    old, recent, of_another = tar(f"base-{'a' * 16}", 31), tar(f"base-{'b' * 16}", 29), tar(f"base-two-{'a' * 16}", 40)
    ensure_rootfs(base, (), tmp_path, MIRROR, Commands())  # is there: only wanted
    drop_unwanted("base", tmp_path)
    assert [path.exists() for path in (wanted, old, recent, of_another)] == [True, False, True, True]
    assert not old.with_suffix(".json").exists()


def test_processes_inside_are_told_of_the_hosts_cas(base: TemplateDefinition, tmp_path: Path) -> None:
    cas = (ca(tmp_path, "a.crt", "1"),)
    digest = rootfs_digest(base, cas)
    tar = tmp_path / "rootfs" / f"base-{digest[:16]}.tar"
    write_marker(tar.with_suffix(".json"), {"digest": digest, "size_bytes": 0})
    tar.touch()
    found = find_rootfs(base, cas, tmp_path)
    assert found is not None
    assert found.env["NODE_EXTRA_CA_CERTS"] == found.env["PIP_CERT"] == "/etc/ssl/certs/ca-certificates.crt"


def test_the_hook_is_a_shell_script_that_quotes_what_it_is_given(base: TemplateDefinition, tmp_path: Path) -> None:
    awkward = ca(tmp_path, "it's; touch $HOME.crt", "1")
    script = render_hook(base, (awkward,), MIRROR)
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    copies = [line for line in script.splitlines() if "ca-certificates/host-0.crt" in line]
    root = tmp_path / "root"
    (root / "usr/local/share/ca-certificates").mkdir(parents=True)
    subprocess.run(["sh", "-euc", f'root="$1"; {copies[0]}', "sh", root], check=True)
    assert (root / "usr/local/share/ca-certificates/host-0.crt").read_text() == "1"


def test_a_private_mirror_is_not_given_to_sandboxes(base: TemplateDefinition) -> None:
    private = Mirror("http://10.0.0.1/debian", "http://10.0.0.1/debian-security")
    assert "10.0.0.1" not in render_hook(base, (), private)
    public = Mirror("http://1.1.1.1/debian", "http://1.1.1.1/debian-security")
    assert "deb http://1.1.1.1/debian trixie main" in render_hook(base, (), public)


def test_users_and_what_they_own(base: TemplateDefinition) -> None:
    script = render_hook(base, (), MIRROR)
    assert "useradd --uid 1000 --gid 1000 --create-home --shell /bin/bash user" in script
    assert "user ALL=(ALL:ALL) NOPASSWD: ALL" in script
    for owned in ("/home/user", "/code", "/usr/local"):
        assert f'chown -R 1000:1000 "$root{owned}"' in script


def test_the_build_keeps_its_mounts_to_itself(base: TemplateDefinition, tmp_path: Path) -> None:
    command = mmdebstrap_command(base, MIRROR, tmp_path / "hook", tmp_path / "out.tar")
    assert command[: command.index("mmdebstrap")] == ["unshare", "--mount", "--propagation", "private"]
    assert command[-3:] == list(MIRROR.lines("trixie"))


def test_a_child_starts_with_its_parents_tar_and_makes_nothing_of_it_again(tmp_path: Path) -> None:
    desktop = find_definition("desktop")
    parent = tmp_path / "it's the parent.tar"
    command = mmdebstrap_command(desktop, MIRROR, tmp_path / "hook", tmp_path / "out.tar", parent=parent)
    assert "--variant=custom" in command and not any(word.startswith("--include") for word in command)
    hooks = [word.removeprefix("--customize-hook=") for word in command if word.startswith("--customize-hook=")]
    assert hooks[0].startswith('chroot "$1" apt-get install') and "chromium" in hooks[0]
    script = render_hook(desktop, (ca(tmp_path, "a.crt", "1"),), MIRROR)
    assert "useradd" not in script and "update-ca-certificates" not in script
    assert 'chown -R 1000:1000 "$root/home/user"' in script


def test_a_parents_tar_does_not_hide_what_apt_needs(tmp_path: Path) -> None:
    """Unpacked by the very hook, beside what mmdebstrap has put there for its own work."""
    source, root, tar = tmp_path / "source", tmp_path / "root", tmp_path / "parent.tar"
    for folder, content in ((source, "of the parent"), (root, "of the making")):
        for name in ("etc/resolv.conf", "etc/apt/sources.list", "etc/motd"):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    subprocess.run(["tar", "-cf", tar, "-C", source, "."], check=True)
    command = mmdebstrap_command(find_definition("desktop"), MIRROR, tmp_path / "hook", tmp_path / "out.tar", parent=tar)
    [unpack] = [word.removeprefix("--setup-hook=") for word in command if word.startswith("--setup-hook=")]
    subprocess.run(["sh", "-euc", unpack, "sh", root], check=True)
    assert (root / "etc/motd").read_text() == "of the parent"
    assert (root / "etc/resolv.conf").read_text() == (root / "etc/apt/sources.list").read_text() == "of the making"


def test_a_tar_is_unpacked_with_its_modes_and_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "bin").mkdir(parents=True)
    (source / "bin" / "tool").write_text("x")
    (source / "bin" / "tool").chmod(0o4755)
    (source / "link").symlink_to("bin/tool")
    owner = f"--owner={source.stat().st_uid}"
    subprocess.run(["tar", "-C", source, owner, "-cf", tmp_path / "root.tar", "."], check=True)
    extract(tmp_path / "root.tar", tmp_path / "target", Commands())
    assert (tmp_path / "target" / "bin" / "tool").stat().st_mode & 0o7777 == 0o4755
    assert (tmp_path / "target" / "link").readlink() == Path("bin/tool")


def test_a_machines_cas_are_added_to_what_a_bundle_brought_without_a_mirror(tmp_path: Path) -> None:
    """No mmdebstrap, no network: the tar without CAs is enough."""
    minimal, cache = find_definition("minimal"), tmp_path / "cache"
    own = ca(tmp_path, "own.crt", "-----OWN-----\n")
    plain = cache / "rootfs" / f"minimal-{rootfs_digest(minimal, ())[:16]}.tar"
    plain.parent.mkdir(parents=True)
    (tmp_path / "root" / "etc" / "profile.d").mkdir(parents=True)
    (tmp_path / "root" / "etc" / "hostname").write_text("sandbox\n")
    subprocess.run(["tar", "-cf", plain, "-C", tmp_path / "root", "."], check=True)
    write_marker(plain.with_suffix(".json"), {"digest": rootfs_digest(minimal, ()), "size_bytes": plain.stat().st_size})

    made = ensure_rootfs(minimal, (own,), cache, MIRROR, Commands())
    assert made.path != plain and plain.exists()
    assert made.env["SSL_CERT_FILE"] == "/etc/ssl/certs/ca-certificates.crt"
    extract(made.path, tmp_path / "out", Commands())
    assert (tmp_path / "out/etc/ssl/certs/ca-certificates.crt").read_text() == "-----OWN-----\n"
    assert (tmp_path / "out/usr/local/share/ca-certificates/host-0.crt").read_text() == "-----OWN-----\n"
    assert (tmp_path / "out/etc/hostname").read_text() == "sandbox\n"


def test_links_that_a_definition_says_are_made(base: TemplateDefinition, tmp_path: Path) -> None:
    hook = render_hook(dataclasses.replace(base, files=None, users=(), links={"/usr/local/bin/tool": "/run/tool"}), (), MIRROR)
    making = [line for line in hook.splitlines() if "/usr/local/bin" in line]
    subprocess.run(["sh", "-euc", "\n".join(['root="$1"', *making]), "sh", tmp_path], check=True)
    assert str((tmp_path / "usr/local/bin/tool").readlink()) == "/run/tool"
