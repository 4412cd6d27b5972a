"""`RUN --mount=type=cache,target=…`: what is there while a command runs."""

from __future__ import annotations

import csv

from roost.domain.build import CacheMount, Place, SecretMount
from roost.domain.build_errors import StepInvalid, StepUnsupported

_INSTEAD = {
    "bind": "COPY the files in a step before, or run the command in a stage of its own and COPY --from it.",
    "tmpfs": "Write below /dev/shm, which is memory, and remove it in the same command.",
    "ssh": "Give a token with --mount=type=secret, and clone over https.",
}
_SHARINGS = ("shared", "private", "locked")
_SPELLINGS = {"dst": "target", "destination": "target", "src": "source", "ro": "readonly", "rw": "readwrite"}
_CACHE = frozenset(("type", "target", "id", "sharing", "mode", "uid", "gid", "readwrite"))
_SECRET = frozenset(("type", "target", "id", "source", "required", "mode", "uid", "gid", "env"))


def read_mount(text: str, place: Place) -> CacheMount | SecretMount:
    """Raises StepInvalid, StepUnsupported."""
    fields = _fields(text, place)
    kind = fields.get("type", "bind").lower()
    if kind in _INSTEAD:
        raise StepUnsupported(place, f"--mount=type={kind}", _INSTEAD[kind])
    if kind not in ("cache", "secret"):
        raise StepInvalid(place, f"a mount is of type cache or secret, not {kind!r}.")
    unknown = sorted(fields.keys() - (_CACHE if kind == "cache" else _SECRET))
    if unknown:
        raise StepUnsupported(place, f"{unknown[0]!r} of --mount=type={kind}", "Leave it out.")
    owner = f"{_number(fields, 'uid', 0, place)}:{_number(fields, 'gid', 0, place)}"
    if kind == "cache":
        if "readwrite" in fields and not _is_true(fields, "readwrite", place):
            raise StepUnsupported(place, "a cache that cannot be written to", "Leave rw=false out.")
        if not fields.get("target"):
            raise StepInvalid(place, "a cache needs target=, the directory that is kept.")
        sharing = fields.get("sharing", "shared").lower()
        if sharing not in _SHARINGS:
            raise StepInvalid(place, f"sharing is {', '.join(_SHARINGS[:-1])} or {_SHARINGS[-1]}, not {sharing!r}.")
        mode = _number(fields, "mode", 0o755, place, base=8)
        return CacheMount(fields["target"], fields.get("id", ""), owner, mode, is_shared=sharing == "shared")
    if "id" in fields and "source" in fields:
        raise StepInvalid(place, "a secret has id= or source=, not both.")
    name, target = fields.get("id") or fields.get("source", ""), fields.get("target", "")
    if not name and not target:
        raise StepInvalid(place, "a secret needs id=, its name.")
    mode = _number(fields, "mode", 0o400, place, base=8)
    return SecretMount(name, target, fields.get("env", ""), owner, mode, is_required=_is_true(fields, "required", place))


def _fields(text: str, place: Place) -> dict[str, str]:
    try:
        (row,) = csv.reader([text], strict=True)
    except (csv.Error, ValueError) as error:
        raise StepInvalid(place, f"--mount={text} cannot be read: {error}.") from error
    fields: dict[str, str] = {}
    for field in row:
        name, equals, value = field.partition("=")
        name = _SPELLINGS.get(name.lower(), name.lower())
        if not equals:
            if name not in ("required", "readonly", "readwrite"):
                raise StepInvalid(place, f"{field!r} of --mount has no value: write {name or 'name'}=….")
            value = "true"
        fields[name] = value
    return fields


def _number(fields: dict[str, str], name: str, default: int, place: Place, base: int = 10) -> int:
    text = fields.get(name)
    if text is None:
        return default
    if "$" in text:
        raise StepUnsupported(place, f"a variable in {name}= of --mount", "Write the number.")
    try:
        value = int(text, base)
    except ValueError:
        value = -1
    if not text.isascii() or not text.isdigit() or not 0 <= value <= (0o7777 if name == "mode" else 2**32 - 2):
        raise StepInvalid(place, f"{text!r} is no {name}.")
    return value


def _is_true(fields: dict[str, str], name: str, place: Place) -> bool:
    value = fields.get(name, "false").lower()
    if value not in ("true", "false", "1", "0"):
        raise StepInvalid(place, f"{name}= is true or false, not {value!r}.")
    return value in ("true", "1")
