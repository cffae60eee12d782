"""Right: what a process of ours may have to do in a cluster, as roles of Kubernetes say it."""

from dataclasses import dataclass
from enum import StrEnum


class Process(StrEnum):
    """One of our two processes."""

    DETECTOR = "detector"
    WORKER = "worker"


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
    granted_by: str = "deploy/rbac"
    """What is to be applied to get it."""

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f" {self.name}" if self.name else ""
        return f"{what}{named}{f' in {self.namespace}' if self.namespace else ''}"
