"""Right: what one of our processes may do to one resource, and why: one row of the table of rights.

The roles in `deploy/`, the questions of `paramedic doctor` and docs/rights.md are generated from these rows,
so they always agree. A row without a need is an excess right: its clause says what would fail without it.
"""

from dataclasses import dataclass
from enum import StrEnum


class Process(StrEnum):
    """One of our two processes, which have separate service accounts."""

    DETECTOR = "detector"
    WORKER = "worker"


@dataclass(frozen=True)
class RightsGroup:
    """Rights that an installation grants together or not at all."""

    granted_by: str
    """The file that grants them; {process} stands for the process."""
    needed: str
    """When they are needed."""
    name: str = ""
    """Distinguishes their roles from those of every installation."""


"""The reason to patch checks and Machines."""
BASE = RightsGroup("deploy/base/rbac/{process}.yaml", "always")


@dataclass(frozen=True, kw_only=True)
class Right:
    """Verbs on one resource; "" as namespace or name means all."""

    process: Process
    group: str
    resource: str
    """With its subresource, if any."""
    verbs: tuple[str, ...]
    namespace: str = ""
    name: str = ""
    part: RightsGroup = BASE
    why: str = ""
    """The purpose, in a clause."""

    @property
    def granted_by(self) -> str:
        return self.part.granted_by.format(process=self.process)

    @property
    def resource_name(self) -> str:
        """The resource with its group, as kubectl writes it."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def __str__(self) -> str:
        named = f" {self.name}" if self.name else ""
        return f"{self.resource_name}{named}{f' in {self.namespace}' if self.namespace else ''}"
