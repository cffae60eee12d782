"""MachineHealthCheck of machine.openshift.io as a kind of check, with its parser.

`spec` parses its spec; an invalid spec is refused with field and value.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Self

from pydantic import ValidationError

from health.check.health_check import OfItsOwnCluster
from health.check.pause import of_paused, pause_hold
from health.check.template_validity import TemplateKinds
from health.check.threshold import Allowance
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.kinds.machines.request_problem import template_problem
from health.kinds.openshift.machine import GROUP, MachineTarget
from health.kinds.openshift.spec import Spec, allowance
from health.kinds.openshift.unhealthy import Rules, facts, still_states, verdict
from health.model.invalid_check import InvalidCheckError, problem_of
from health.model.observation import Hold
from health.model.references import Action, CheckReference, Step, TemplateReference
from health.model.verdict import Fact, UnhealthyCondition, Verdict, last_transition
from health.policy.check_choices import CheckChoices
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata

KIND = "MachineHealthCheck"
STRATEGY = "machine.openshift.io/remediation-strategy"
EXTERNAL_BAREMETAL = "external-baremetal"
_DELETE, _MARK = Step(action=Action.DELETE), Step(action=Action.MARK)


class MachineHealthCheck(OfItsOwnCluster, FrozenObject):
    """One MachineHealthCheck as a check of Machines; satisfies HealthCheckOf[MachineTarget]."""

    metadata: ObjectMetadata
    spec: Spec = Spec()

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """The check in the API server's object.

        Raises:
            InvalidCheckError: it does not parse; names the first invalid field and its value.

        """
        try:
            check = cls.model_validate(raw)
            CheckChoices.of(check.metadata.annotations)  # refuses what cannot be read
        except (ValidationError, InvalidCheckError) as error:
            problem = error if isinstance(error, InvalidCheckError) else problem_of(error.errors()[0])
            raise of_paused(problem, raw.get("metadata")) from error
        return check

    @cached_property
    def reference(self) -> CheckReference:
        return CheckReference(
            kind=KIND, group=GROUP, namespace=self.metadata.namespace, name=self.metadata.name
        )

    @cached_property
    def choices(self) -> CheckChoices:
        return CheckChoices.of(self.metadata.annotations)

    @property
    def generation(self) -> int:
        """The generation of its spec; annotations, including pause and strategy, do not change it."""
        return self.metadata.generation

    @property
    def template(self) -> TemplateReference | None:
        """The template of its requests, in the namespace of the check (MHC A.1/remediationTemplate)."""
        if self.spec.remediation_template is None:
            return None
        named = self.spec.remediation_template.reference
        return named.model_copy(update={"namespace": self.metadata.namespace})

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """A request, if it has a template."""
        return () if self.template is None else (Step(template=self.template),)

    @property
    def counts_requests(self) -> bool:
        """False: a recovered Machine counts as healthy while its request is deleted (MHC A.2.4)."""
        return False

    def hold_in(self, context: ClusterContext) -> Hold | None:  # noqa: ARG002
        return pause_hold(self.metadata.annotations)

    def is_fully_paused_in(self, context: ClusterContext) -> bool:
        """Always True while paused: a pause stops everything."""
        return self.hold_in(context) is not None

    @property
    def storm_cooldown(self) -> timedelta | None:
        return None

    @property
    def healthy_delay(self) -> timedelta:
        """Zero: requests of a healthy Machine are deleted at once (MHC A.2.6)."""
        return timedelta()

    @cached_property
    def rules(self) -> Rules:
        conditions = tuple(
            UnhealthyCondition(condition.type, condition.status, condition.timeout)
            for condition in self.spec.unhealthy_conditions
        )
        return Rules(conditions, self.spec.node_startup_timeout)

    def selects(self, target: MachineTarget) -> bool:
        """True if `target`, of its namespace, is one of its targets; without a selector all are (MHC A.1)."""
        return self.spec.selector.selects(target.metadata.labels)

    def problem(self, context: ClusterContext, kinds: TemplateKinds) -> CheckProblem | None:  # noqa: ARG002
        """Why its template leads to no request; other checks do not matter here."""
        return template_problem(self.template, kinds)

    def counts_as_healthy(self, target: MachineTarget, context: ClusterContext) -> bool:
        """True if its Node exists, no rule matches, and it is neither deleted nor marked (MHC A.2.4)."""
        if target.node is None or target.machine.is_going or target.machine.is_marked:
            return False
        return not self.is_unhealthy(target, context)

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

    def is_unhealthy(self, target: MachineTarget, context: ClusterContext) -> bool:  # noqa: ARG002
        """True if a row of `unhealthy` matches, expired or not."""
        return bool(facts(target, self.rules))

    def verdict(self, target: MachineTarget, now: datetime, context: ClusterContext) -> Verdict:
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

    def allowance(self, *, total: int, healthy: int) -> Allowance:
        return allowance(self.spec.max_unhealthy, total=total, healthy=healthy)
