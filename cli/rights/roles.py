"""Roles: the rows of the table of rights as RBAC has them, one role for each part, process and namespace."""

from collections.abc import Iterable
from dataclasses import dataclass

from health.kinds.right import Process, Right
from runtime.process_names import SERVICE_ACCOUNTS


@dataclass(frozen=True)
class Role:
    """A ClusterRole, or a Role where it has a namespace."""

    name: str
    namespace: str
    process: Process
    rights: tuple[Right, ...]

    @property
    def kind(self) -> str:
        """Its kind in RBAC."""
        return "Role" if self.namespace else "ClusterRole"


def roles(rights: Iterable[Right]) -> list[Role]:
    """The roles that grant these, in the order of their first rows; what is in a namespace comes last."""
    grouped: dict[tuple[str, str, Process], list[Right]] = {}
    for right in rights:
        account = SERVICE_ACCOUNTS[right.process]
        name = f"{account}-{right.part.name}" if right.part.name else account
        grouped.setdefault((name, right.namespace, right.process), []).append(right)
    found = [Role(*key, tuple(rows)) for key, rows in grouped.items()]
    return sorted(found, key=lambda role: bool(role.namespace))
