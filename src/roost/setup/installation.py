"""What `roost setup` does, as a list of steps, and what `roost up` gets from it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roost.domain.errors import Exhausted, Unavailable
from roost.settings import Settings
from roost.setup.agent import AgentBundle, ensure_agent
from roost.setup.artefacts import Say
from roost.setup.commands import Commands
from roost.setup.definitions import TemplateDefinition, find_definitions
from roost.setup.engine import Engine, ensure_engine, find_engine, install_engine
from roost.setup.interpreter import Interpreter, ensure_interpreter, find_interpreter, this_machine
from roost.setup.mirror import machine_mirror
from roost.setup.packages import BUILDING, SERVING, check_packages, check_root, ensure_packages
from roost.setup.plan import Board, SetupStep, run_plan
from roost.setup.puller import ensure_puller
from roost.setup.rootfs import Rootfs, ensure_rootfs, find_rootfs, host_cas
from roost.setup.volume import GIB, Volume, check_volume, ensure_volume, existing_parent
from roost.setup.web import Web, ensure_web, find_web

CACHE_NEEDS_GB = 8  # while everything is made at once; a third of it stays


@dataclass(frozen=True, slots=True)
class Artefacts:
    """What the cache holds: enough to make any number of homes."""

    engine: Engine
    interpreter: Interpreter
    rootfs: Mapping[str, Rootfs]
    web: Web


@dataclass(frozen=True, slots=True)
class Installation:
    """Everything a server needs to start, all of it there."""

    engine: Engine
    agent: AgentBundle
    volume: Volume
    rootfs: Mapping[str, Rootfs]
    definitions: Mapping[str, TemplateDefinition]
    web: Web


def prepare_cache(settings: Settings, board: Board) -> Artefacts:
    """Fill the cache with what is missing. Needs root. May be called twice, by two processes at once."""
    check_root()
    definitions = find_definitions(settings.templates)
    check_cache(settings, definitions)
    commands = Commands()
    steps = [*cache_steps(settings, definitions, commands), _puller_step(settings, commands)]
    results = run_plan(steps, board, commands)
    return Artefacts(results["engine"], results["interpreter"], _rootfs(results, definitions), results["web"])


def install(settings: Settings, board: Board, *, offline: bool = False, with_puller: bool = True) -> Installation:
    """Make the machine ready for this home: cache, engine, agent and volume. Needs root. May be called twice.

    Offline, what is missing is refused and named rather than fetched. Without the puller, whoever asks for the first image waits
    for it."""
    check_root()
    commands = Commands()
    definitions = find_definitions(settings.templates)
    if offline:
        check_complete(settings, definitions)
    is_default = settings.origin("volume_size_gb") == "default"
    # Everything that can be refused is refused before anything is made.
    check_volume(settings.home, settings.volume_size_gb, commands, is_default=is_default)
    check_cache(settings, definitions)
    shared = cache_steps(settings, definitions, commands)
    # The home comes last and takes no time: a set-up that failed or was interrupted before leaves no home and no mount.
    steps = [*shared, *home_steps(settings, commands, needs=tuple(step.name for step in shared))]
    if with_puller and not offline:
        steps.append(_puller_step(settings, commands))
    results = run_plan(steps, board, commands)
    return Installation(
        results["home-engine"], results["agent"], results["volume"], _rootfs(results, definitions), definitions, results["web"]
    )


def cache_steps(settings: Settings, definitions: Mapping[str, TemplateDefinition], commands: Commands) -> list[SetupStep]:
    mirror = machine_mirror(settings.mirror)
    cas = trusted_cas(settings)

    def engine(_: Mapping[str, Any], say: Say) -> Engine:
        return ensure_engine(settings.engine, settings.cache, commands, say)

    def interpreter(_: Mapping[str, Any], say: Say) -> Interpreter:
        return ensure_interpreter(settings.cache, mirror, commands, say)

    def rootfs(definition: TemplateDefinition) -> SetupStep:
        return SetupStep(
            f"rootfs-{definition.name}",
            f"root filesystem of {definition.name}",
            lambda _, say: ensure_rootfs(definition, cas, settings.cache, mirror, commands, say),
            # Not beside its parent, which it goes on from: it would only wait for it.
            needs=(f"rootfs-{definition.parent.name}" if definition.parent and definition in bootstrapped else "packages",),
        )

    bootstrapped = to_bootstrap(settings, definitions)
    parents = [each.parent for each in bootstrapped if each.parent]
    made = {each.name: each for each in (*parents, *definitions.values())}
    needs = SERVING + (BUILDING if bootstrapped or not find_interpreter(settings.cache) else ())
    return [
        SetupStep("packages", "system packages", lambda _, say: ensure_packages(commands, say, needs)),
        SetupStep("engine", "engine (gVisor)", engine),
        SetupStep("interpreter", "agent's interpreter", interpreter, needs=("packages",)),
        SetupStep("web", "Mission Control", lambda _, say: ensure_web(settings.cache, commands, say)),
        *(rootfs(definition) for definition in made.values()),
    ]


def _puller_step(settings: Settings, commands: Commands) -> SetupStep:
    # After the engine, which takes longer and has more waiting for it.
    return SetupStep("puller", "image puller", lambda _, say: ensure_puller(settings.cache, commands, say), needs=("engine",))


def home_steps(settings: Settings, commands: Commands, needs: tuple[str, ...]) -> list[SetupStep]:
    def home(_: Mapping[str, Any], __: Say) -> Path:
        settings.home.mkdir(mode=0o711, parents=True, exist_ok=True)
        return settings.home

    def volume(_: Mapping[str, Any], say: Say) -> Volume:
        is_default = settings.origin("volume_size_gb") == "default"
        return ensure_volume(settings.home, settings.volume_size_gb, commands, say, is_default=is_default)

    def agent(results: Mapping[str, Any], say: Say) -> AgentBundle:
        return ensure_agent(settings.home, results["interpreter"], commands, say)

    return [
        SetupStep("home", "home", home, needs=needs),
        SetupStep("volume", "volume", volume, needs=("home", "home-engine", "agent")),
        SetupStep(
            "home-engine",
            "engine in the home",
            lambda r, _: install_engine(r["engine"], settings.home),
            needs=("home",),
        ),
        SetupStep("agent", "agent", agent, needs=("home",)),
    ]


def trusted_cas(settings: Settings) -> tuple[Path, ...]:
    return host_cas() if settings.host_cas else ()


def check_cache(settings: Settings, definitions: Mapping[str, TemplateDefinition]) -> None:
    """Whether this machine can make what the cache lacks. Raises Exhausted, Invalid or Unsupported first."""
    this_machine()
    cas = trusted_cas(settings)
    whole = (
        find_engine(settings.engine, settings.cache)
        and find_interpreter(settings.cache)
        and find_web(settings.cache)
        and all(find_rootfs(definition, cas, settings.cache) for definition in definitions.values())
    )
    parent = existing_parent(settings.cache)
    free_gb = shutil.disk_usage(parent).free // GIB
    if not whole and free_gb < CACHE_NEEDS_GB:
        raise Exhausted(
            "disk_too_small",
            f"The disk that holds {parent} has {free_gb} GiB free; making the engine and the root filesystems needs"
            f" {CACHE_NEEDS_GB} GiB for a while. Free some space, or put the cache elsewhere (ROOST_CACHE).",
            folder=str(parent),
            needed_gb=CACHE_NEEDS_GB,
            free_gb=free_gb,
        )


def to_bootstrap(settings: Settings, definitions: Mapping[str, TemplateDefinition]) -> tuple[TemplateDefinition, ...]:
    """Of these, the ones whose root filesystem has to come from a mirror. To add this machine's CAs takes none."""
    cas, cache = trusted_cas(settings), settings.cache
    return tuple(
        each for each in definitions.values() if not (find_rootfs(each, cas, cache) or (cas and find_rootfs(each, (), cache)))
    )


def check_complete(settings: Settings, definitions: Mapping[str, TemplateDefinition]) -> None:
    """Whether everything is here that would have to be fetched or built. Raises Unsupported or Unavailable."""
    check_packages()
    missing = {
        "the engine": not find_engine(settings.engine, settings.cache),
        "the agent's interpreter": not find_interpreter(settings.cache),
        "Mission Control's pages": not find_web(settings.cache),
        **{f"the root filesystem of {each.name}": True for each in to_bootstrap(settings, definitions)},
    }
    names = [name for name, is_missing in missing.items() if is_missing]
    if names:
        raise Unavailable(
            "not_in_cache",
            f"{settings.cache} lacks {', '.join(names)}, and nothing is to be fetched. Make a bundle that has what is missing"
            " (`make bundle`), or run `roost setup` where there is a network.",
            missing=names,
        )


def _rootfs(results: Mapping[str, Any], definitions: Mapping[str, TemplateDefinition]) -> dict[str, Rootfs]:
    return {name: results[f"rootfs-{name}"] for name in definitions}
