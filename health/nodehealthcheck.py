"""NodeHealthCheck of remediation.medik8s.io: its parser, and its answers as a kind of check.

The parser accepts what the schema in deploy/crds accepts, and refuses the rest with field and value; the
texts are those of the reference's webhook where it has one (semantics 1.1). An object stored before the
schema had these rules is refused here in the same words.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from health.durations import Duration, SignedDuration, in_words
from health.frozen import FrozenObject
from health.health_check import InvalidCheckError
from health.node import Node
from health.object_metadata import ObjectMetadata
from health.observation import Hold, HoldReason
from health.references import CheckReference, Step, TemplateReference
from health.selector import LabelSelector
from health.threshold import Allowance, Amount, Threshold
from health.verdict import Fact, UnhealthyCondition, Verdict, fact_of, has_match, verdict

KIND = "NodeHealthCheck"
API_VERSION = "remediation.medik8s.io/v1alpha1"
SHORTEST_STEP = timedelta(minutes=1)
MACHINE_DELETION = "MachineDeletionRemediationTemplate"

_Text = Annotated[str, Field(min_length=1)]


class Condition(FrozenObject):
    """One entry of spec.unhealthyConditions."""

    type: _Text
    status: _Text
    duration: Duration


class Template(FrozenObject):
    """A reference to a remediation template."""

    api_version: _Text
    kind: _Text
    name: _Text
    namespace: str = ""

    @property
    def reference(self) -> TemplateReference:
        """The same as a reference of ours."""
        return TemplateReference(
            api_version=self.api_version, kind=self.kind, namespace=self.namespace, name=self.name
        )


class Escalation(FrozenObject):
    """One entry of spec.escalatingRemediations."""

    remediation_template: Template
    order: int
    timeout: Duration

    @field_validator("timeout")
    @classmethod
    def _not_too_short(cls, timeout: timedelta) -> timedelta:
        if timeout < SHORTEST_STEP:
            found = f"found timeout {in_words(timeout)}"
            raise ValueError(f"EscalatingRemediation Timeout must be at least one minute: {found}")
        return timeout


_DEFAULT_CONDITIONS = tuple(
    Condition.model_validate({"type": "Ready", "status": status, "duration": "300s"})
    for status in ("False", "Unknown")
)


class Spec(FrozenObject):
    """spec of a NodeHealthCheck."""

    selector: LabelSelector = LabelSelector()
    unhealthy_conditions: tuple[Condition, ...] = _DEFAULT_CONDITIONS
    min_healthy: Amount | None = None
    max_unhealthy: Amount | None = None
    storm_cooldown_duration: Duration | None = None
    remediation_template: Template | None = None
    escalating_remediations: tuple[Escalation, ...] = ()
    pause_requests: tuple[str, ...] = ()
    healthy_delay: SignedDuration | None = None

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
        if self.min_healthy is not None and self.max_unhealthy is not None:
            raise ValueError("minHealthy and maxUnhealthy cannot be specified at the same time")
        if self.min_healthy is None and self.max_unhealthy is None:
            raise ValueError("one of minHealthy and maxUnhealthy should be specified")
        if self.selector.is_empty:
            raise ValueError("Selector is mandatory")
        return self

    @model_validator(mode="after")
    def _templates_fit_together(self) -> Self:
        if self.remediation_template is None and not self.escalating_remediations:
            raise ValueError("Either RemediationTemplate or at least one EscalatingRemediations must be set")
        if self.remediation_template is not None and self.escalating_remediations:
            raise ValueError("RemediationTemplate and EscalatingRemediations usage is mutual exclusive")
        if self.max_unhealthy is not None and self._deletes_machines():
            raise ValueError(f"maxUnhealthy can't be used with {MACHINE_DELETION}")
        return self

    def _deletes_machines(self) -> bool:
        templates = [step.remediation_template for step in self.escalating_remediations]
        if self.remediation_template is not None:
            templates.append(self.remediation_template)
        return any(template.kind.lower() == MACHINE_DELETION.lower() for template in templates)


def _refuse_twice(keys: Sequence[object], problem: str) -> None:
    seen: set[object] = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"{problem} {key}")
        seen.add(key)


class NodeHealthCheck(FrozenObject):
    """One NodeHealthCheck; satisfies HealthCheck."""

    metadata: ObjectMetadata
    spec: Spec

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """The check that the API server's object says.

        Raises:
            InvalidCheckError: it does not parse; names the first bad field and its value.

        """
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            raise _first_problem(error) from error

    @property
    def reference(self) -> CheckReference:
        """Its name."""
        return CheckReference(kind=KIND, name=self.metadata.name)

    @property
    def generation(self) -> int:
        """The generation of its spec."""
        return self.metadata.generation

    @property
    def steps(self) -> tuple[Step, ...]:
        """The one step of a classic remediation, or the escalation in its order."""
        if self.spec.remediation_template is not None:
            return (Step(template=self.spec.remediation_template.reference),)
        return tuple(
            Step(
                template=step.remediation_template.reference,
                timeout_seconds=step.timeout.total_seconds(),
            )
            for step in sorted(self.spec.escalating_remediations, key=lambda step: step.order)
        )

    @property
    def hold(self) -> Hold | None:
        """Pause requests; and, fail-closed, what this version does not carry out yet."""
        if self.unsupported:
            return Hold(
                reason=HoldReason.NOT_SUPPORTED,
                message=f"this version does not carry out {', '.join(self.unsupported)}",
            )
        if self.spec.pause_requests:
            return Hold(
                reason=HoldReason.PAUSED,
                message=f"paused by request: {', '.join(self.spec.pause_requests)}",
            )
        return None

    @property
    def unsupported(self) -> tuple[str, ...]:
        """The fields in use that this version reads but does not carry out."""
        in_use = {
            "spec.escalatingRemediations": bool(self.spec.escalating_remediations),
            "spec.healthyDelay": bool(self.spec.healthy_delay),
            "spec.stormCooldownDuration": self.spec.storm_cooldown_duration is not None,
        }
        return tuple(field for field, is_used in in_use.items() if is_used)

    @property
    def rules(self) -> tuple[UnhealthyCondition, ...]:
        """Its unhealthy conditions."""
        return tuple(
            UnhealthyCondition(condition.type, condition.status, condition.duration)
            for condition in self.spec.unhealthy_conditions
        )

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether a Node with these labels is one of its targets."""
        return self.spec.selector.selects(labels)

    def is_unhealthy(self, node: Node) -> bool:
        """Whether a condition matches, expired or not."""
        return has_match(node, self.rules)

    def verdict(self, node: Node, now: datetime) -> Verdict:
        """What it says of `node` at `now`."""
        return verdict(node, self.rules, now)

    def still_states(self, fact: Fact, node: Node) -> bool:
        """Whether `node` still has that condition since then, and the check still calls it unhealthy."""
        is_listed = any((rule.type, rule.status) == (fact.condition, fact.status) for rule in self.rules)
        return is_listed and any(fact_of(condition, node) == fact for condition in node.status.conditions)

    def allowance(self, *, total: int, healthy: int) -> Allowance:
        """What its threshold says of these numbers."""
        threshold = Threshold(min_healthy=self.spec.min_healthy, max_unhealthy=self.spec.max_unhealthy)
        return threshold.allowance(total=total, healthy=healthy)


def _first_problem(error: ValidationError) -> InvalidCheckError:
    first = error.errors()[0]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    problem = first["msg"].removeprefix("Value error, ")
    value = first["input"]
    shown = value if isinstance(value, str | int | float) else type(value).__name__
    return InvalidCheckError(field, shown, problem)
