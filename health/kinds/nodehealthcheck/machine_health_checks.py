"""MachineHealthChecks of OpenShift, as they matter to NodeHealthChecks: which there are in the cluster.

A single one that looks at the condition Terminating alone, as OpenShift installs it, is told from all others.
"""

from collections.abc import Sequence
from enum import StrEnum

from pydantic import Field

from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata

GROUP = "machine.openshift.io"
TERMINATING = "Terminating"


class OtherChecks(StrEnum):
    """Those of a cluster."""

    NONE = "None"
    TERMINATING_ONLY = "TerminatingOnly"
    OTHERS = "Others"


class _Condition(FrozenObject):
    type: str = ""


class _Spec(FrozenObject):
    unhealthy_conditions: tuple[_Condition, ...] = ()


class MachineHealthCheck(FrozenObject):
    """The part of a MachineHealthCheck of machine.openshift.io that tells which it is."""

    metadata: ObjectMetadata
    spec: _Spec = Field(default=_Spec())

    @property
    def is_terminating_only(self) -> bool:
        """Whether it looks at the condition Terminating and at nothing else."""
        return [condition.type for condition in self.spec.unhealthy_conditions] == [TERMINATING]


def machine_health_checks(found: Sequence[MachineHealthCheck], *, unreadable: int = 0) -> OtherChecks:
    """What these are, with as many others that exist but cannot be read."""
    if not found and not unreadable:
        return OtherChecks.NONE
    if len(found) == 1 and not unreadable and found[0].is_terminating_only:
        return OtherChecks.TERMINATING_ONLY
    return OtherChecks.OTHERS
