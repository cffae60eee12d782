"""NodeHealthCheck of remediation.medik8s.io as a kind of check, with its parser.

`spec` parses its spec; an invalid spec is refused with field and value.

The threshold is the number of Nodes that must be healthy before anything is done. Rounding is the operator's
(NHC 2.2, rules 4, 5 and 44): with T Nodes, minHealthy p% requires ceil(p*T/100) healthy ones, maxUnhealthy
p% requires T - ceil(p*T/100); remediation is allowed at the threshold. An integer above T always allows it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar, Self

from health.check.health_check import Check, parsed
from health.check.template_validity import TemplateKinds
from health.check.threshold import Allowance
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.kinds.nodehealthcheck.disabled import OtherChecks, conflict, is_left_to_others, template_problem
from health.kinds.nodehealthcheck.spec import Spec
from health.model.node import Node
from health.model.observation import Hold, HoldReason
from health.model.references import Step
from health.model.verdict import Match, UnhealthyCondition, last_transition, matches
from objects.frozen import FrozenObject
from objects.group_kind import GroupKind
from objects.metadata import ObjectMetadata

KIND = "NodeHealthCheck"
GROUP, VERSION = "remediation.medik8s.io", "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"


class NodeHealthCheck(FrozenObject, Check[Node]):
    """One NodeHealthCheck as a check of Nodes."""

    group_kind: ClassVar = GroupKind(GROUP, KIND)
    metadata: ObjectMetadata
    spec: Spec

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """The check in the API server's object; raises InvalidCheckError."""
        return parsed(cls, raw)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The one step of a classic remediation, or the steps of the escalation in order."""
        if self.spec.remediation_template is not None:
            return (Step(template=self.spec.remediation_template.reference),)
        return tuple(
            Step(
                template=step.remediation_template.reference,
                timeout_seconds=step.timeout.total_seconds(),
            )
            for step in sorted(self.spec.escalating_remediations, key=lambda step: step.order)
        )

    def hold_in(self, context: ClusterContext) -> Hold | None:  # noqa: ARG002
        """The hold of pause requests, which stop only new requests."""
        if self.spec.pause_requests:
            return Hold(
                reason=HoldReason.PAUSED,
                message=f"paused by request: {', '.join(self.spec.pause_requests)}",
            )
        return None

    @property
    def healthy_delay(self) -> timedelta:
        return self.spec.healthy_delay or timedelta()

    @property
    def storm_cooldown(self) -> timedelta | None:
        return self.spec.storm_cooldown_duration

    @property
    def node_rules(self) -> Sequence[UnhealthyCondition]:
        return self.spec.unhealthy_conditions

    def selects(self, target: Node) -> bool:
        return self.spec.selector.selects(target.metadata.labels)

    def counts(self, target: Node) -> bool:
        """False for a Node that is being deleted: its deleter takes it out of the cluster."""
        return target.metadata.deletion_timestamp is None

    def problem(self, context: ClusterContext, kinds: TemplateKinds) -> CheckProblem | None:
        """The problem of conflicting MachineHealthChecks, or of the first unusable template."""
        single, steps = self.spec.remediation_template, self.spec.escalating_remediations
        listed = [step.remediation_template for step in steps] if single is None else [single]
        templates = [template.reference for template in listed]
        return conflict(_other_checks(context)) or template_problem(templates, kinds)

    @property
    def counts_requests(self) -> bool:
        """True: a node whose request still exists is not healthy yet (NHC 2.2)."""
        return True

    def matches(self, target: Node, context: ClusterContext) -> Sequence[Match]:
        # Most Nodes match no rule: from when their timers count needs no answer.
        if not matches(target, self.node_rules) or is_left_to_others(target, _other_checks(context)):
            return []
        return matches(target, self.node_rules, context.restarts_of(target))

    def last_transition(self, target: Node) -> datetime | None:
        """When the latest of the conditions used by its rules changed."""
        return last_transition(target, self.node_rules)

    def allowance(self, *, total: int, healthy: int) -> Allowance:
        required = total  # Fail closed: without an amount, every Node must be healthy.
        if self.spec.min_healthy is not None:
            required = self.spec.min_healthy.of(total)
        elif self.spec.max_unhealthy is not None:
            required = max(0, total - self.spec.max_unhealthy.of(total))
        return Allowance.of_required(required, total=total, healthy=healthy)


def _other_checks(context: ClusterContext) -> OtherChecks:
    """The MachineHealthChecks of the cluster; NONE before they were read."""
    found: OtherChecks = context.of_kinds.get(GroupKind(GROUP, KIND), OtherChecks.NONE)
    return found
