"""A PowerCycleRemediation as the demo remediator reads it, and the conditions that it writes back."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from devcluster.simulation.resources import MACHINES
from kube.metadata import Metadata, OwnerReference, PartialModel

NODE_NAME = "remediation.medik8s.io/node-name"
TIMED_OUT = "remediation.medik8s.io/nhc-timed-out"

ConditionStatus = Literal["True", "False", "Unknown"]


class Condition(PartialModel):
    """A metav1.Condition."""

    type: str
    status: ConditionStatus
    reason: str
    message: str
    last_transition_time: str


class Spec(PartialModel):
    """What is asked for."""

    power_off_seconds: int = 2


class Status(PartialModel):
    """How far the work is."""

    boot_id_before: str | None = Field(default=None, alias="bootIDBefore")
    conditions: tuple[Condition, ...] = ()


class RemediationRequest(PartialModel):
    """A PowerCycleRemediation."""

    metadata: Metadata
    spec: Spec = Spec()
    status: Status = Status()

    @property
    def machine(self) -> OwnerReference | None:
        """The Machine that the request is for, if it is for one: an owner of it."""
        kind = (MACHINES.api_version, MACHINES.kind)
        return next((o for o in self.metadata.owner_references if (o.api_version, o.kind) == kind), None)

    def node(self, of_machine: str = "") -> str:
        """Name of the node to power-cycle.

        The node of its Machine, if that has one; else the annotation, else the name of the request.
        """
        return of_machine or self.metadata.annotations.get(NODE_NAME, self.metadata.name)

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be done: finished either way, being deleted, or told to stop."""
        finished = any(c.type == "Succeeded" and c.status != "Unknown" for c in self.status.conditions)
        stopped = self.metadata.deletion_timestamp is not None or TIMED_OUT in self.metadata.annotations
        return finished or stopped


def moved(shown: Sequence[Condition], said: Condition) -> Condition:
    """Return `said` with the transition time that is `shown`, if its status has not changed."""
    before = next((condition for condition in shown if condition.type == said.type), None)
    if before is None or before.status != said.status:
        return said
    return said.model_copy(update={"last_transition_time": before.last_transition_time})
