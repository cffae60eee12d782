"""Whether MachineHealthChecks of OpenShift get in the way of NodeHealthChecks (semantics 2.1/4).

One check that looks at the condition Terminating alone, as OpenShift installs it, does not: Nodes that have a
condition of that type, whatever its status, are left to it. Any other disables every NodeHealthCheck.
"""

from collections.abc import Sequence
from enum import StrEnum

from pydantic import Field

from health.check_problem import CheckProblem
from health.frozen import FrozenObject
from health.object_metadata import ObjectMetadata

TERMINATING = "Terminating"
CONFLICT = CheckProblem(
    reason="ConflictingMachineHealthCheckDetected",
    message="Custom MachineHealthCheck(s) detected, disabling NodeHealthCheck to avoid conflicts",
)


class MachineHealthChecks(StrEnum):
    """What the MachineHealthChecks of a cluster mean for its NodeHealthChecks."""

    NONE = "None"
    TERMINATING_ONLY = "TerminatingOnly"
    CONFLICTING = "Conflicting"


class _Condition(FrozenObject):
    type: str = ""


class _Spec(FrozenObject):
    unhealthy_conditions: tuple[_Condition, ...] = ()


class MachineHealthCheck(FrozenObject):
    """The part of a MachineHealthCheck of machine.openshift.io that tells whether it conflicts."""

    metadata: ObjectMetadata
    spec: _Spec = Field(default=_Spec())

    @property
    def is_terminating_only(self) -> bool:
        """Whether it looks at the condition Terminating and at nothing else."""
        return [condition.type for condition in self.spec.unhealthy_conditions] == [TERMINATING]


def machine_health_checks(found: Sequence[MachineHealthCheck], *, unreadable: int = 0) -> MachineHealthChecks:
    """What these mean, and as many others that exist but cannot be read."""
    if not found and not unreadable:
        return MachineHealthChecks.NONE
    if len(found) == 1 and not unreadable and found[0].is_terminating_only:
        return MachineHealthChecks.TERMINATING_ONLY
    return MachineHealthChecks.CONFLICTING
