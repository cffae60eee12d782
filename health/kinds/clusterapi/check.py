"""MachineHealthCheck of cluster.x-k8s.io as a kind of check, in either version.

`spec` parses its spec; an invalid spec is refused with field and value.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Self

from pydantic import ValidationError

from health.check.pause import PAUSED, of_paused
from health.check.template_validity import TemplateKinds
from health.check.threshold import Allowance
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.kinds.clusterapi.cluster import CHECK, Cluster, Clusters, node_cluster, workload_cluster
from health.kinds.clusterapi.group import CLUSTER_NAME, V1BETA2
from health.kinds.clusterapi.machine import MachineTarget
from health.kinds.clusterapi.spec import Spec, SpecV1Beta1, SpecV1Beta2, is_v1beta2
from health.kinds.clusterapi.threshold import allowance
from health.kinds.clusterapi.unhealthy import (
    Failure,
    MachineContext,
    Rules,
    facts,
    failure,
    next_deadline,
    verdict,
)
from health.kinds.machines.request_problem import template_problem
from health.model.invalid_check import InvalidCheckError, problem_of
from health.model.observation import Hold, HoldReason
from health.model.references import Action, CheckReference, Step, TemplateReference
from health.model.verdict import Fact, Verdict, last_transition
from health.policy.check_choices import CheckChoices
from objects.frozen import Frozen, FrozenObject
from objects.metadata import ObjectMetadata

KIND = CHECK.kind
_MARK = Step(action=Action.MARK)


class _V1Beta2(FrozenObject):
    metadata: ObjectMetadata
    spec: SpecV1Beta2


class _V1Beta1(FrozenObject):
    metadata: ObjectMetadata
    spec: SpecV1Beta1


class MachineHealthCheck(Frozen):
    """One MachineHealthCheck in either version; satisfies HealthCheckOf[MachineTarget]."""

    api_version: str
    """The version that it was read in, and that its status is written in."""
    metadata: ObjectMetadata
    spec: Spec

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """The check in the API server's object.

        Raises:
            InvalidCheckError: it does not parse; names the first invalid field and its value.

        """
        api_version = str(raw.get("apiVersion", V1BETA2))
        version = _V1Beta2 if is_v1beta2(raw.get("spec"), api_version) else _V1Beta1
        try:
            found = version.model_validate(raw)
            CheckChoices.of(found.metadata.annotations)  # refuses what cannot be read
        except (ValidationError, InvalidCheckError) as error:
            problem = error if isinstance(error, InvalidCheckError) else problem_of(error.errors()[0])
            problem.api_version = api_version
            raise of_paused(problem, raw.get("metadata")) from error
        return cls(api_version=api_version, metadata=found.metadata, spec=found.spec.spec)

    @cached_property
    def reference(self) -> CheckReference:
        named = self.metadata
        return CheckReference(kind=KIND, group=CHECK.group, namespace=named.namespace, name=named.name)

    @cached_property
    def choices(self) -> CheckChoices:
        return CheckChoices.of(self.metadata.annotations)

    @property
    def generation(self) -> int:
        """The generation of its spec; annotations, including the pause, do not change it."""
        return self.metadata.generation

    @property
    def template(self) -> TemplateReference | None:
        """The template of its requests, in the namespace of the check (CAPI B.1)."""
        if self.spec.template is None:
            return None
        return self.spec.template.reference.model_copy(update={"namespace": self.metadata.namespace})

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """A request, if it has a template."""
        return () if self.template is None else (Step(template=self.template),)

    @property
    def counts_requests(self) -> bool:
        """False: a recovered Machine counts as healthy while its request is deleted (CAPI B.2.4)."""
        return False

    def cluster_in(self, context: ClusterContext) -> Cluster | None:
        """Its Cluster; None if it does not exist."""
        return Clusters.in_context(context).of(self.metadata.namespace, self.spec.cluster_name)

    def hold_in(self, context: ClusterContext) -> Hold | None:
        """The pause of its Cluster or its own, worded like the condition Paused (CAPI B.2.7)."""
        cluster = self.cluster_in(context)
        words = ["Cluster spec.paused is set to true"] if cluster is not None and cluster.is_paused else []
        if PAUSED in self.metadata.annotations:
            words.append(f"{KIND} has the {PAUSED} annotation")
        return Hold(reason=HoldReason.PAUSED, message=", ".join(words)) if words else None

    def is_fully_paused_in(self, context: ClusterContext) -> bool:
        """Always True while paused: a pause stops everything."""
        return self.hold_in(context) is not None

    def unjudged_in(self, context: ClusterContext) -> Hold | None:
        """A hold while its Cluster does not exist, because every verdict needs the Cluster."""
        return self._without_cluster(context).hold if self.cluster_in(context) is None else None

    def _without_cluster(self, context: ClusterContext) -> CheckProblem:
        return Clusters.in_context(context).not_found(self.metadata.namespace, self.spec.cluster_name)

    @property
    def managed_cluster(self) -> str:
        """The workload cluster that it names, existing or not."""
        return workload_cluster(self.metadata.namespace, self.spec.cluster_name)

    def node_cluster(self, context: ClusterContext) -> str:
        """The workload cluster, once its control plane is initialized."""
        return node_cluster(self.cluster_in(context))

    def owner_of_node_cluster(self, context: ClusterContext) -> str:
        cluster = self.cluster_in(context)
        return "" if cluster is None else cluster.metadata.uid

    @property
    def storm_cooldown(self) -> timedelta | None:
        return None

    @property
    def healthy_delay(self) -> timedelta:
        """Zero: requests of a healthy Machine are deleted at once (CAPI B.2.5)."""
        return timedelta()

    @cached_property
    def rules(self) -> Rules:
        return Rules(self.spec.machine_conditions, self.spec.node_conditions, self.spec.node_startup)

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
        return template_problem(self.template, kinds, may_be_empty=True)

    def counts_as_healthy(self, target: MachineTarget, context: ClusterContext) -> bool:
        """True if its Node exists, no rule matches, and it is not being deleted (CAPI B.2.4)."""
        if target.node is None or target.machine.is_going:
            return False
        return not self.is_unhealthy(target, context)

    def steps_for(self, target: MachineTarget) -> tuple[Step, ...]:  # noqa: ARG002
        """The request, or the mark for its owner; a Machine without an owner is marked too (CAPI B.2.2)."""
        return self.steps or (_MARK,)

    def replaces(self, target: MachineTarget) -> bool:  # noqa: ARG002
        """True without a template: the owner deletes a marked Machine."""
        return self.template is None

    def under_way(self, target: MachineTarget) -> str:
        """The deletion in progress, or the owner's answer to the mark."""
        name, asked = target.metadata.name, target.owner_remediated
        if target.machine.is_going:
            return f"{name} is being deleted"
        if self.template is not None or asked is None:
            return ""
        said = (f"{name} is marked for its owner", asked.reason, asked.message)
        return ": ".join(part for part in said if part)

    def is_unhealthy(self, target: MachineTarget, context: ClusterContext) -> bool:
        """True if any rule matches, expired or not."""
        return bool(facts(self._situation(target, context), self.rules))

    def verdict(self, target: MachineTarget, now: datetime, context: ClusterContext) -> Verdict:
        return verdict(self._situation(target, context), self.rules, now)

    def failure(self, target: MachineTarget, now: datetime, context: ClusterContext) -> Failure | None:
        """Why the health check of `target` failed, in full; None if it did not."""
        return failure(self._situation(target, context), self.rules, now)

    def next_deadline(self, target: MachineTarget, now: datetime, context: ClusterContext) -> datetime | None:
        return next_deadline(self._situation(target, context), self.rules, now)

    def last_transition(self, target: MachineTarget) -> datetime | None:
        """The latest transition of a condition used by its rules, of the Machine or its Node."""
        of_node = target.node.status.conditions if target.node is not None else ()
        times = (
            last_transition(target.machine.status.conditions, self.rules.machine_conditions),
            last_transition(of_node, self.rules.node_conditions),
        )
        return max((time for time in times if time is not None), default=None)

    def still_states(self, fact: Fact, target: MachineTarget, context: ClusterContext) -> bool:
        """True if that fact still makes `target` unhealthy."""
        return any(fact.same_as(one) for one in facts(self._situation(target, context), self.rules))

    def allowance(self, *, total: int, healthy: int) -> Allowance:
        return allowance(self.spec.trigger, total=total, healthy=healthy)

    def _situation(self, target: MachineTarget, context: ClusterContext) -> MachineContext:
        return MachineContext.of(target, self.cluster_in(context), context)
