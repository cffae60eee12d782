"""The spec of a NodeHealthCheck: its fields, their defaults and its validation.

It accepts the same specs as the schema in deploy/base/crds; messages are those of the operator's webhook
where it has one (NHC 1.1). An object stored before the schema had these rules is refused here with the same
messages.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Self

from pydantic import (
    StrictInt,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from health.check.selector import LabelSelector
from health.check.template_validity import TemplateField
from health.check.threshold import Amount
from health.model.verdict import UnhealthyCondition
from objects.durations import Duration, SignedDuration
from objects.field_problem import SaysItsValueError
from objects.frozen import FrozenObject

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
