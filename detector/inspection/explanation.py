"""Explanation: why a check does or does not act on one target, as the leader would answer at this moment.

For a healthy target it says what would happen if its Node failed: the Node is replaced by one with the first
unhealthy condition of the check, for long enough to be due, and the same functions answer again.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from detector.inspection.decisions import TargetDecision, decision
from detector.inspection.inspection import Inspection
from detector.inspection.memories import IncidentMemories
from detector.state.target_store import lease_of_its_node, own_lease
from health.check.health_check import HealthCheck
from health.check.threshold import Allowance
from health.gate.back_off import RemediationBackOff
from health.model.node import Node, NodeCondition
from health.model.observation import Hold, Observation
from health.model.references import CheckReference, IncidentReference, Step
from health.model.target import Target, TargetName, node_name
from health.model.verdict import Match, UnhealthyCondition, Verdict
from health.policy.maintenance_windows import closed
from kube.lease import LeaseRecord, expiry, holder_is_valid
from objects.durations import JUST_AFTER

_A_MOMENT = timedelta(seconds=1) + JUST_AFTER
"""Kubernetes times are in whole seconds."""


@dataclass(frozen=True, kw_only=True)
class ConditionReading:
    """One rule of a check about the Node, beside the condition that the Node has."""

    rule: UnhealthyCondition
    found: NodeCondition | None
    """None: the Node lacks the condition, or there is no Node."""

    since: datetime | None
    """Since when the condition has its status, as sighted; None without the condition."""
    match: Match | None
    """The rule with its timer, if it matches."""


@dataclass(frozen=True, kw_only=True)
class Holder:
    """The holder of a Lease of the target."""

    lease: str
    identity: str
    until: datetime | None
    """When its hold expires; None: not by itself."""


@dataclass(frozen=True, kw_only=True)
class LimitsNow:
    """The limits of one scope, with the remediations that count now."""

    limits: str
    chosen_by: str
    in_flight: int


@dataclass(frozen=True, kw_only=True)
class Supposed:
    """The answer for a healthy target, if its Node had failed long enough ago to be due."""

    rule: UnhealthyCondition
    """The rule that the Node is supposed to match."""
    observation: Observation
    holds: tuple[Hold, ...]
    allowance: Allowance | None


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Everything that decides about one target under one check, at one moment."""

    incident: IncidentReference
    decision: TargetDecision
    """The decision by the answer that its incident gets, or would get."""
    holds: tuple[Hold, ...]
    """Every hold of check and target, in the order of precedence."""
    verdict: Verdict
    conditions: tuple[ConditionReading, ...]
    allowance: Allowance | None
    limits: tuple[LimitsNow, ...]
    windows: str
    """Why the maintenance windows allow no remediation now; "" if they do, None if there are none."""
    has_windows: bool
    holders: tuple[Holder, ...]
    back_off: RemediationBackOff
    steps: tuple[Step, ...]
    is_shadow: bool | None
    """None: by the policy, which is unknown."""
    supposed: Supposed | None = None
    """For a healthy target; None also if no condition of a Node makes it unhealthy."""

    @property
    def is_healthy(self) -> bool:
        return self.verdict.deadline is None


def explain(
    inspection: Inspection, check: HealthCheck, target: Target, memories: IncidentMemories
) -> Explanation:
    """Why this check, which selects this target, does or does not act on it now."""
    state, now, reference = inspection.cluster_state, inspection.state.now(), check.reference
    incident, observer = inspection.incident(reference, target), inspection.answers.observer
    verdict = check.verdict(target, now, state.cluster_context)
    policy = state.cluster_context.policy.policy
    windows = closed(policy.maintenance_windows, check.choices.maintenance_windows, now)
    return Explanation(
        incident=incident,
        decision=decision(inspection, incident, memories),
        holds=observer.holds(incident),
        verdict=verdict,
        conditions=_readings(check, target, inspection),
        allowance=state.allowance(reference),
        limits=tuple(_limits(inspection, reference)),
        windows="" if windows is None else windows.message,
        has_windows=bool(policy.maintenance_windows or check.choices.maintenance_windows),
        holders=tuple(_holders(inspection, reference, target, now)),
        back_off=inspection.answers.attempts.before(TargetName.of(incident.target), target),
        steps=check.steps_for(target),
        is_shadow=inspection.is_shadow(reference),
        supposed=_supposed(inspection, check, target, now) if verdict.deadline is None else None,
    )


def _readings(check: HealthCheck, target: Target, inspection: Inspection) -> tuple[ConditionReading, ...]:
    node, context = inspection.node_of(target), inspection.cluster_state.cluster_context
    found = {} if node is None else {condition.type: condition for condition in node.status.conditions}
    matches = {match.rule_key: match for match in check.matches(target, context)}
    return tuple(
        ConditionReading(
            rule=rule,
            found=found.get(rule.type),
            since=node.since(found[rule.type]) if node is not None and rule.type in found else None,
            match=matches.get((rule.type, rule.status, rule.duration)),
        )
        for rule in check.node_rules
    )


def _limits(inspection: Inspection, check: CheckReference) -> Iterator[LimitsNow]:
    for scope, in_flight in inspection.answers.limits.usage_of(check):
        yield LimitsNow(limits=str(scope.limits), chosen_by=scope.chosen_by, in_flight=in_flight)


def _holders(
    inspection: Inspection, check: CheckReference, target: Target, now: datetime
) -> Iterator[Holder]:
    for name in dict.fromkeys((own_lease(check, target), lease_of_its_node(target))):
        lease: LeaseRecord | None = inspection.cluster_state.leases.get(name)
        if lease is not None and holder_is_valid(lease, now):
            yield Holder(lease=name, identity=lease.spec.holder_identity or "", until=expiry(lease))


def _supposed(inspection: Inspection, check: HealthCheck, target: Target, now: datetime) -> Supposed | None:
    node = inspection.node_of(target)
    if node is None or not check.node_rules:
        return None
    rule = check.node_rules[0]
    failed = _failed(node, rule, now)
    name = node_name(target.node_name, target.node_cluster)
    with inspection.with_node(name, failed):
        return _answer_for_failed(inspection, check, target, rule)


def _answer_for_failed(
    inspection: Inspection, check: HealthCheck, target: Target, rule: UnhealthyCondition
) -> Supposed | None:
    """The answer while the Node of the target counts as failed."""
    state, observer = inspection.cluster_state, inspection.answers.observer
    observed_target = state.targets.get(check.reference, target.metadata.name)
    if observed_target is None:
        return None
    incident = inspection.incident(check.reference, observed_target)
    return Supposed(
        rule=rule,
        observation=inspection.answers.observe(incident),
        holds=observer.holds(incident),
        allowance=state.allowance(check.reference),
    )


def _failed(node: Node, rule: UnhealthyCondition, now: datetime) -> Node:
    """The Node with the condition of the rule, since long enough ago to be due now."""
    since = now - rule.duration - _A_MOMENT
    condition = NodeCondition(type=rule.type, status=rule.status, last_transition_time=since)
    others = tuple(condition for condition in node.status.conditions if condition.type != rule.type)
    status = dataclasses.replace(node.status, conditions=(condition, *others))
    return node.model_copy(update={"status": status})
