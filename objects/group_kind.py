"""GroupKind: which kind an object is of, whatever the version; as apimachinery has it.

The name of a kind is not enough: two API groups have a MachineHealthCheck, and a Machine.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self


class GroupKind(NamedTuple):
    """A kind of an API group; "" is the core group."""

    group: str
    kind: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """What `str` wrote: no kind has a dot in its name."""
        kind, _, group = text.partition(".")
        return cls(group, kind)

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


@dataclass(frozen=True, kw_only=True)
class ServedKind:
    """A kind as API servers serve it, in the versions that we read."""

    group: str
    kind: str
    plural: str
    versions: tuple[str, ...]
    """Where an API server serves several of them, the first of these is asked for."""
    is_namespaced: bool

    @property
    def group_kind(self) -> GroupKind:
        """Which kind it is."""
        return GroupKind(self.group, self.kind)

    @property
    def api_versions(self) -> tuple[str, ...]:
        """The versions with their group, as objects name them."""
        return tuple(f"{self.group}/{version}" if self.group else version for version in self.versions)

    @property
    def api_version(self) -> str:
        """The first of them."""
        return self.api_versions[0]

    @property
    def resource_name(self) -> str:
        """How people name the kind, as kubectl does: `nodehealthchecks.remediation.medik8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural
