"""What can go wrong between this node and a registry, and with what a registry sends."""

from __future__ import annotations

from roost.domain.errors import Exhausted, Forbidden, Invalid, NotFound, TimedOut, Unavailable, Unsupported


class ReferenceInvalid(Invalid):
    def __init__(self, reference: str, why: str) -> None:
        super().__init__(
            "reference_invalid",
            f"{reference[:200]!r} names no image: {why}. Write it as `debian:12` or `registry.example.com/team/app:1.0`.",
            reference=reference[:200],
        )


class ImageNotFound(NotFound):
    def __init__(self, reference: str, detail: str) -> None:
        super().__init__(
            "image_not_found",
            f"The registry has no image {reference}: {detail}. Check name and tag; one that is not public is hidden from those"
            " without credentials (`docker_config` in the settings).",
            reference=reference,
            detail=detail,
        )


class ImagePlatformMissing(Unsupported):
    def __init__(self, reference: str, offered: str) -> None:
        super().__init__(
            "image_platform_missing",
            f"The image {reference} is not made for machines like this one, only for {offered}. Ask for another tag, or"
            " build it for this platform.",
            reference=reference,
            offered=offered,
        )


class RegistryDenied(Forbidden):
    def __init__(self, reference: str, detail: str) -> None:
        super().__init__(
            "registry_denied",
            f"The registry does not let this node have {reference}: {detail}. Its credentials come from Docker's config.json"
            " (`docker_config` in the settings): log in there (`docker login`), or correct it.",
            reference=reference,
            detail=detail,
        )


class RegistryRefused(Forbidden):
    """This node does not go there, whatever the registry would say."""

    def __init__(self, reference: str, detail: str) -> None:
        super().__init__(
            "registry_refused",
            f"The image {reference} is not fetched: {detail}. Whoever runs this Roost can name that host in `private_registries`"
            " (an address of an inner network) or `insecure_registries` (no https) of the settings.",
            reference=reference,
            detail=detail,
        )


class RegistryUnreachable(Unavailable):
    def __init__(self, reference: str, detail: str) -> None:
        super().__init__(
            "registry_unreachable",
            f"The registry of {reference} cannot be reached: {detail}. Check that it is up and that this machine can reach it,"
            " then ask again.",
            reference=reference,
            detail=detail,
        )


class RegistryTooSlow(TimedOut):
    def __init__(self, reference: str, limit_s: float) -> None:
        super().__init__(
            "registry_too_slow",
            f"The image {reference} had not arrived after {limit_s:g} s. Nothing of it was kept. Ask again, use a mirror that is"
            " nearer (`registry_mirrors` in the settings), or allow more time (`image_timeout_s`).",
            reference=reference,
            limit_s=limit_s,
        )


class ImageBroken(Invalid):
    """What the registry sent is not what it said, or no image. Nothing of it was kept."""

    def __init__(self, reference: str, detail: str) -> None:
        super().__init__(
            "image_broken",
            f"The image {reference} cannot be used: {detail}. Nothing of it was kept. Push it again, or ask whoever made it.",
            reference=reference,
            detail=detail,
        )


class ImageTooLarge(Exhausted):
    def __init__(self, reference: str, detail: str) -> None:
        super().__init__(
            "image_too_large",
            f"The image {reference} is too large: {detail}. Nothing of it was kept. Make it smaller, or raise"
            " `image_size_gb` in the settings.",
            reference=reference,
            detail=detail,
        )
