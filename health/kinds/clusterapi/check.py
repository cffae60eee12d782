"""MachineHealthCheck of cluster.x-k8s.io as a kind of check, in either version.

`spec` parses its spec; an invalid spec is refused with field and value.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Self

from health.check.annotated_hold import PAUSED
from health.check.template_validity import TemplateKinds
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.cluster.upgrade import Signaller
from health.kinds.clusterapi.cluster import (
    CHECK,
    CLUSTERS,
    Cluster,
    Clusters,
    metadata_patch,
    workload_cluster,
)
from health.kinds.clusterapi.group import CLUSTER_NAME, CONTROL_PLANE_GROUP, V1BETA2
from health.kinds.clusterapi.machine import MachineTarget
from health.kinds.clusterapi.spec import Spec, SpecV1Beta1, SpecV1Beta2, is_v1beta2
from health.kinds.clusterapi.unhealthy import Failure, MachineFindings, by_order
from health.kinds.machines.check import MachineCheck, parsed_unless_paused
from health.model.observation import Hold, HoldReason
from health.model.references import Action, Step
from health.model.verdict import Match, UnhealthyCondition, Verdict, last_transition
from objects.clusters import MANAGEMENT_CLUSTER
from objects.frozen import Frozen, FrozenObject
from objects.metadata import ObjectMetadata

KIND = CHECK.kind
_MARK = Step(action=Action.MARK)


class _OneVersion(FrozenObject):
    metadata: ObjectMetadata
    spec: SpecV1Beta2 | SpecV1Beta1


class _V1Beta2(_OneVersion):
    spec: SpecV1Beta2


class _V1Beta1(_OneVersion):
    spec: SpecV1Beta1


class MachineHealthCheck(Frozen, MachineCheck[MachineTarget]):
    """One MachineHealthCheck in either version; its status is written in the version that it was read in."""

    group_kind: ClassVar = CHECK
    may_template_be_empty: ClassVar[bool] = True
    api_version: str
    metadata: ObjectMetadata
    spec: Spec

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        api_version = str(raw.get("apiVersion", V1BETA2))
        version: type[_OneVersion] = _V1Beta2 if is_v1beta2(raw.get("spec"), api_version) else _V1Beta1
        found = parsed_unless_paused(version, raw, api_version)
        return cls(api_version=api_version, metadata=found.metadata, spec=found.spec.spec)

    def cluster_in(self, context: ClusterContext) -> Cluster | None:
        return Clusters.in_context(context).of(self.metadata.namespace, self.spec.cluster_name)

    def hold_in(self, context: ClusterContext) -> Hold | None:
        """The pause of its Cluster or its own, worded like the condition Paused (CAPI B.2.7)."""
        cluster = self.cluster_in(context)
        words = ["Cluster spec.paused is set to true"] if cluster is not None and cluster.is_paused else []
        if PAUSED in self.metadata.annotations:
            words.append(f"{KIND} has the {PAUSED} annotation")
        return Hold(reason=HoldReason.PAUSED, message=", ".join(words)) if words else None

    def unjudged_in(self, context: ClusterContext) -> Hold | None:
        """A hold while its Cluster does not exist, because every verdict needs the Cluster."""
        return self._without_cluster(context).hold if self.cluster_in(context) is None else None

    def _without_cluster(self, context: ClusterContext) -> CheckProblem:
        return Clusters.in_context(context).not_found(self.metadata.namespace, self.spec.cluster_name)

    @property
    def managed_cluster(self) -> str:
        return workload_cluster(self.metadata.namespace, self.spec.cluster_name)

    def node_cluster(self, context: ClusterContext) -> str:
        """The workload cluster; the management cluster while there are no Nodes to read."""
        cluster = self.cluster_in(context)
        is_read = cluster is not None and cluster.is_control_plane_initialized
        return self.managed_cluster if is_read else MANAGEMENT_CLUSTER

    def owner_of_node_cluster(self, context: ClusterContext) -> str:
        cluster = self.cluster_in(context)
        return "" if cluster is None else cluster.metadata.uid

    def metadata_patch(self, metadata: Mapping[str, Any], context: ClusterContext) -> dict[str, Any]:
        cluster = self.cluster_in(context)
        return {} if cluster is None else metadata_patch(metadata, self.api_version, cluster)

    @property
    def node_rules(self) -> Sequence[UnhealthyCondition]:
        return self.spec.node_conditions

    @property
    def condition_rules(self) -> Sequence[UnhealthyCondition]:
        return (*self.spec.node_conditions, *self.spec.machine_conditions)

    def selects(self, target: MachineTarget) -> bool:
        """True if `target`, of its namespace, is one of its targets (CAPI B.2.2)."""
        if self.spec.selector.is_empty or target.machine.is_left_alone:
            return False
        labels = target.metadata.labels
        return labels.get(CLUSTER_NAME) == self.spec.cluster_name and self.spec.selector.selects(labels)

    def problem(self, context: ClusterContext, kinds: TemplateKinds) -> CheckProblem | None:
        """The problem that its Cluster does not exist, or that its template leads to no request."""
        if self.cluster_in(context) is None:
            return self._without_cluster(context)
        return super().problem(context, kinds)

    def steps_for(self, target: MachineTarget) -> tuple[Step, ...]:  # noqa: ARG002
        """The request, or the mark for its owner; a Machine without an owner is marked too (CAPI B.2.2)."""
        return self.steps or (_MARK,)

    def is_awaited(self, target: MachineTarget, signaller: Signaller) -> bool:
        """True for a Machine that never joined, and for a rollout of the control plane that owns it.

        The Cluster repeats the signal of its control plane (rule 60).
        """
        owner = target.machine.controller
        if not target.node_name:
            return True
        if owner is None or not owner.api_version.startswith(f"{CONTROL_PLANE_GROUP}/"):
            return False
        return signaller in {(owner.kind, owner.name), (CLUSTERS.kind, target.machine.cluster_name)}

    def replaces(self, target: MachineTarget) -> bool:  # noqa: ARG002
        """True without a template: the owner deletes a marked Machine."""
        return self.template is None

    def under_way(self, target: MachineTarget) -> str:
        """The deletion in progress, or the owner's answer to the mark."""
        name, answer = target.metadata.name, target.owner_remediated
        if target.machine.is_going:
            return f"{name} is being deleted"
        if self.template is not None or answer is None:
            return ""
        parts = (f"{name} is marked for its owner", answer.reason, answer.message)
        return ": ".join(part for part in parts if part)

    def matches(self, target: MachineTarget, context: ClusterContext) -> Sequence[Match]:
        return self._findings(target, context).matches

    def verdict_of_conditions(self, target: MachineTarget, now: datetime, context: ClusterContext) -> Verdict:
        return self._findings(target, context).verdict(now)

    def failure(self, target: MachineTarget, now: datetime, context: ClusterContext) -> Failure | None:
        """Why the health check of `target` failed, in full; None if it did not."""
        order = self._order(target, context)
        if order is not None and not self.matches(target, context):
            return by_order(order)
        return self._findings(target, context).failure(now)

    def next_deadline(self, target: MachineTarget, now: datetime, context: ClusterContext) -> datetime | None:
        return self._findings(target, context).next_deadline(now)

    def last_transition(self, target: MachineTarget) -> datetime | None:
        times = (
            last_transition(target.machine, self.spec.machine_conditions),
            last_transition(target.node, self.spec.node_conditions),
        )
        return max((time for time in times if time is not None), default=None)

    def _findings(self, target: MachineTarget, context: ClusterContext) -> MachineFindings:
        return MachineFindings(self.spec, target, self.cluster_in(context), context)
