"""MachineCheck: the base class of checks of Machines, with the behaviour that both APIs share."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeVar

from health.check.annotated_hold import of_paused, pause_hold
from health.check.health_check import Check, Model, parsed
from health.check.template_validity import TemplateField, TemplateKinds, request_rejection, unusable
from health.check.threshold import Allowance
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.kinds.machines.machine import LinkedMachineTarget
from health.kinds.machines.threshold import Trigger, allowance
from health.model.invalid_check import InvalidCheckError
from health.model.observation import Hold
from health.model.references import Step, TemplateReference

NOT_CREATED = "RemediationRequestCreationFailed"
"""The reason that the operators give for a request, with the prefix External for one API; see unusable() for
templates."""

Machine_contra = TypeVar("Machine_contra", bound=LinkedMachineTarget, contravariant=True)
_ModelT = TypeVar("_ModelT", bound=Model)


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
        if named is None:
            return None
        return named.reference.model_copy(update={"namespace": self.metadata.namespace})

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """A request, if it has a template."""
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
        rejection = request_rejection(self.template, kinds)
        problem = unusable(self.template, kinds, may_be_empty=self.may_template_be_empty)
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
        InvalidCheckError: it does not parse; a PausedInvalidCheckError if the check is paused.

    """
    try:
        return parsed(model, raw)
    except InvalidCheckError as problem:
        problem.api_version = api_version
        raise of_paused(problem, raw.get("metadata")) from problem
