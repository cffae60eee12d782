"""NodeHealthCheck of remediation.medik8s.io as a kind of check, with its spec and parser.

It accepts the same specs as the schema in deploy/base/crds; messages are those of the operator's webhook
where it has one (NHC 1.1). An object stored before the schema had these rules is refused here with the same
messages, with field and value.

The threshold is the number of Nodes that must be healthy before anything is done. Rounding is the operator's
(NHC 2.2, rules 4, 5 and 44): with T Nodes, minHealthy p% requires ceil(p*T/100) healthy ones, maxUnhealthy
p% requires T - ceil(p*T/100); remediation is allowed at the threshold. An integer above T always allows it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar, Self

from pydantic import (
    StrictInt,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from health.check.health_check import Check, parsed
from health.check.selector import LabelSelector
from health.check.template_validity import TemplateField, TemplateKinds
from health.check.threshold import Allowance, Amount
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.kinds.nodehealthcheck.disabled import OtherChecks, conflict, is_left_to_others, template_problem
from health.model.node import Node
from health.model.observation import Hold, HoldReason
from health.model.references import Step
from health.model.verdict import Match, UnhealthyCondition, last_transition, matches
from objects.durations import Duration, SignedDuration
from objects.field_problem import SaysItsValueError
from objects.frozen import FrozenObject
from objects.group_kind import GroupKind
from objects.metadata import ObjectMetadata

SHORTEST_STEP = timedelta(minutes=1)
MACHINE_DELETION = "MachineDeletionRemediationTemplate"


class Refused(SaysItsValueError):
    """A refusal in the operator's words, which already name field and value."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


class Condition(UnhealthyCondition):
    """One entry of spec.unhealthyConditions."""

    duration: Duration


class Escalation(FrozenObject):
    """One entry of spec.escalatingRemediations."""

    remediation_template: TemplateField
    order: StrictInt
    timeout: Duration

    @field_validator("timeout", mode="wrap")
    @classmethod
    def _not_too_short(cls, text: object, parse: ValidatorFunctionWrapHandler) -> timedelta:
        timeout: timedelta = parse(text)
        if timeout < SHORTEST_STEP:
            problem = "EscalatingRemediation Timeout must be at least one minute"
            raise Refused(f"{problem}: found timeout {text}")
        return timeout


_DEFAULT_CONDITIONS = tuple(
    Condition.model_validate({"type": "Ready", "status": status, "duration": "300s"})
    for status in ("False", "Unknown")
)


class Spec(FrozenObject):
    """The spec of a NodeHealthCheck."""

    selector: LabelSelector = LabelSelector()
    unhealthy_conditions: tuple[Condition, ...] = _DEFAULT_CONDITIONS
    min_healthy: Amount | None = None
    max_unhealthy: Amount | None = None
    storm_cooldown_duration: Duration | None = None
    remediation_template: TemplateField | None = None
    escalating_remediations: tuple[Escalation, ...] = ()
    pause_requests: tuple[str, ...] = ()
    healthy_delay: SignedDuration | None = None

    @field_validator("min_healthy", "max_unhealthy", mode="before")
    @classmethod
    def _not_negative(cls, raw: object, info: ValidationInfo) -> object:
        if isinstance(raw, int) and raw < 0:
            raise Refused(f"{to_camel(info.field_name or '')} must not be negative: {raw}")
        return raw

    @field_validator("unhealthy_conditions")
    @classmethod
    def _conditions_are_a_map(cls, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        _refuse_twice([(condition.type, condition.status) for condition in conditions], "Duplicate value")
        return conditions

    @field_validator("escalating_remediations")
    @classmethod
    def _orders_are_unique(cls, steps: tuple[Escalation, ...]) -> tuple[Escalation, ...]:
        problem = "EscalatingRemediation Order must be unique: found duplicate order"
        _refuse_twice([step.order for step in steps], problem)
        return steps

    @model_validator(mode="after")
    def _fields_fit_together(self) -> Self:
        problems, single, steps = [], self.remediation_template, self.escalating_remediations
        deletion = f"maxUnhealthy can't be used with {MACHINE_DELETION}"
        if self.min_healthy is not None and self.max_unhealthy is not None:
            problems.append("minHealthy and maxUnhealthy cannot be specified at the same time")
        elif self.min_healthy is None and self.max_unhealthy is None:
            problems.append("one of minHealthy and maxUnhealthy should be specified")
        elif self.max_unhealthy is not None and single is not None and _deletes_machines(single):
            problems.append(deletion)
        elif self.max_unhealthy is not None and any(
            _deletes_machines(step.remediation_template) for step in steps
        ):
            problems.append(f"{deletion} escalating remediation")
        if self.selector.is_empty:
            problems.append("Selector is mandatory")
        if single is None and not steps:
            problems.append("Either RemediationTemplate or at least one EscalatingRemediations must be set")
        elif single is not None and steps:
            problems.append("RemediationTemplate and EscalatingRemediations usage is mutual exclusive")
        if problems:
            raise Refused(*problems)
        return self


def _deletes_machines(template: TemplateField) -> bool:
    """True if the remediation deletes the Machine of the Node."""
    return template.kind.lower() == MACHINE_DELETION.lower()


def _refuse_twice(keys: Sequence[object], problem: str) -> None:
    found: set[object] = set()
    for key in keys:
        if key in found:
            raise Refused(f"{problem} {key}")
        found.add(key)


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
        found = matches(target, self.node_rules)
        if not found or is_left_to_others(target, _other_checks(context)):
            return []
        restarts = context.restarts_of(target)
        return [replace(match, restarts=restarts) for match in found] if restarts else found

    def last_transition(self, target: Node) -> datetime | None:
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
