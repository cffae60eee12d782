"""MachineCheck: the base class of checks of Machines, with the behaviour that both APIs share.

The threshold (MHC A.2.4, CAPI B.2.4, rules 4, 5, 31 and 44) is one of two:

- A number or a share: at most that many may be unhealthy. A share is rounded down and may exceed 100 %. A
  number may exceed the number of Machines. A negative amount never allows anything, even if all are healthy.
- A range, in one of the APIs: the number of unhealthy Machines must be in it, both ends included.

All Machines that do not count as healthy are unhealthy, including those being deleted, without a Node,
marked, or with a running timer.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from pydantic import ValidationError

from health.check.annotated_hold import pause_hold
from health.check.health_check import Check, Model, parsed
from health.check.template_validity import TemplateField, TemplateKinds, unusable
from health.check.threshold import LARGEST, Allowance, IntOrPercent
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.kinds.machines.machine import LinkedMachineTarget
from health.model.invalid_check import InvalidCheckError
from health.model.observation import Hold
from health.model.references import Step, TemplateReference
from objects.frozen import Frozen
from objects.metadata import ObjectMetadata

NOT_CREATED = "RemediationRequestCreationFailed"
"""The reason that the operators give for a request, with the prefix External for one API; see unusable() for
templates."""
ALL = IntOrPercent(value=100, is_percent=True)
Machine_contra = TypeVar("Machine_contra", bound=LinkedMachineTarget, contravariant=True)
_ModelT = TypeVar("_ModelT", bound=Model)


class UnhealthyRange(Frozen):
    """The least and the greatest number of unhealthy Machines that allow remediation."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"[{self.least}-{self.most}]"


Trigger: TypeAlias = IntOrPercent | UnhealthyRange


def allowance(trigger: Trigger, *, total: int, healthy: int) -> Allowance:
    if isinstance(trigger, UnhealthyRange):
        return Allowance(
            allowed=trigger.least <= total - healthy <= trigger.most,
            total=total,
            healthy=healthy,
            required=total - trigger.most,
            limit=f"from {trigger.least} to {trigger.most} allowed",
        )
    most = trigger.floor_of(total) if trigger.value >= 0 else min(trigger.floor_of(total), -1)
    return Allowance.of_required(total - most, total=total, healthy=healthy)


def remediations_allowed(decided: Allowance) -> int:
    """How many more Machines may turn unhealthy before remediation stops, in 32 bits."""
    return max(0, min(decided.healthy - decided.required, LARGEST)) if decided.allowed else 0


def numbers_in_words(decided: Allowance, trigger: Trigger) -> str:
    """The numbers behind the decision, in the words of the reference controllers."""
    field = "unhealthyRange" if isinstance(trigger, UnhealthyRange) else "maxUnhealthy"
    return f"(total: {decided.total}, unhealthy: {decided.total - decided.healthy}, {field}: {trigger})"


def held_message(decided: Allowance, trigger: Trigger) -> str:
    """The message of a blocking threshold, in the words of the reference controllers."""
    is_range = isinstance(trigger, UnhealthyRange)
    compared = "does not fall within the range" if is_range else "exceeds maxUnhealthy"
    return (
        f"Remediation is not allowed, the number of not started or unhealthy machines {compared} "
        f"{numbers_in_words(decided, trigger)}"
    )


class _Spec(Protocol):
    @property
    def template(self) -> TemplateField | None: ...

    @property
    def trigger(self) -> Trigger: ...


class MachineCheck(Check[Machine_contra]):
    """One check of Machines.

    A recovered Machine counts as healthy while its request is deleted (MHC A.2.4, CAPI B.2.4), which happens
    at once (MHC A.2.6, CAPI B.2.5).
    """

    api_version: str
    """The version that it was read in; its Machines have the same."""
    spec: _Spec
    may_template_be_empty: ClassVar[bool] = False

    @cached_property
    def template(self) -> TemplateReference | None:
        """Always in the namespace of the check (MHC A.1/remediationTemplate, CAPI B.1)."""
        named = self.spec.template
        return None if named is None else named.reference_in(self.metadata.namespace)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return () if self.template is None else (Step(template=self.template),)

    def hold_in(self, context: ClusterContext) -> Hold | None:  # noqa: ARG002
        return pause_hold(self.metadata.annotations)

    def is_fully_paused_in(self, context: ClusterContext) -> bool:
        """Always True while paused: a pause stops everything."""
        return self.hold_in(context) is not None

    def problem(self, context: ClusterContext, kinds: TemplateKinds) -> CheckProblem | None:  # noqa: ARG002
        """Why its template leads to no request (rules 27 and 45); other checks do not matter here."""
        if self.template is None:
            return None
        problem = unusable(self.template, kinds, may_be_empty=self.may_template_be_empty)
        kind = kinds(self.template.api_version, self.template.kind)
        rejection = None if kind is None else kind.request_rejection
        return problem or (CheckProblem(NOT_CREATED, rejection) if rejection else None)

    def counts_as_healthy(self, target: Machine_contra, context: ClusterContext) -> bool:
        """True if its Node exists, no rule matches, and it is not being deleted (MHC A.2.4, CAPI B.2.4)."""
        if target.node is None or target.machine.is_going:
            return False
        return not self.is_unhealthy(target, context)

    def allowance(self, *, total: int, healthy: int) -> Allowance:
        return allowance(self.spec.trigger, total=total, healthy=healthy)


def parsed_unless_paused(model: type[_ModelT], raw: Mapping[str, Any], api_version: str) -> _ModelT:
    """The API server's object as `model`.

    Raises:
        InvalidCheckError: it does not parse; says whether the check is paused.

    """
    try:
        return parsed(model, raw)
    except InvalidCheckError as error:
        try:
            annotations = ObjectMetadata.model_validate(raw.get("metadata")).annotations
            is_paused = pause_hold(annotations) is not None
        except ValidationError:
            is_paused = False
        raise InvalidCheckError(error.problem, api_version, is_paused=is_paused) from error
