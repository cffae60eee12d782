"""A Machine of OpenShift's machine API, slim, and with its Node as one target.

The annotations of NodeHealthCheck that exclude or confirm Nodes have no meaning here (MHC A.1).
"""

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, NamedTuple, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from health.kinds.machines import machine as common
from health.kinds.machines.machine import KIND, NODE, PART, LinkedMachine, LinkedMachineTarget
from health.model.annotations import BY_FULL_NAME, OF_TEXTS, TargetAnnotations
from health.model.sighting import Look, TypedCondition
from objects.clusters import MANAGEMENT_CLUSTER
from objects.group_kind import ServedKind

GROUP, VERSION = "machine.openshift.io", "v1beta1"
API_VERSION = f"{GROUP}/{VERSION}"
MACHINES = ServedKind(group=GROUP, kind=KIND, plural="machines", versions=(VERSION,), is_namespaced=True)
EXTERNAL_REMEDIATION = "host.metal3.io/external-remediation"


@dataclass(frozen=True, slots=True, kw_only=True, config=BY_FULL_NAME)
class MachineAnnotations(TargetAnnotations):
    """The annotations of a Machine that we honour."""

    external_remediation: str | None = Field(default=None, alias="host.metal3.io/external-remediation")


@dataclass(frozen=True, slots=True, kw_only=True, config=PART)
class MachineMetadata(common.AnyMachineMetadata):
    """Identity, labels, owners and annotations of a Machine."""

    annotations: Annotated[MachineAnnotations, OF_TEXTS] = MachineAnnotations()


@dataclass(frozen=True, slots=True, kw_only=True, config=PART)
class MachineStatus(common.AnyMachineStatus):
    """The part of a Machine's status that we read."""

    phase: str = ""


class _LastChange(NamedTuple):
    """The phase and its time as a condition: the controller may write the time anew in the same phase."""

    status: str
    last_transition_time: datetime
    type: str = NODE


class Machine(LinkedMachine):
    """A Machine with the fields that verdicts use."""

    metadata: MachineMetadata
    status: MachineStatus = MachineStatus()

    @property
    def node_cluster(self) -> str:
        return MANAGEMENT_CLUSTER

    @property
    def timed(self) -> Sequence[TypedCondition]:
        changed = self.status.last_updated
        return () if changed is None else (_LastChange(self.status.phase, changed),)

    def seen_after(self, before: Self | None, look: Look) -> Self:
        """The same; a healthy controller writes the time, so no look contradicts it.

        The first time that moves in a phase counts, as for the reference; one that moves on and on does not.
        """
        seen = super().seen_after(before, Look(at=look.at))
        moved, updated = seen.sighting(NODE), self.status.last_updated
        if moved is None or updated is None or moved.rewritten != 1:
            return seen
        return seen.with_sightings({NODE: dataclasses.replace(moved, since=updated)})

    @property
    def has_failed(self) -> bool:
        """True if its provider reports a terminal failure."""
        return self.status.phase == "Failed"

    @property
    def is_instance_gone(self) -> bool:
        return self.has_failed

    @property
    def is_marked(self) -> bool:
        return self.metadata.annotations.external_remediation is not None


@dataclasses.dataclass(frozen=True, slots=True)
class MachineTarget(LinkedMachineTarget):
    """One Machine with its Node, at one moment."""

    machine: Machine

    @property
    def is_marked(self) -> bool:
        return self.machine.is_marked
