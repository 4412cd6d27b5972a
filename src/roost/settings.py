"""All settings: one frozen tree, read once, that remembers where each value came from.

    defaults  <  $ROOST_HOME/roost.toml  <  ROOST_* variables  <  command line

`Settings.load` is the only door. Everything below gets the tree, or the few values it needs, handed in.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import tomllib
from collections.abc import Mapping
from ipaddress import IPv4Network, ip_address
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from roost.domain.address import INSTANCE_NAME
from roost.domain.errors import Invalid
from roost.domain.image import REGISTRY

DEFAULT_HOME = Path("/var/lib/roost")
DEFAULT_CACHE = Path("/var/cache/roost")
RUN = Path("/run/roost")
INSTANCE_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def instance_of(home: Path) -> str:
    """Five letters and digits that stay the same for a home and differ between homes."""
    number = int.from_bytes(hashlib.sha256(os.fsencode(home)).digest()[:8], "big")
    letters = []
    for _ in range(5):
        number, index = divmod(number, len(INSTANCE_LETTERS))
        letters.append(INSTANCE_LETTERS[index])
    return "".join(letters)


def _resolved(path: Path) -> Path:
    return path.expanduser().resolve()


def _domain(value: str) -> str:
    labels = value.lower().rstrip(".").split(".")
    if not all(label and len(label) <= 63 and label.replace("-", "").isalnum() and label.isascii() for label in labels):
        raise ValueError("must be a domain name such as roost.localhost")
    return ".".join(labels)


def _hosts(values: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(value.lower().rstrip(".") for value in values)
    if not all(re.fullmatch(r"[a-z0-9._-]+", name) for name in names):
        raise ValueError("must be host names such as roost.example.com, without scheme and port")
    return names


def _mirror(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError("must be the http(s) address of a Debian mirror")
    return value.rstrip("/")


def _registries(values: tuple[str, ...]) -> tuple[str, ...]:
    if not all(REGISTRY.fullmatch(value) for value in values):
        raise ValueError("must be registries as images name them, such as registry.example.com or 127.0.0.1:5000")
    return values


def _mirrors(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        registry, _, mirror = value.partition("=")
        if not (REGISTRY.fullmatch(registry) and REGISTRY.fullmatch(mirror)):
            raise ValueError("must be written as docker.io=mirror.example.com:5000")
    return values


def _network(value: IPv4Network) -> IPv4Network:
    if value.prefixlen > 20:
        raise ValueError("must be a /20 or wider: one instance takes a /20 of it")
    return value


def _words(value: Any) -> Any:
    """A list in the file; in a variable the words stand one after the other, with commas between."""
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


Folder = Annotated[Path, AfterValidator(_resolved)]


class Settings(BaseSettings):
    """Every setting, its default and what it means."""

    model_config = SettingsConfigDict(
        env_prefix="ROOST_",
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        validate_default=True,
    )

    home: Folder = Field(default=DEFAULT_HOME, description="everything this Roost owns: database, key, engines, volume")
    cache: Folder = Field(
        default=DEFAULT_CACHE,
        description="what any home may share: engines, interpreter, root filesystems; one unused for a month goes for a newer",
    )
    instance: str = Field(
        default_factory=lambda validated: instance_of(validated["home"]) if "home" in validated else "",
        pattern=f"^{INSTANCE_NAME}$",
        description="part of every name Roost gives on the machine: five letters or digits; derived from the home unless set",
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="address to listen on")
    port: int = Field(default=4700, ge=0, le=65535, description="port to listen on")
    domain: Annotated[str, AfterValidator(_domain)] = Field(
        default="roost.localhost", description="sandboxes are reached at <port>-<sandbox>.<domain>"
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words), AfterValidator(_hosts)] = Field(
        default=(),
        description="further host names under which the server answers, beside this machine's own, localhost and the domain's",
    )
    tls: bool = Field(default=False, description="speak https, with a certificate of Roost's own making unless tls_cert is set")
    tls_cert: Folder | None = Field(default=None, description="a certificate (PEM, with its chain) for the domain and *.<domain>")
    tls_key: Folder | None = Field(default=None, description="the key of tls_cert (PEM)")
    public_port: int | None = Field(
        default=None, ge=1, le=65535, description="the port that clients use when a proxy that speaks https stands in front"
    )
    volume_size_gb: int = Field(default=50, ge=4, description="size of the volume's file, which is sparse, in GiB")
    engine: Folder | None = Field(default=None, description="a runsc of your own, of June 2026 or later")
    mirror: Annotated[str, AfterValidator(_mirror)] | None = Field(
        default=None, description="the Debian mirror for root filesystems; the machine's own unless set"
    )
    host_cas: bool = Field(default=True, description="sandboxes trust the CAs that were added to this machine")
    network: Annotated[IPv4Network, AfterValidator(_network)] = Field(
        default=IPv4Network("198.18.0.0/15"), description="addresses for the links between host and sandboxes"
    )
    templates: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)] = Field(
        default=("base", "desktop", "mcp-gateway"),
        min_length=1,
        description="the built-in templates to make; the server waits for the first and makes the others while it serves;"
        " `base=minimal` makes the one called minimal under the name base",
    )
    docker_config: Folder | None = Field(
        default=None, description="the folder of a Docker config.json, with credentials for registries; none unless set"
    )
    registry_mirrors: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words), AfterValidator(_mirrors)] = Field(
        default=(), description="where images are looked for first: `docker.io=mirror.example.com:5000`, several if you like"
    )
    private_registries: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words), AfterValidator(_registries)] = Field(
        default=(), description="registries at addresses of an inner network, which images may come from"
    )
    insecure_registries: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words), AfterValidator(_registries)] = Field(
        default=(), description="registries that may speak http, or https with any certificate; an inner address is fine too"
    )
    image_size_gb: int = Field(default=20, ge=1, le=10_000, description="the largest image that is imported, unpacked, in GiB")
    image_timeout_s: float = Field(default=1800.0, ge=1, le=86400, description="how long an image may take to arrive")
    image_days: float = Field(
        default=30.0, ge=0, le=3650, description="how long an image that nobody asks for is kept on the node"
    )
    warm_pool: int = Field(default=2, ge=0, le=64, description="sandboxes kept ready per template")
    warm_desktops: int = Field(
        default=1, ge=0, le=64, description="the same for templates with a desktop, which take more memory"
    )
    doze_memory_share: float = Field(
        default=0.25,
        ge=0,
        le=0.9,
        description="share of the machine's memory in which sleeping sandboxes stay frozen, to wake in milliseconds; 0: none",
    )
    spare_slots: int = Field(default=4, ge=0, le=256, description="network slots kept ready")
    trash_hours: float = Field(
        default=24.0, ge=0, le=8760, description="how long a killed sandbox can be undeleted; 0: not at all"
    )
    event_days: float = Field(default=90.0, gt=0, le=36500, description="how long events are kept")
    builds: int = Field(default=2, ge=1, le=64, description="templates that are built at the same time; others wait")
    upload_limit_mb: int = Field(
        default=2560, ge=1, le=65536, description="the most that the files of one build (its context) may have, unpacked, in MiB"
    )
    layer_days: float = Field(
        default=14.0, gt=0, le=36500, description="how long a build step's result is kept that no build used again"
    )
    private_proxies: bool = Field(default=False, description="a sandbox's egress proxy may have a private address")
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="least severity that is logged")

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # The layers are merged in `load`, which has to know which of them a value came from.
        return (init_settings,)

    @classmethod
    def load(cls, **command_line: Any) -> Settings:
        """Read every layer now. Options that are None were not given. Raises Invalid, naming value and origin."""
        given = {name: value for name, value in command_line.items() if value is not None}
        variables = _variables()
        home = _resolved(Path(given.get("home") or variables.get("home") or DEFAULT_HOME))
        file = home / "roost.toml"
        layers = ((_read_file(file), file.name), (variables, "ROOST_"), (given, "--"))
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        for layer, origin in layers:
            _merge(values, origins, layer, origin)
        try:
            settings = cls(**values)
        except ValidationError as error:
            raise _refusal(error, origins, file) from error
        settings._origins.update(origins)
        return settings

    def origin(self, name: str) -> str:
        """Where a value came from: `default`, `roost.toml`, a variable or an option."""
        if name == "instance" and name not in self._origins:
            return "derived from home"
        return self._origins.get(name, "default")

    def rows(self) -> list[tuple[str, Any, str]]:
        """Every setting as (name, value, origin)."""
        return [(name, getattr(self, name), self.origin(name)) for name in type(self).model_fields]

    # Where things are.

    @property
    def file(self) -> Path:
        return self.home / "roost.toml"

    @property
    def speaks_tls(self) -> bool:
        return self.tls or self.tls_cert is not None or self.tls_key is not None

    @property
    def is_exposed(self) -> bool:
        """Others than this machine can reach the server, and what passes is not encrypted."""
        if self.speaks_tls or self.host == "localhost":
            return False
        try:
            return not ip_address(self.host).is_loopback
        except ValueError:
            return True

    @property
    def own_names(self) -> tuple[str, ...]:
        """Host names under which the server answers, beside `localhost` and those of the domain."""
        machine = socket.gethostname()
        return (*self.allowed_hosts, self.host, machine, f"{machine}.local")

    @property
    def tls_dir(self) -> Path:
        return self.home / "tls"

    @property
    def db(self) -> Path:
        return self.home / "roost.db"

    @property
    def key_file(self) -> Path:
        return self.home / "key"

    @property
    def session_secret(self) -> Path:
        """What the cookies of signed-in browsers are sealed with. A new one signs everybody out."""
        return self.home / "session-secret"

    @property
    def store_key(self) -> Path:
        """What the secrets in the database are sealed with. Without it they are lost: back it up, but not beside the database."""
        return self.home / "store-key"

    @property
    def engines(self) -> Path:
        return self.home / "engines"

    @property
    def agent(self) -> Path:
        return self.home / "agent"

    @property
    def volume_file(self) -> Path:
        return self.home / "volume.btrfs"

    @property
    def volume(self) -> Path:
        return self.home / "volume"

    @property
    def log_file(self) -> Path:
        return self.home / "server.log"

    @property
    def run_dir(self) -> Path:
        """Sockets, locks and engine state: gone after a reboot, as what they tell of is."""
        return RUN / self.instance

    @property
    def node_socket(self) -> Path:
        """Where the node's process is called by control's."""
        return self.run_dir / "node.sock"

    @property
    def control_socket(self) -> Path:
        """Where control's process is called by the edge's."""
        return self.run_dir / "control.sock"

    @property
    def api_socket(self) -> Path:
        """Where control serves the API to the edge."""
        return self.run_dir / "api.sock"


def _read_file(file: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(file.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise Invalid(
            "settings_unreadable",
            f"{file} cannot be read: {error}. Correct it, or remove it to use the defaults.",
            file=str(file),
        ) from error
    if "home" in values:
        raise Invalid(
            "setting_invalid",
            f"{file} sets `home`, but the file is found by its home. Remove the line and use ROOST_HOME or --home.",
            setting="home",
        )
    return values


def _variables() -> dict[str, Any]:
    """The ROOST_* variables that are settings. Others (ROOST_API_KEY, ROOST_SANDBOX_ID) are the client's."""
    return EnvSettingsSource(Settings)()


def _merge(values: dict[str, Any], origins: dict[str, str], layer: Mapping[str, Any], origin: str) -> None:
    for name, value in layer.items():
        values[name] = value
        if origin == "ROOST_":
            origins[name] = f"ROOST_{name.upper()}"
        elif origin == "--":
            origins[name] = f"--{name.replace('_', '-')}"
        else:
            origins[name] = origin


def _refusal(error: ValidationError, origins: Mapping[str, str], file: Path) -> Invalid:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
    origin = origins.get(name, file.name)
    where = str(file) if origin == file.name else origin
    if first["type"] == "extra_forbidden":
        message = f"{where} sets {name!r}, which is no setting of Roost. `roost config show` lists the ones there are."
    else:
        reason = first["msg"].removeprefix("Value error, ")
        message = f"The setting {name} = {first['input']!r} (from {where}) is not usable: {reason}. Correct it there."
    return Invalid("setting_invalid", message, setting=name, origin=where)
