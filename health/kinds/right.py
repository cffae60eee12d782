"""Right: what one of our processes may do to one resource: one rule of a role in `deploy/`."""

from dataclasses import dataclass
from enum import StrEnum


class Process(StrEnum):
    """One of our two processes, which have separate service accounts."""

    DETECTOR = "detector"
    WORKER = "worker"


@dataclass(frozen=True, kw_only=True)
class Right:
    """Verbs on one resource, in all namespaces and of all names by default."""

    process: Process
    group: str
    resource: str
    """With its subresource, if any."""
    verbs: tuple[str, ...]
    namespace: str | None = None
    name: str | None = None
    granted_by: str | None = None
    """The file that grants it, or what a person grants."""

    @property
    def resource_name(self) -> str:
        """The resource with its group, as kubectl writes it."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def __str__(self) -> str:
        named = f" {self.name}" if self.name else ""
        return f"{self.resource_name}{named}{f' in {self.namespace}' if self.namespace else ''}"
