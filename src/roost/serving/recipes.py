"""What the templates are made of."""

from __future__ import annotations

from roost.domain.template import Recipe
from roost.node.engine.bundle import SPEC_VERSION
from roost.setup.installation import Installation


def recipes(installation: Installation) -> list[Recipe]:
    """The first is the one that the server waits for."""
    return [_recipe(installation, name) for name in installation.definitions]


def _recipe(installation: Installation, name: str) -> Recipe:
    definition, rootfs = installation.definitions[name], installation.rootfs[name]
    return Recipe(
        name=name,
        digest=f"{definition.digest}-{rootfs.digest}-{installation.agent.version}-{installation.engine.version}-{SPEC_VERSION}",
        size=definition.size,
        description=definition.description,
        user=definition.user,
        workdir=definition.workdir,
        env={**rootfs.env, **definition.env},
        run=definition.run,
        start=definition.start,
        ready=definition.ready,
        has_desktop=definition.has_desktop,
        packages=tuple(sorted({*definition.packages, *(definition.parent.packages if definition.parent else ())})),
    )
