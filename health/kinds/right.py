"""Right: what one of our processes may do to one resource, and why: a row of the one table of rights.

The roles in `deploy/`, what `paramedic doctor` asks for, and docs/rights.md are made from these rows, so that
none of them says something else. A row that nothing needs is a right too many: say in a clause what would not
work without it.
"""

from dataclasses import dataclass
from enum import StrEnum


class Process(StrEnum):
    """One of our two processes."""

    DETECTOR = "detector"
    WORKER = "worker"


@dataclass(frozen=True)
class Part:
    """Rights that an installation has or has not as a whole."""

    granted_by: str
    """What is to be applied to get them; {process} stands for whose they are."""
    needed: str
    """When they are needed."""
    name: str = ""
    """How its roles are told from those that every installation has."""


BASE = Part("deploy/base/rbac/{process}.yaml", "always")


@dataclass(frozen=True)
class Right:
    """Verbs on one resource; "" for namespace or name means all."""

    process: Process
    group: str
    resource: str
    """With its subresource, if it is about one."""
    verbs: tuple[str, ...]
    namespace: str = ""
    name: str = ""
    part: Part = BASE
    why: str = ""
    """What it is for, in a clause."""

    @property
    def granted_by(self) -> str:
        """What is to be applied to get it."""
        return self.part.granted_by.format(process=self.process)

    @property
    def resource_name(self) -> str:
        """The resource with its group, as kubectl writes it."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def __str__(self) -> str:
        named = f" {self.name}" if self.name else ""
        return f"{self.resource_name}{named}{f' in {self.namespace}' if self.namespace else ''}"
