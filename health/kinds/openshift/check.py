"""MachineHealthCheck of machine.openshift.io: its parser, and its answers as a kind of check.

What its spec may say stands in `spec`; a spec that says something else is refused with field and value.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Self

from pydantic import ValidationError

from health.gate.check_choices import CheckChoices
from health.gate.cluster_context import CheckProblem, ClusterContext
from health.gate.health_check import OfItsOwnCluster
from health.gate.invalid_check import InvalidCheckError, problem_of
from health.gate.pause import of_paused, pause_hold
from health.gate.template_validity import TemplateKinds
from health.gate.threshold import Allowance
from health.kinds.machines.request_problem import template_problem
from health.kinds.openshift.machine import GROUP, MachineTarget
from health.kinds.openshift.spec import Spec, allowance
from health.kinds.openshift.unhealthy import Rules, facts, still_states, verdict
from health.model.observation import Hold
from health.model.references import Action, CheckReference, Step, TemplateReference
from health.model.verdict import Fact, UnhealthyCondition, Verdict, last_transition
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata

KIND = "MachineHealthCheck"
STRATEGY = "machine.openshift.io/remediation-strategy"
EXTERNAL_BAREMETAL = "external-baremetal"
_DELETE, _MARK = Step(action=Action.DELETE), Step(action=Action.MARK)


class MachineHealthCheck(OfItsOwnCluster, FrozenObject):
    """One MachineHealthCheck; satisfies HealthCheckOf[MachineTarget]."""

    metadata: ObjectMetadata
    spec: Spec = Spec()

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """The check that the API server's object says.

        Raises:
            InvalidCheckError: it does not parse; names the first bad field and its value.

        """
        try:
            check = cls.model_validate(raw)
            CheckChoices.of(check.metadata.annotations)  # refuses what cannot be read
        except (ValidationError, InvalidCheckError) as error:
            problem = error if isinstance(error, InvalidCheckError) else problem_of(error.errors()[0])
            raise of_paused(problem, raw.get("metadata")) from error
        return check

    @property
    def reference(self) -> CheckReference:
        """Its name."""
        return CheckReference(
            kind=KIND, group=GROUP, namespace=self.metadata.namespace, name=self.metadata.name
        )

    @cached_property
    def choices(self) -> CheckChoices:
        """What people choose for it by annotations."""
        return CheckChoices.of(self.metadata.annotations)

    @property
    def generation(self) -> int:
        """The generation of its spec; annotations, which pause it and set its strategy, do not move it."""
        return self.metadata.generation

    @property
    def template(self) -> TemplateReference | None:
        """The template of its requests, which is where the check is (MHC A.1/remediationTemplate)."""
        if self.spec.remediation_template is None:
            return None
        named = self.spec.remediation_template.reference
        return named.model_copy(update={"namespace": self.metadata.namespace})

    @property
    def steps(self) -> tuple[Step, ...]:
        """The one request, if it has a template."""
        return () if self.template is None else (Step(template=self.template),)

    @property
    def counts_requests(self) -> bool:
        """A Machine whose Node is healthy again counts as healthy while its request goes (MHC A.2.4)."""
        return False

    def hold_in(self, context: ClusterContext) -> Hold | None:  # noqa: ARG002
        """The annotation that pauses it."""
        return pause_hold(self.metadata.annotations)

    def is_fully_paused_in(self, context: ClusterContext) -> bool:
        """A pause stops everything."""
        return self.hold_in(context) is not None

    @property
    def storm_cooldown(self) -> timedelta | None:
        """It knows no storms."""
        return None

    @property
    def healthy_delay(self) -> timedelta:
        """None: requests of a healthy Machine are deleted at once (MHC A.2.6)."""
        return timedelta()

    @property
    def rules(self) -> Rules:
        """What it calls unhealthy."""
        conditions = tuple(
            UnhealthyCondition(condition.type, condition.status, condition.timeout)
            for condition in self.spec.unhealthy_conditions
        )
        return Rules(conditions, self.spec.node_startup_timeout)

    def selects(self, target: MachineTarget) -> bool:
        """Whether `target`, of its namespace, is one of its targets; without a selector all are (MHC A.1)."""
        return self.spec.selector.selects(target.metadata.labels)

    def problem(self, context: ClusterContext, kinds: TemplateKinds) -> CheckProblem | None:  # noqa: ARG002
        """Why its template leads to no request; other checks are in nobody's way here."""
        return template_problem(self.template, kinds)

    def counts_as_healthy(self, target: MachineTarget, context: ClusterContext) -> bool:
        """Whether it counts as healthy: its Node is there, and nothing is wrong or done to it (MHC A.2.4)."""
        if target.node is None or target.machine.is_going or target.machine.is_marked:
            return False
        return not self.is_unhealthy(target, context)

    def steps_for(self, target: MachineTarget) -> tuple[Step, ...]:
        """The request, the mark or the deletion; none where nobody would make a new Machine (MHC A.2.5)."""
        if self.template is not None:
            return self.steps
        if self._marks(target):
            return (_MARK,)
        return () if target.machine.controller is None else (_DELETE,)

    def _marks(self, target: MachineTarget) -> bool:
        strategy = self.metadata.annotations.get(STRATEGY)
        return strategy == EXTERNAL_BAREMETAL and not target.machine.has_failed

    def replaces(self, target: MachineTarget) -> bool:
        """Whether it is deleted; one that is left to a remediator stays."""
        return self.steps_for(target) == (_DELETE,)

    def under_way(self, target: MachineTarget) -> str:
        """That it is being deleted, or is marked already, where that is what would be done to it."""
        steps = self.steps_for(target)
        if steps == (_DELETE,) and target.machine.is_going:
            return f"{target.metadata.name} is being deleted"
        if steps == (_MARK,) and target.machine.is_marked:
            return f"{target.metadata.name} is marked for external remediation"
        return ""

    def is_unhealthy(self, target: MachineTarget, context: ClusterContext) -> bool:  # noqa: ARG002
        """Whether a row of `unhealthy` fits, expired or not."""
        return bool(facts(target, self.rules))

    def verdict(self, target: MachineTarget, now: datetime, context: ClusterContext) -> Verdict:
        """What it says of `target` at `now`."""
        cluster = target.node_cluster
        blind_until = context.blind_until(cluster, target.node_zone)
        return verdict(target, self.rules, now, blind_until, context.gone_from(cluster))

    def last_transition(self, target: MachineTarget) -> datetime | None:
        """When the latest of the unhealthy conditions of its Node came or went."""
        of_node = target.node.status.conditions if target.node is not None else ()
        return last_transition(of_node, self.rules.conditions)

    def still_states(self, fact: Fact, target: MachineTarget, context: ClusterContext) -> bool:  # noqa: ARG002
        """Whether that very fact is still among what makes `target` unhealthy."""
        return still_states(fact, target, self.rules)

    def allowance(self, *, total: int, healthy: int) -> Allowance:
        """What its threshold says of these numbers."""
        return allowance(self.spec.max_unhealthy, total=total, healthy=healthy)
