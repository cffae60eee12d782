"""MachineHealthCheck of machine.openshift.io: its spec, and the rules by which a Machine is unhealthy.

Only unambiguous specs are accepted (MHC A.1). Some that the schema allows are refused here with field and
value, which affects only their check, even where the machine-api-operator works with them (ADR 13):

- An unreadable selector, duration or maxUnhealthy: the operator fails for ever, or stops handling all checks
  (rules 8 and 44).
- A condition without type or status: it could never match.
- A condition without a timeout: the operator reads it as 0 and deletes a Machine at the first unhealthy
  status.
- A maxUnhealthy below zero: the operator reads it as 0, and so deletes nothing.
- A maxUnhealthy above 32 bits: it breaks the operator's own status.
- A nodeStartupTimeout below zero ("-5m" matches a pattern that is anchored on one side only): the operator
  deletes every new Machine at once.
- A remediationTemplate without apiVersion, kind or name: the operator fails for ever.

The rules (MHC A.2.3); only the first row that matches counts:

1. Its phase is Failed: expired at once, regardless of its Node, and also while it is being deleted.
2. It was never linked to a Node: expired strictly after nodeStartupTimeout, counted from status.lastUpdated,
   or from creation without it (rule 25). Without that timeout it is never unhealthy for this reason.
3. Its linked Node does not exist: expired at once, but no sooner than a minute after the connection to the
   API server was restored (rule 50).
4. Conditions of its Node, as in `health.model.verdict`.

Rows 2 and 3 do not apply to a Machine that is being deleted, because its Node is deleted first, nor to one
whose Node exists and cannot be decoded (rule 8). The times of rows 1 to 3 are the Machine's last change, and
move with each write of its status. After a blind period (an upgrade), the clocks of rows 2 and 4 restart
(rule 37).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field

from health.check.selector import LabelSelector
from health.check.template_validity import LocalTemplate, TemplateField
from health.check.threshold import LARGEST, Amount, IntOrPercent
from health.cluster.cluster_context import ClusterContext
from health.kinds.machines.check import ALL, MachineCheck, Trigger, parsed_unless_paused
from health.kinds.machines.machine import GONE, MISSING, NODE
from health.kinds.openshift.machine import API_VERSION, GROUP, MachineTarget
from health.model.references import Action, Step
from health.model.verdict import (
    Fact,
    Health,
    Match,
    UnhealthyCondition,
    Verdict,
    judged,
    last_transition,
)
from health.model.verdict import matches as matches_of_node
from objects.durations import Duration, GoDuration
from objects.frozen import FrozenObject
from objects.group_kind import GroupKind
from objects.metadata import ObjectMetadata

KIND = "MachineHealthCheck"
STRATEGY = "machine.openshift.io/remediation-strategy"
EXTERNAL_BAREMETAL = "external-baremetal"
_DELETE, _MARK = Step(action=Action.DELETE), Step(action=Action.MARK)
DEFAULT_NODE_STARTUP = timedelta(minutes=10)


def _fits_status(amount: IntOrPercent) -> IntOrPercent:
    if amount.value > LARGEST:
        raise ValueError("must fit into 32 bits")
    return amount


class Condition(UnhealthyCondition):
    """One entry of spec.unhealthyConditions; duplicates are allowed."""

    duration: Duration = Field(alias="timeout")


class Spec(FrozenObject):
    """The spec of a MachineHealthCheck of machine.openshift.io."""

    selector: LabelSelector = LabelSelector()
    unhealthy_conditions: tuple[Condition, ...] = ()
    max_unhealthy: Annotated[Amount, AfterValidator(_fits_status)] = ALL
    node_startup_timeout: GoDuration = DEFAULT_NODE_STARTUP
    remediation_template: LocalTemplate | None = None

    @property
    def template(self) -> TemplateField | None:
        return self.remediation_template

    @property
    def trigger(self) -> Trigger:
        return self.max_unhealthy


PHASE, FAILED = "Phase", "Failed"


class MachineHealthCheck(FrozenObject, MachineCheck[MachineTarget]):
    """One MachineHealthCheck as a check of Machines."""

    group_kind: ClassVar = GroupKind(GROUP, KIND)
    api_version: str = API_VERSION
    metadata: ObjectMetadata
    spec: Spec = Spec()

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        return parsed_unless_paused(cls, raw, API_VERSION)

    @property
    def node_rules(self) -> Sequence[UnhealthyCondition]:
        return self.spec.unhealthy_conditions

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
        if self.metadata.annotations.get(STRATEGY) == EXTERNAL_BAREMETAL and not target.machine.has_failed:
            return (_MARK,)
        return () if target.machine.controller is None else (_DELETE,)

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
        lost, restarts = _lost(target), context.restarts_of(target)
        if lost is not None:
            return [Match(fact=lost)]
        if target.node is not None:
            return matches_of_node(target.node, self.node_rules, restarts)
        startup = self.spec.node_startup_timeout
        if not startup or target.machine.is_going or target.is_node_unread:
            return []
        # The Machine has no Node yet, since its last change of phase (rule 25).
        fact, sighting = target.fact(NODE, MISSING), target.machine.sighting(NODE)
        if sighting is not None:
            changes = {"since": sighting.since, "rewritten": sighting.rewritten}
            fact = fact.model_copy(update=changes)
        return [Match(fact=fact, duration=startup, restarts=restarts, sighting=sighting)]

    def verdict_of_conditions(self, target: MachineTarget, now: datetime, context: ClusterContext) -> Verdict:
        lost = _lost(target)
        if lost is None:
            return judged(self.matches(target, context), now)
        gone_from = context.gone_from(target.node_cluster)
        if lost.condition == NODE and gone_from is not None and now <= gone_from:
            return judged([Match(fact=lost, not_before=gone_from)], now)
        # No object has the time of the loss of a Node; the fact has the time of the Machine.
        is_failed = lost.condition == PHASE
        reason = f"its phase is {FAILED}" if is_failed else f"its Node {target.node_name} is not there"
        return Verdict(health=Health.EXPIRED, reason=reason, fact=lost, deadline=lost.since)

    def last_transition(self, target: MachineTarget) -> datetime | None:
        return last_transition(target.node, self.node_rules)

    def still_states(self, fact: Fact, target: MachineTarget, context: ClusterContext) -> bool:
        """True if that fact still makes `target` unhealthy, or did until it was deleted.

        A repeated attempt to delete it finds the Machine already being deleted by the first one.
        """
        found = [match.fact for match in self.matches(target, context)]
        if target.machine.is_going and not found and target.node is None:
            found = [target.fact(NODE, GONE if target.node_name else MISSING)]
        return any(fact.is_stated_by(current) for current in found)


def _lost(target: MachineTarget) -> Fact | None:
    """The fact of rows 1 and 3, which need no timer."""
    if target.machine.has_failed:
        return target.fact(PHASE, FAILED)
    is_lost = bool(target.node_name) and target.node is None and not target.is_node_unread
    if is_lost and not target.machine.is_going:
        return target.fact(NODE, GONE)
    return None
