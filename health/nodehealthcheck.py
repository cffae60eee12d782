"""NodeHealthCheck of remediation.medik8s.io: its parser, and its answers as a kind of check.

What its spec may say stands in `nodehealthcheck_spec`; a spec that says something else is refused with field
and value.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from pydantic import ValidationError

from health.frozen import FrozenObject
from health.health_check import InvalidCheckError
from health.node import Node
from health.nodehealthcheck_spec import Spec
from health.object_metadata import ObjectMetadata
from health.observation import Hold, HoldReason
from health.references import CheckReference, Step
from health.threshold import Allowance, Threshold
from health.verdict import Fact, UnhealthyCondition, Verdict, fact_of, has_match, verdict

KIND = "NodeHealthCheck"
API_VERSION = "remediation.medik8s.io/v1alpha1"
LONGEST_PROBLEM = 500
"""Characters: what is wrong goes into a condition and an Event, which take no megabytes."""


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
    if first["loc"][:2] == ("spec", "selector"):
        problem = f"Invalid selector: {problem}"
    value = first["input"]
    shown = _cut(value) if isinstance(value, str) else value if isinstance(value, int | float) else None
    return InvalidCheckError(_cut(field), shown, _cut(problem))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_PROBLEM else f"{text[:LONGEST_PROBLEM]}…"
