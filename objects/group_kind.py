"""GroupKind: the kind of an object without its version, as in apimachinery.

The name of a kind is not unique: two API groups have a MachineHealthCheck and a Machine.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self


class GroupKind(NamedTuple):
    """A kind in an API group; "" is the core group."""

    group: str
    kind: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the result of `str`: a kind has no dot in its name."""
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
    """If an API server serves several of them, we use the first of these."""
    is_namespaced: bool

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def api_versions(self) -> tuple[str, ...]:
        """The versions with their group, as in objects."""
        return tuple(f"{self.group}/{version}" if self.group else version for version in self.versions)

    @property
    def api_version(self) -> str:
        return self.api_versions[0]

    @property
    def resource_name(self) -> str:
        """The name of the kind as in kubectl: `nodehealthchecks.remediation.medik8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural
