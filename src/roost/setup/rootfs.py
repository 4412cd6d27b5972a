"""Root filesystems of templates: a definition becomes a tar in the cache, once, by mmdebstrap. One that goes on from another
starts with the other's tar.

What a template's tar is made of decides its name, so a changed definition, file or CA is another tar. The old one stays usable
until a newer one has taken its place and nobody has wanted it for a month.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import os
import shlex
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from roost.domain.errors import Fault
from roost.setup.artefacts import Say, exclusive, read_marker, silent, work_folder, write_marker
from roost.setup.commands import CommandFailed, Commands
from roost.setup.definitions import TemplateDefinition, User
from roost.setup.interpreter import GUEST_ROOT
from roost.setup.mirror import MMDEBSTRAP, Mirror

RECIPE = 2  # raise it when the way a root filesystem is made changes
WANTED_S = 30 * 24 * 3600
HOST_CAS = Path("/usr/local/share/ca-certificates")
SYSTEM_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
# Tools that bring a bundle of their own and must be told of the system's.
BUNDLE_VARIABLES = (
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
)
GUEST_RESOLVER = "169.254.7.1"
LEFT_OUT = (
    "/usr/share/man/*",
    "/usr/share/doc/*",
    "/usr/share/info/*",
    "/usr/share/locale/*",
    "/usr/share/lintian/*",
)
# What mmdebstrap needs while it works, and a finished root filesystem has in another form.
OF_THE_MAKING = ("./dev/*", "./etc/resolv.conf", "./etc/hostname", "./etc/apt/sources.list")
KEPT = ("/usr/share/doc/*/copyright", "/usr/share/locale/locale.alias")


@dataclass(frozen=True, slots=True)
class Rootfs:
    """A root filesystem as a tar, and what its processes need to find in their environment."""

    template: str
    path: Path
    digest: str
    env: Mapping[str, str]
    size_bytes: int


def host_cas(folder: Path = HOST_CAS) -> tuple[Path, ...]:
    """The CAs that this machine trusts beyond its distribution's own."""
    return tuple(sorted(path for path in folder.rglob("*.crt") if path.is_file())) if folder.is_dir() else ()


def rootfs_digest(definition: TemplateDefinition, cas: tuple[Path, ...]) -> str:
    digest = hashlib.sha256(f"{RECIPE} {definition.digest} {os.uname().machine}\n".encode())
    for ca in cas:
        digest.update(hashlib.sha256(ca.read_bytes()).digest())
    return digest.hexdigest()


def find_rootfs(definition: TemplateDefinition, cas: tuple[Path, ...], cache: Path) -> Rootfs | None:
    """The finished tar of a definition, if the cache has it."""
    digest = rootfs_digest(definition, cas)
    path = cache / "rootfs" / f"{definition.name}-{digest[:16]}.tar"
    facts = read_marker(path.with_suffix(".json"))
    if facts is None or facts.get("digest") != digest or not path.is_file() or path.stat().st_size != facts.get("size_bytes"):
        return None
    env = {**definition.env, **(dict.fromkeys(BUNDLE_VARIABLES, SYSTEM_BUNDLE) if cas else {})}
    return Rootfs(definition.name, path, digest, env, path.stat().st_size)


def ensure_rootfs(
    definition: TemplateDefinition,
    cas: tuple[Path, ...],
    cache: Path,
    mirror: Mirror,
    commands: Commands,
    say: Say = silent,
) -> Rootfs:
    """The tar of a definition, made now if the cache lacks it. May be called twice, by two processes at once."""
    found = find_rootfs(definition, cas, cache)
    if found is None:
        with exclusive(cache / "locks" / f"rootfs-{definition.name}", say):
            found = find_rootfs(definition, cas, cache)
            if found is None:
                _make(definition, cas, cache, mirror, commands, say)
                drop_unwanted(definition.name, cache)
                found = find_rootfs(definition, cas, cache)
    if found is None:
        raise Fault("rootfs_missing", f"The root filesystem of {definition.name} vanished from {cache} while it was made.")
    _want(found)
    return found


def _want(rootfs: Rootfs) -> None:
    """Says when it was last wanted, by the time of its marker."""
    with contextlib.suppress(OSError):  # a cache that somebody else keeps, read-only
        os.utime(rootfs.path.with_suffix(".json"))


def drop_unwanted(template: str, cache: Path) -> None:
    """Tars of the template that nobody has wanted for a month are gone, marker first: one without it counts as half-made."""
    long_ago = time.time() - WANTED_S
    for marker in (cache / "rootfs").glob(f"{template}-{'[0-9a-f]' * 16}.json"):
        if marker.stat().st_mtime < long_ago:
            marker.unlink()
            marker.with_suffix(".tar").unlink(missing_ok=True)


def _make(
    definition: TemplateDefinition, cas: tuple[Path, ...], cache: Path, mirror: Mirror, commands: Commands, say: Say
) -> None:
    plain = find_rootfs(definition, (), cache) if cas else None  # a bundle brings it, and fits any machine
    parent = ensure_rootfs(definition.parent, cas, cache, mirror, commands, say) if definition.parent and not plain else None
    digest = rootfs_digest(definition, cas)
    target = cache / "rootfs" / f"{definition.name}-{digest[:16]}.tar"
    target.parent.mkdir(parents=True, exist_ok=True)
    with work_folder(cache, f"rootfs-{definition.name}") as work:
        tar = work / "root.tar"
        if plain is not None:
            say("adding this machine's CAs")
            _add_cas(plain, cas, work, tar, commands)
        else:
            _bootstrap(definition, cas, mirror, parent, tar, commands, say)
        with tar.open("rb") as made:
            os.fsync(made.fileno())
        size_bytes = tar.stat().st_size
        tar.replace(target)
    facts = {"digest": digest, "size_bytes": size_bytes, "template": definition.name, "mirror": mirror.archive}
    write_marker(target.with_suffix(".json"), facts)


def _bootstrap(
    definition: TemplateDefinition,
    cas: tuple[Path, ...],
    mirror: Mirror,
    parent: Rootfs | None,
    tar: Path,
    commands: Commands,
    say: Say,
) -> None:
    hook = tar.with_name("customize")
    hook.write_text(render_hook(definition, cas, mirror))
    hook.chmod(0o755)
    command = mmdebstrap_command(definition, mirror, hook, tar, parent=parent.path if parent else None)
    try:
        commands.run(command, env={"TMPDIR": str(tar.parent)}, name="mmdebstrap", on_line=say)
    except CommandFailed as error:
        raise Fault(
            "rootfs_failed",
            f"The root filesystem of {definition.name} could not be made from {mirror.archive}. {error.message}\n"
            "Check that the mirror is reachable (`mirror` in roost.toml names another), then run the command again.",
            template=definition.name,
            mirror=mirror.archive,
        ) from error


def _add_cas(plain: Rootfs, cas: tuple[Path, ...], work: Path, tar: Path, commands: Commands) -> None:
    """Without mmdebstrap and without a network."""
    root = work / "root"
    extract(plain.path, root, commands)
    script = "\n".join(["set -eu", 'root="$1"', *_trust(cas)])
    commands.run(["sh", "-c", script, "sh", root])
    options = ["--numeric-owner", "--xattrs", "--xattrs-include=*", "--sort=name"]
    commands.run(["tar", "--create", f"--file={tar}", f"--directory={root}", *options, "."])


def mmdebstrap_command(
    definition: TemplateDefinition, mirror: Mirror, hook: Path, target: Path, *, parent: Path | None = None
) -> list[str]:
    return [
        *MMDEBSTRAP,
        *(_from_scratch(definition) if parent is None else _on_top_of(parent, definition)),
        "--format=tar",
        '--aptopt=APT::Install-Recommends "false"',
        '--aptopt=Acquire::Languages "none"',
        '--aptopt=Acquire::Retries "3"',
        *(f"--dpkgopt=path-exclude={path}" for path in LEFT_OUT),
        *(f"--dpkgopt=path-include={path}" for path in KEPT),
        f"--customize-hook={hook}",
        definition.suite,
        str(target),
        *mirror.lines(definition.suite),
    ]


def _from_scratch(definition: TemplateDefinition) -> list[str]:
    return [f"--variant={definition.variant}", f"--include={','.join(definition.packages)}"]


def _on_top_of(parent: Path, definition: TemplateDefinition) -> list[str]:
    """Everything of the parent, but what mmdebstrap has just put there so that apt finds the mirror."""
    unpack = f'tar -C "$1" -xf {shlex.quote(str(parent))} --numeric-owner --xattrs --xattrs-include="*"'
    unpack += "".join(f" --exclude={path}" for path in OF_THE_MAKING)
    # Not synced package by package: what is not whole at the end is thrown away.
    install = f'chroot "$1" apt-get install --yes --quiet -o Dpkg::Options::=--force-unsafe-io {shlex.join(definition.packages)}'
    return ["--variant=custom", f"--setup-hook={unpack}", f"--customize-hook={install}"]


def render_hook(definition: TemplateDefinition, cas: tuple[Path, ...], mirror: Mirror) -> str:
    """The shell script that finishes a root filesystem, from outside, before it is packed. `$1` is its root."""
    inside = mirror if _reachable_from_sandboxes(mirror) else Mirror()
    lines = [
        "#!/bin/sh",
        "set -eu",
        'root="$1"',
        # A sandbox installs with recommends, as Debian does; only the image itself is lean.
        'rm -f "$root/etc/apt/apt.conf.d/99mmdebstrap"',
        f"printf '%s\\n' {shlex.join(inside.lines(definition.suite))} > \"$root/etc/apt/sources.list\"",
        'echo sandbox > "$root/etc/hostname"',
        "printf '127.0.0.1\\tlocalhost\\n127.0.1.1\\tsandbox\\n' > \"$root/etc/hosts\"",
        f'rm -f "$root/etc/resolv.conf"; echo "nameserver {GUEST_RESOLVER}" > "$root/etc/resolv.conf"',
        ': > "$root/etc/machine-id"',
        f'mkdir -p "$root{GUEST_ROOT}"',
        *(_trust(cas) if definition.parent is None else []),
        *(line for user in definition.users for line in _account(user)),
    ]
    if definition.files is not None:
        lines.append(f'cp -r --no-preserve=ownership,timestamps {shlex.quote(str(definition.files))}/. "$root/"')
    lines += [line for path, target in definition.links.items() for line in _link(path, target)]
    users = (*(definition.parent.users if definition.parent else ()), *definition.users)
    lines += [
        *(line for user in users for line in _ownership(user)),
        'rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb',
        'rm -rf "$root"/var/cache/debconf/*-old "$root"/var/cache/ldconfig/aux-cache',
        'rm -rf "$root"/var/log/*.log "$root"/var/log/apt/*',
    ]
    return "\n".join(lines) + "\n"


def _trust(cas: tuple[Path, ...]) -> list[str]:
    if not cas:
        return []
    folder = '"$root/usr/local/share/ca-certificates"'
    lines = [f"mkdir -p {folder}"]
    for number, ca in enumerate(cas):
        lines.append(f'cp {shlex.quote(str(ca))} "$root/usr/local/share/ca-certificates/host-{number}.crt"')
    bundle = f'"$root{SYSTEM_BUNDLE}"'
    lines += [
        'if [ -x "$root/usr/sbin/update-ca-certificates" ]; then',
        '    chroot "$root" update-ca-certificates',
        "else",
        f'    mkdir -p "$root{Path(SYSTEM_BUNDLE).parent}"; cat {folder}/host-*.crt >> {bundle}',
        "fi",
    ]
    for name in BUNDLE_VARIABLES:
        lines.append(f'echo {name}={SYSTEM_BUNDLE} >> "$root/etc/environment"')
        lines.append(f'echo export {name}={SYSTEM_BUNDLE} >> "$root/etc/profile.d/host-cas.sh"')
    return lines


def _account(user: User) -> list[str]:
    lines = [
        f'chroot "$root" groupadd --gid {user.uid} {user.name}',
        f'chroot "$root" useradd --uid {user.uid} --gid {user.uid} --create-home --shell {user.shell} {user.name}',
    ]
    lines += [f'chroot "$root" groupadd --force {group}' for group in user.groups]
    if user.groups:
        lines.append(f'chroot "$root" usermod --append --groups {",".join(user.groups)} {user.name}')
    if user.sudo:
        rule = f"{user.name} ALL=(ALL:ALL) NOPASSWD: ALL"
        lines.append(f"printf '%s\\n' {shlex.quote(rule)} 'Defaults:{user.name} !fqdn' > \"$root/etc/sudoers.d/{user.name}\"")
        lines.append(f'chmod 0440 "$root/etc/sudoers.d/{user.name}"')
    return lines


def _link(path: str, target: str) -> list[str]:
    return [f'mkdir -p "$root{Path(path).parent}"', f'ln -sfn {target} "$root{path}"']


def _ownership(user: User) -> list[str]:
    lines = [f'chown -R {user.uid}:{user.uid} "$root/home/{user.name}"']
    for path in user.owns:
        lines.append(f'mkdir -p "$root{path}"; chown -R {user.uid}:{user.uid} "$root{path}"')
    return lines


def _reachable_from_sandboxes(mirror: Mirror) -> bool:
    """Sandboxes may not reach private networks; a mirror there serves the host but not them."""
    for uri in (mirror.archive, mirror.security):
        try:
            found = socket.getaddrinfo(urlsplit(uri).hostname, None)
        except OSError:
            return False
        if not any(ipaddress.ip_address(address[4][0]).is_global for address in found):
            return False
    return True


def extract(tar: Path, into: Path, commands: Commands) -> None:
    """Unpack a root filesystem into an empty directory or subvolume, owners, modes and capabilities included."""
    into.mkdir(parents=True, exist_ok=True)
    commands.run(
        [
            "tar",
            "--extract",
            f"--file={tar}",
            f"--directory={into}",
            "--numeric-owner",
            "--same-owner",
            "--same-permissions",
            "--xattrs",
            "--xattrs-include=*",
        ]
    )
