"""E2B's names: `[team/]alias[:tag]`, of templates and of snapshots, which are templates to E2B's clients.

The tag `default` is the implicit one. A snapshot that is called `alias` here is `team/alias:default` there.
"""

from __future__ import annotations

from dataclasses import dataclass

from roost.domain.errors import TemplateNotFound
from roost.domain.ids import TeamId

DEFAULT_TAG = "default"


@dataclass(frozen=True, slots=True)
class Name:
    alias: str
    tag: str = DEFAULT_TAG

    @property
    def ours(self) -> str:
        return self.alias if self.tag == DEFAULT_TAG else f"{self.alias}:{self.tag}"

    def full(self, team: TeamId) -> str:
        return f"{team}/{self.alias}:{self.tag}"


def parse(text: str, team: TeamId) -> Name:
    """Raises TemplateNotFound for a name in another team's space."""
    namespace, slash, rest = text.strip().lower().rpartition("/")
    if slash and namespace != team:
        raise TemplateNotFound(text)
    alias, _, tag = rest.partition(":")
    return Name(alias, tag or DEFAULT_TAG)


def from_ours(name: str) -> Name:
    alias, _, tag = name.partition(":")
    return Name(alias, tag or DEFAULT_TAG)
