"""Preview: the decisions about targets in a state that may be a copy, as the leader would answer now.

The same functions answer incidents: the observation of the state, then the runbook with what the incident
has reported (`health.runbook.decide`). A preview takes no place in a queue and no slot, and starts nothing.

For a healthy target it says what would happen if its Node failed: the Node is replaced by one with the first
unhealthy condition of the check, for long enough to be due, and the same functions answer again.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from detector.answers.judged_target import check_holds
from detector.answers.observation_builder import ObservationBuilder, Observer
from detector.limits.remediation_limits import Limiting
from detector.state.state_view import StateView
from detector.state.target_store import lease_of_its_node, own_lease, place_of
from health.check.health_check import HealthCheck
from health.gate.back_off import RemediationBackOff
from health.kinds.registry import CHECK_KINDS
from health.model.approval import Approval
from health.model.moves import BY_A_CHANGE, NextTransition, Phase
from health.model.node import Node, NodeCondition
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import CheckReference, IncidentReference
from health.model.target import Target, TargetName
from health.model.verdict import UnhealthyCondition
from health.policy.maintenance_windows import closed
from health.runbook.decide import DecisionPreview, as_reported, preview
from health.runbook.orders import claim_of
from health.runbook.state import Memory
from health.runbook.words import words_of
from kube.lease import expiry, holder_is_valid
from objects.durations import JUST_AFTER, in_words
from workflows.inspection_contracts import (
    ConditionAnswer,
    Decided,
    ExplanationAnswer,
    LeaseAnswer,
    LimitAnswer,
    SupposedAnswer,
    TargetAnswer,
    ThresholdAnswer,
)

UNHEARD = "its incident has not asked this leader yet, so the orders of people to it are unknown"
_A_MOMENT = timedelta(seconds=1) + JUST_AFTER
"""Kubernetes times are in whole seconds."""
_DECIDED = {
    Phase.WAITING: Decided.WAITS,
    Phase.HELD: Decided.HELD,
    Phase.ACTING: Decided.MAY_ACT,
    Phase.REMEDIATING: Decided.REMEDIATING,
    Phase.EXHAUSTED: Decided.EXHAUSTED,
    Phase.HEALTHY_DELAY: Decided.CLEANING_UP,
    Phase.CLEANING_UP: Decided.CLEANING_UP,
    Phase.LEFT_ALONE: Decided.LEFT_ALONE,
    Phase.ENDED: Decided.CLEANING_UP,
}
_GOES_ON = frozenset({Decided.REMEDIATING, Decided.CLEANING_UP, Decided.EXHAUSTED})
"""A timer alone ends these waits too; the decision has the end of any other."""
_QUESTIONS = frozenset({HoldReason.APPROVAL_REQUIRED, HoldReason.STEP_REJECTED})


@dataclass(frozen=True, kw_only=True)
class TargetPreview:
    """The decision about one target, with the values that decide."""

    incident: IncidentReference
    observation: Observation
    outlook: DecisionPreview
    found: Hold | None = None
    """The finding of the latest act, if only the act could see it."""
    is_unheard: bool = False
    """True if the target has an incident whose orders the leader does not know yet."""

    @property
    def decided(self) -> Decided:
        """May act only if it is known that neither a person nor the latest act holds it."""
        phase = self.outlook.phase
        if self.outlook.order is not None:
            return Decided.HELD_BY_PERSON if phase is Phase.HELD else _DECIDED[phase]
        if self.observation.state is TargetState.UNKNOWN:
            return Decided.UNKNOWN
        if self.outlook.is_recorded_only:
            return Decided.REMEDIATING if self.observation.requests else Decided.MAY_ACT
        if phase is Phase.ACTING and self.found is not None:
            return Decided.HELD
        return Decided.UNKNOWN if phase is Phase.ACTING and self.is_unheard else _DECIDED[phase]

    @property
    def hold(self) -> Hold | None:
        """Why nothing new is done, unless a person ordered that; None: nothing holds it."""
        if self.outlook.order is not None:
            return None
        if self.outlook.phase is Phase.ACTING:
            return None if self.outlook.is_recorded_only else self.found
        hold = self.outlook.hold or (None if self.observation.may_be_admitted else self.observation.hold)
        return hold and as_asked(hold, self.outlook.memory)

    @property
    def answer(self) -> TargetAnswer:
        memory, hold, decided = self.outlook.memory, self.hold, self.decided
        message = self.outlook.words if decided is Decided.HELD else self.observation.reason
        if decided is Decided.UNKNOWN and hold is None:
            message = UNHEARD
        return TargetAnswer(
            target=str(self.incident.target),
            decided=decided,
            hold=hold,
            message=message if hold is None else hold.message,
            requests=tuple(words_of(request, memory) for request in self.observation.requests),
            ordered=self.outlook.order or memory.left_alone or memory.held,
            claimed=claim_of(memory),
        )

    @property
    def goes_on(self) -> NextTransition | None:
        """The end of a wait for a person, a remediator or a clean-up; None: none, or it is unknown."""
        transition = self.outlook.next_transition
        is_by_timer = self.outlook.decision.otherwise is BY_A_CHANGE and self.decided not in _GOES_ON
        return None if self.is_unheard or is_by_timer or transition is BY_A_CHANGE else transition


def as_asked(hold: Hold, memory: Memory) -> Hold:
    """The hold; that of a question to people with its answer or its end."""
    words = approval_words(memory) if hold.reason in _QUESTIONS else ""
    return hold.worded(words) if words else hold


def approval_words(memory: Memory) -> str:
    """The question to people, which does not expire under a hold; "": there is none."""
    approval: Approval | None = memory.approval
    if approval is None:
        return ""
    if memory.held is not None and approval.answer is None and not approval.is_expired:
        approval = approval.model_copy(update={"expires_at": None})
    return approval.words


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The decisions in one state at one moment."""

    cluster: str
    state: StateView
    now: datetime
    observer: Observer
    """Collects what other parts of the leader remember."""
    limits: Limiting
    is_unheard: Callable[[IncidentReference], bool]
    """Returns True for an incident that should be open and has not asked this leader."""
    back_off_limit: timedelta | None = None
    """In place of the limit in force; None: that one."""

    def incident(self, check: CheckReference, target: Target) -> IncidentReference:
        """The incident that this target has, or would have, under this check."""
        metadata = target.metadata
        reference = place_of(check).reference(metadata.name, metadata.uid)
        return IncidentReference(cluster=self.cluster, check=check, target=reference)

    def named(self, check: CheckReference) -> set[str]:
        """The names of the targets of a check that have, or should have, an open incident."""
        unhealthy = self.state.checks[check].unhealthy if check in self.state.checks else set()
        targets = self.state.targets.of(check)
        return {name for name in unhealthy | self.state.requests.targets_of(check) if name in targets}

    def builder(self, incident: IncidentReference) -> ObservationBuilder:
        built = self.observer.over(self.state, incident, self.limits)
        limit = self.back_off_limit
        back_off = built.back_off if limit is None else replace(built.back_off, limit=limit)
        return replace(built, now=self.now, back_off=back_off)

    def decision(self, builder: ObservationBuilder) -> TargetPreview:
        """The decision about the target of an incident, whether the incident is open or not."""
        incident = builder.incident
        check, target = incident.check, incident.target
        memory = as_reported(self.state.progress.of(check, target.name, target.uid))
        observation = builder.observation().held_since(memory.holds, None)
        return TargetPreview(
            incident=incident,
            observation=observation,
            outlook=preview(observation, memory, self.now),
            found=self.state.act_findings.of(check, target.name, target.uid),
            is_unheard=self.is_unheard(incident),
        )

    def holds_of(self, check: CheckReference) -> tuple[Hold, ...]:
        """The holds of a check as a whole, in the order of precedence; its status tells when one began."""
        found = check_holds(
            self.state,
            check,
            self.now,
            unseen=self.observer.freshness(check).unseen,
            allowance=self.state.allowance(check),
            storm=self.observer.storms.hold(check),
        )
        status = self.state.checks[check].record.status if found.found else {}
        holds = (check_hold.hold for check_hold in found.found)
        since = partial(CHECK_KINDS[check.group_kind].held_since, status)
        return tuple(hold.began_at(began) if (began := since(hold.reason)) else hold for hold in holds)

    def explanation(self, check: HealthCheck, target: Target) -> ExplanationAnswer:
        """Why this check, which selects this target, does or does not act on it now."""
        reference, incident = check.reference, self.incident(check.reference, target)
        builder = self.builder(incident)
        decision = self.decision(builder)
        context, memory = self.state.cluster_context, decision.outlook.memory
        verdict = check.verdict(target, self.now, context)
        observation, goes_on = decision.observation, decision.goes_on
        first = decision.hold or decision.outlook.hold or observation.hold
        holds = () if verdict.deadline is None else (first, *builder.holds())
        windows = context.policy.policy.maintenance_windows
        outside = closed(windows, check.choices.maintenance_windows, self.now)
        opened = "open" if windows or check.choices.maintenance_windows else "none"
        usage = self.observer.limits.usage_of(reference)
        return ExplanationAnswer(
            check=str(reference),
            uid=target.metadata.uid,
            incident=incident.workflow_id,
            decision=decision.answer,
            words=decision.outlook.words,
            state=observation.state,
            reason=verdict.reason,
            deadline=verdict.deadline,
            holds=_distinct(as_asked(hold, memory) for hold in holds if hold is not None),
            standing=memory.standing,
            approval=approval_words(memory),
            goes_on=goes_on.what if goes_on else "",
            goes_on_at=goes_on.at if goes_on else None,
            conditions=tuple(self._conditions(check, target)),
            threshold=ThresholdAnswer.of(self.state.allowance(reference)),
            limits=tuple(
                LimitAnswer(limits=str(scope.limits), chosen_by=scope.chosen_by, in_flight=in_flight)
                for scope, in_flight in usage
            ),
            maintenance_windows=opened if outside is None else f"closed: {outside.message}",
            leases=tuple(self._leases(reference, target)),
            back_off=_back_off(builder.back_off),
            steps=tuple(
                step.order_for(incident.target)
                + (
                    f", for at most {in_words(timedelta(seconds=step.timeout_seconds))}"
                    if step.timeout_seconds
                    else ""
                )
                for step in check.steps_for(target)
            ),
            is_shadow=bool(observation.is_shadow),
            begun=min((request.created for request in observation.requests), default=None),
            if_it_failed=self._supposed(check, target) if verdict.deadline is None else None,
        )

    def _conditions(self, check: HealthCheck, target: Target) -> Iterator[ConditionAnswer]:
        """Each rule of the check about the Node, beside the condition that the Node has."""
        node, context = target.node, self.state.cluster_context
        found = {} if node is None else {condition.type: condition for condition in node.status.conditions}
        matches = {match.rule_key: match for match in check.matches(target, context)}
        for rule in check.node_rules:
            condition, match = found.get(rule.type), matches.get((rule.type, rule.status, rule.duration))
            yield ConditionAnswer(
                type=rule.type,
                unhealthy_status=rule.status,
                duration_seconds=rule.duration.total_seconds(),
                status=condition.status if condition else None,
                since=node.since(condition) if node and condition else None,
                deadline=match.deadline if match else None,
                words="; ".join(filter(None, (match.words, match.fact.course))) if match else "",
            )

    def _leases(self, check: CheckReference, target: Target) -> Iterator[LeaseAnswer]:
        for name in dict.fromkeys((own_lease(check, target), lease_of_its_node(target))):
            lease = self.state.leases.get(name)
            if lease is not None and holder_is_valid(lease, self.now):
                yield LeaseAnswer(lease=name, holder=lease.spec.holder_identity or "", until=expiry(lease))

    def _supposed(self, check: HealthCheck, target: Target) -> SupposedAnswer | None:
        """The answer if the Node of this healthy target had failed; None: no condition of a Node decides."""
        if target.node is None or not check.node_rules:
            return None
        reference, rule = check.reference, check.node_rules[0]
        failed = target.with_node(_failed(target.node, rule, self.now))
        state, name = self.state.frozen(reference), target.metadata.name
        state.targets.put(TargetName(*place_of(reference)[:2], name), failed)
        state.checks[reference].see(name, failed, state.cluster_context)
        supposed = replace(self, state=state)
        incident = self.incident(reference, failed)
        builder = supposed.builder(incident)
        first = builder.observation().hold
        holds = (hold for hold in (first, *builder.holds()) if hold is not None)
        return SupposedAnswer(
            condition=f"{rule.type}={rule.status}",
            after_seconds=rule.duration.total_seconds(),
            holds=_distinct(holds),
            threshold=ThresholdAnswer.of(state.allowance(reference)),
        )


def _distinct(holds: Iterable[Hold]) -> tuple[Hold, ...]:
    """The first hold of each reason and message: only the first of all has its beginning."""
    found: dict[tuple[str, str], Hold] = {}
    for hold in holds:
        found.setdefault((hold.reason, hold.message), hold)
    return tuple(found.values())


def _failed(node: Node, rule: UnhealthyCondition, now: datetime) -> Node:
    """The Node with the condition of the rule, since long enough ago to be due now."""
    since = now - rule.duration - _A_MOMENT
    condition = NodeCondition(type=rule.type, status=rule.status, last_transition_time=since)
    others = tuple(condition for condition in node.status.conditions if condition.type != rule.type)
    status = dataclasses.replace(node.status, conditions=(condition, *others))
    return node.model_copy(update={"status": status})


def _back_off(back_off: RemediationBackOff) -> str:
    if not back_off.limit:
        return "off"
    if back_off.unread:
        return back_off.unread
    if back_off.latest is None:
        return "no earlier remediation"
    latest = back_off.latest
    return f"remediation {latest.number} in a row ended {latest.ended:%Y-%m-%d %H:%M:%SZ}"
