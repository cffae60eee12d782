"""MachineHealthCheck of machine.openshift.io as a kind of check, with its parser.

`spec` parses its spec; an invalid spec is refused with field and value.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar, Self

from health.cluster.cluster_context import ClusterContext
from health.kinds.machines.check import MachineCheck, parsed_unless_paused
from health.kinds.openshift.machine import API_VERSION, GROUP, MachineTarget
from health.kinds.openshift.spec import Spec
from health.kinds.openshift.unhealthy import Rules, matches, still_states, verdict
from health.model.references import Action, Step
from health.model.verdict import Fact, Match, UnhealthyCondition, Verdict, last_transition
from objects.frozen import FrozenObject
from objects.group_kind import GroupKind
from objects.metadata import ObjectMetadata

KIND = "MachineHealthCheck"
STRATEGY = "machine.openshift.io/remediation-strategy"
EXTERNAL_BAREMETAL = "external-baremetal"
_DELETE, _MARK = Step(action=Action.DELETE), Step(action=Action.MARK)


class MachineHealthCheck(FrozenObject, MachineCheck[MachineTarget]):
    """One MachineHealthCheck as a check of Machines."""

    group_kind: ClassVar = GroupKind(GROUP, KIND)
    api_version: str = API_VERSION
    metadata: ObjectMetadata
    spec: Spec = Spec()

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """The check in the API server's object; raises InvalidCheckError."""
        return parsed_unless_paused(cls, raw, API_VERSION)

    @cached_property
    def rules(self) -> Rules:
        conditions = tuple(
            UnhealthyCondition(condition.type, condition.status, condition.timeout)
            for condition in self.spec.unhealthy_conditions
        )
        return Rules(conditions, self.spec.node_startup_timeout)

    @property
    def node_rules(self) -> Sequence[UnhealthyCondition]:
        return self.rules.conditions

    def selects(self, target: MachineTarget) -> bool:
        """True if `target`, of its namespace, is one of its targets; without a selector all are (MHC A.1)."""
        return self.spec.selector.selects(target.metadata.labels)

    def counts_as_healthy(self, target: MachineTarget, context: ClusterContext) -> bool:
        """A marked Machine counts as unhealthy too (MHC A.2.4)."""
        return not target.machine.is_marked and super().counts_as_healthy(target, context)

    def steps_for(self, target: MachineTarget) -> tuple[Step, ...]:
        """The request, the mark or the deletion (MHC A.2.5).

        There is none if no controller would replace the Machine.
        """
        if self.template is not None:
            return self.steps
        if self._marks(target):
            return (_MARK,)
        return () if target.machine.controller is None else (_DELETE,)

    def _marks(self, target: MachineTarget) -> bool:
        strategy = self.metadata.annotations.get(STRATEGY)
        return strategy == EXTERNAL_BAREMETAL and not target.machine.has_failed

    def replaces(self, target: MachineTarget) -> bool:
        """True if the step deletes it; a remediator would keep it."""
        return self.steps_for(target) == (_DELETE,)

    def under_way(self, target: MachineTarget) -> str:
        """The deletion or mark that the step would cause and that is already in progress."""
        steps = self.steps_for(target)
        if steps == (_DELETE,) and target.machine.is_going:
            return f"{target.metadata.name} is being deleted"
        if steps == (_MARK,) and target.machine.is_marked:
            return f"{target.metadata.name} is marked for external remediation"
        return ""

    def matches(self, target: MachineTarget, context: ClusterContext) -> Sequence[Match]:
        return matches(target, self.rules, context.blind_until(target.node_cluster, target.node_zone))

    def verdict_of_conditions(self, target: MachineTarget, now: datetime, context: ClusterContext) -> Verdict:
        cluster = target.node_cluster
        blind_until = context.blind_until(cluster, target.node_zone)
        return verdict(target, self.rules, now, blind_until, context.gone_from(cluster))

    def last_transition(self, target: MachineTarget) -> datetime | None:
        """When the latest of the Node conditions used by its rules changed."""
        of_node = target.node.status.conditions if target.node is not None else ()
        return last_transition(of_node, self.rules.conditions)

    def still_states(self, fact: Fact, target: MachineTarget, context: ClusterContext) -> bool:  # noqa: ARG002
        """True if that fact still makes `target` unhealthy."""
        return still_states(fact, target, self.rules)
