"""The MachineHealthChecks of OpenShift in the cluster, as far as they matter to NodeHealthChecks.

A single one that only checks the condition Terminating, as OpenShift installs it, is distinguished from all
others.
"""

from collections.abc import Sequence
from enum import StrEnum

from pydantic import Field

from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata

GROUP = "machine.openshift.io"
TERMINATING = "Terminating"


class OtherChecks(StrEnum):
    """The MachineHealthChecks of a cluster, by their effect on NodeHealthChecks."""

    NONE = "None"
    TERMINATING_ONLY = "TerminatingOnly"
    OTHERS = "Others"


class _Condition(FrozenObject):
    type: str = ""


class _Spec(FrozenObject):
    unhealthy_conditions: tuple[_Condition, ...] = ()


class OtherMachineHealthCheck(FrozenObject):
    """The conditions of a MachineHealthCheck of machine.openshift.io."""

    metadata: ObjectMetadata
    spec: _Spec = Field(default=_Spec())

    @property
    def is_terminating_only(self) -> bool:
        """True if it checks the condition Terminating and no other."""
        return [condition.type for condition in self.spec.unhealthy_conditions] == [TERMINATING]


def machine_health_checks(found: Sequence[OtherMachineHealthCheck], *, unreadable: int = 0) -> OtherChecks:
    """The class of these checks, with `unreadable` further ones that cannot be read."""
    if not found and not unreadable:
        return OtherChecks.NONE
    if len(found) == 1 and not unreadable and found[0].is_terminating_only:
        return OtherChecks.TERMINATING_ONLY
    return OtherChecks.OTHERS
