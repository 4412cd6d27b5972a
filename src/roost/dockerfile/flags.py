"""Flags of an instruction: `--name=value`, each known by name or refused."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from roost.dockerfile.reading import Instruction
from roost.domain.build_errors import StepInvalid


class Flags:
    """Raises StepInvalid for what the instruction does not know, is there twice, or has no value."""

    def __init__(
        self, instruction: Instruction, *, texts: Iterable[str] = (), switches: Iterable[str] = (), lists: Iterable[str] = ()
    ) -> None:
        self._place = instruction.place
        self._switches, self._lists = frozenset(switches), frozenset(lists)
        known = {*texts, *self._switches, *self._lists}
        self._values: dict[str, list[str]] = {}
        for flag in instruction.flags:
            if flag == "--":
                break
            name, has_value, value = flag.removeprefix("--").partition("=")
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f" Did you mean --{near[0]}?" if near else ""
                raise StepInvalid(self._place, f"{instruction.name} has no flag --{name}.{hint}")
            if name in self._values and name not in self._lists:
                raise StepInvalid(self._place, f"--{name} is there twice.")
            if not value and bool(has_value) is (name in self._switches):  # `--link` needs none, `--link=` does
                raise StepInvalid(self._place, f"--{name} needs a value: --{name}=….")
            self._values.setdefault(name, []).append(value)

    def text(self, name: str) -> str:
        return self._values.get(name, [""])[-1]

    def list(self, name: str) -> tuple[str, ...]:
        return tuple(self._values.get(name, ()))

    def switch(self, name: str, *, default: bool = False) -> bool:
        if name not in self._values:
            return default
        value = self._values[name][-1].lower()
        if value not in ("", "true", "false"):
            raise StepInvalid(self._place, f"--{name} is true or false.")
        return value != "false"

    def __contains__(self, name: str) -> bool:
        return name in self._values
