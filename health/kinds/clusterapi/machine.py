"""A Machine of Cluster API, slim, and with its Node as one target.

Its Node is in the workload cluster. Labels and annotations of NodeHealthCheck that exclude or confirm Nodes
have no meaning here.
"""

import dataclasses
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.dataclasses import dataclass

from health.kinds.clusterapi.cluster import workload_cluster
from health.kinds.clusterapi.conditions import Condition, served_conditions
from health.kinds.clusterapi.group import (
    CLUSTER_NAME,
    CONTROL_PLANE,
    CONTROL_PLANE_GROUP,
    GROUP,
    V1BETA2,
    VERSIONS,
)
from health.kinds.machines import machine as common
from health.kinds.machines.machine import KIND, PART, LinkedMachine, LinkedMachineTarget
from health.model.annotations import BY_FULL_NAME, OF_TEXTS, TargetAnnotations
from health.model.owner_signs import OwnerSign, Sign
from objects.group_kind import ServedKind

MACHINES = ServedKind(group=GROUP, kind=KIND, plural="machines", versions=VERSIONS, is_namespaced=True)
HEALTH_CHECK_SUCCEEDED = "HealthCheckSucceeded"
OWNER_REMEDIATED = "OwnerRemediated"
EXTERNALLY_REMEDIATED = "ExternallyRemediated"
OURS = frozenset({HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED, EXTERNALLY_REMEDIATED})
"""The conditions of a Machine that checks write first; other controllers then update two of them."""
INFRASTRUCTURE_READY = "InfrastructureReady"
_NOT_GONE = re.compile(
    "waiting|provision|creat|updat|start|pending|paus|node|credential|token|limit|unreachable|error",
    re.IGNORECASE,
)
"""In a reason why the infrastructure is not ready: it is not ready yet, or its state is not known."""


@dataclass(frozen=True, slots=True, kw_only=True, config=BY_FULL_NAME)
class MachineAnnotations(TargetAnnotations):
    """The annotations of a Machine that we honour; None: absent."""

    paused: str | None = Field(default=None, alias="cluster.x-k8s.io/paused")
    skip_remediation: str | None = Field(default=None, alias="cluster.x-k8s.io/skip-remediation")
    remediate_machine: str | None = Field(default=None, alias="cluster.x-k8s.io/remediate-machine")


@dataclass(frozen=True, slots=True, kw_only=True, config=PART)
class MachineMetadata(common.AnyMachineMetadata):
    """Identity, generation, labels, owners and annotations of a Machine."""

    generation: int = 0
    annotations: Annotated[MachineAnnotations, OF_TEXTS] = MachineAnnotations()


@dataclass(frozen=True, slots=True, kw_only=True, config=PART)
class MachineSpec:
    """The part of a Machine's spec that we read."""

    cluster_name: str = ""


def _with_served_conditions(raw: object) -> object:
    if not isinstance(raw, Mapping):
        return raw
    return {**raw, "conditions": tuple(served_conditions(raw, in_full=OURS))}


@dataclass(frozen=True, slots=True, kw_only=True, config=PART)
class MachineStatus(common.AnyMachineStatus):
    """The part of a Machine's status that we read."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Machine(LinkedMachine):
    """A Machine with the fields that verdicts use."""

    api_version: Annotated[str, AfterValidator(sys.intern)] = V1BETA2
    """The version that it was read in."""
    metadata: MachineMetadata
    spec: MachineSpec = MachineSpec()
    status: Annotated[MachineStatus, BeforeValidator(_with_served_conditions)] = MachineStatus()

    @property
    def cluster_name(self) -> str:
        return self.metadata.labels.get(CLUSTER_NAME) or self.spec.cluster_name

    @property
    def node_cluster(self) -> str:
        return workload_cluster(self.metadata.namespace, self.cluster_name)

    @property
    def timed(self) -> Sequence[Condition]:
        return self.status.conditions

    @property
    def is_left_alone(self) -> bool:
        """True if an annotation excludes it from all checks."""
        annotations = self.metadata.annotations
        return annotations.paused is not None or annotations.skip_remediation is not None

    @property
    def is_to_be_remediated(self) -> bool:
        """True if an annotation asks for its remediation, regardless of its conditions."""
        return self.metadata.annotations.remediate_machine is not None

    @property
    def is_of_control_plane(self) -> bool:
        return CONTROL_PLANE in self.metadata.labels

    @property
    def signs(self) -> tuple[Sign, ...]:
        updating = self.condition("Updating")
        if updating is None or not updating.is_true:
            return ()
        has_failed = updating.reason == "InPlaceUpdateFailed"
        words = "Cluster API updates the Machine in place"
        return (Sign(OwnerSign.MACHINE_UPDATE, words, updating.last_transition_time, has_failed),)

    @property
    def is_instance_gone(self) -> bool:
        """True if it failed for good, or its infrastructure is no longer ready.

        Providers have hundreds of reasons, and many give none but `NotReady`. A reason that names another
        cause than the instance counts as no loss: some look at the Node itself.
        """
        found = self.condition(INFRASTRUCTURE_READY)
        is_lost = found is not None and found.status == "False" and not _NOT_GONE.search(found.reason)
        return is_lost or self.status.phase == "Failed"

    def condition(self, type_: str) -> Condition | None:
        return next((condition for condition in self.status.conditions if condition.type == type_), None)


@dataclasses.dataclass(frozen=True, slots=True)
class MachineTarget(LinkedMachineTarget):
    """One Machine with its Node in the workload cluster, at one moment."""

    machine: Machine

    @property
    def node_cluster(self) -> str:
        return self.machine.node_cluster

    @property
    def owner_keeps_quorum(self) -> bool:
        """True if a control plane owns it, in any version of the reference."""
        owner = self.machine.controller
        return owner is not None and owner.api_version.partition("/")[0] == CONTROL_PLANE_GROUP

    @property
    def is_marked(self) -> bool:
        return self.owner_remediated is not None

    @property
    def is_mark_open(self) -> bool:
        """True until its owner removes the mark, or the Machine is well (CAPI B.2.5/healthy)."""
        succeeded = self.machine.condition(HEALTH_CHECK_SUCCEEDED)
        return self.is_marked and (succeeded is None or succeeded.status != "True")

    @property
    def owner_remediated(self) -> Condition | None:
        """The condition that asks the owner, with the owner's answer; None if nothing is asked."""
        found = self.machine.condition(OWNER_REMEDIATED)
        return found if found is not None and found.status == "False" else None
