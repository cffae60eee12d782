"""ExplanationView: the explanation of one target as values; its JSON is documented in docs/cli-json.md."""

from datetime import datetime, timedelta
from typing import Self

from pydantic import Field

from cli.incidents.order_lines import order_lines
from cli.inspection.decision_view import DecisionView, approval_words, as_known
from cli.shared.ages import in_time
from detector.inspection.decisions import Decided, TargetDecision, is_by_the_policy
from detector.inspection.explanation import ConditionReading, Explanation, Supposed
from health.check.threshold import Allowance
from health.gate.back_off import RemediationBackOff
from health.model.moves import BY_A_CHANGE
from health.model.observation import Hold
from health.model.order import OrderRecord
from health.runbook.state import Memory
from objects.durations import in_words
from objects.frozen import Frozen


class HoldView(Frozen):
    """One hold, without the time after which the incident asks again."""

    reason: str
    message: str

    @classmethod
    def of(cls, hold: Hold) -> Self:
        return cls(reason=hold.reason, message=hold.message)

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class ConditionView(Frozen):
    """One rule about a condition of the Node, and the condition that the Node has."""

    type: str
    unhealthy_status: str
    duration_seconds: float
    status: str | None
    """None: the Node lacks the condition."""
    since: datetime | None
    deadline: datetime | None
    """When the rule makes the target due; None while it does not match."""
    words: str
    """If it matches: since when, by whose clock, and what restarted its timer how often."""

    @classmethod
    def of(cls, reading: ConditionReading) -> Self:
        found, rule, match = reading.found, reading.rule, reading.match
        course = match.fact.course if match else ""
        return cls(
            type=rule.type,
            unhealthy_status=rule.status,
            duration_seconds=rule.duration.total_seconds(),
            status=found.status if found else None,
            since=reading.since,
            deadline=match.deadline if match else None,
            words="; ".join(part for part in (match.words, course) if part) if match else "",
        )


class ThresholdView(Frozen):
    """The numbers of a threshold, and whether it allows a remediation."""

    is_allowed: bool
    total: int
    healthy: int
    words: str

    @classmethod
    def of(cls, allowance: Allowance) -> Self:
        return cls(
            is_allowed=allowance.allowed,
            total=allowance.total,
            healthy=allowance.healthy,
            words=allowance.words,
        )


class LimitsView(Frozen):
    """The limits of one scope, with the remediations in flight that count."""

    limits: str
    chosen_by: str
    in_flight: int


class HolderView(Frozen):
    """The holder of a Lease of the target."""

    lease: str
    holder: str
    until: datetime | None


class SupposedView(Frozen):
    """The answer for a healthy target, if its Node had failed long enough ago."""

    condition: str
    after_seconds: float
    holds: tuple[HoldView, ...]
    threshold: ThresholdView | None

    @classmethod
    def of(cls, supposed: Supposed, *, is_policy_unknown: bool) -> Self:
        first, others = supposed.observation.hold, supposed.holds
        return cls(
            condition=f"{supposed.rule.type}={supposed.rule.status}",
            after_seconds=supposed.rule.duration.total_seconds(),
            holds=_holds(first, others, is_policy_unknown=is_policy_unknown),
            threshold=ThresholdView.of(supposed.allowance) if supposed.allowance else None,
        )


class ExplanationView(Frozen):
    """Everything that decides about one target under one check, at one moment."""

    check: str
    target: str
    uid: str
    decided: Decided
    message: str
    """The order, the hold or the condition that decides, in words."""
    words: str = Field(exclude=True)
    """The difference from other incidents, in the words of the workflow."""
    state: str
    """The state of the target as the incident would be answered."""
    reason: str
    deadline: datetime | None
    holds: tuple[HoldView, ...]
    """Those of check and target, in the order of precedence."""
    standing: tuple[OrderRecord, ...]
    order_lines: tuple[tuple[str, str], ...] = Field(exclude=True)
    """The orders of people that stand or wait, each as a label and words."""
    approval: str
    """The question to people about the next step, or its answer; "": there is none."""
    goes_on: str
    """The end of a wait for a person, a remediator or a clean-up; "": there is no such wait."""
    conditions: tuple[ConditionView, ...]
    threshold: ThresholdView | None
    limits: tuple[LimitsView, ...]
    maintenance_windows: str
    leases: tuple[HolderView, ...]
    back_off: str
    steps: tuple[str, ...]
    requests: tuple[str, ...]
    is_shadow: bool | None
    """None: by the policy, which is unknown."""
    is_policy_unknown: bool = Field(default=False, exclude=True)
    begun: datetime | None = Field(default=None, exclude=True)
    """When the first request was created that exists; None: there is none."""
    is_held_by_person: bool = Field(default=False, exclude=True)
    incident: str
    """The workflow id of its incident, whether there is one or not."""
    if_it_failed: SupposedView | None

    @classmethod
    def of(cls, found: Explanation, now: datetime) -> Self:
        observation, target = found.decision.observation, found.incident.target
        decision, outlook = DecisionView.of(found.decision, now), found.decision.outlook
        memory, is_policy_unknown = outlook.memory, found.decision.is_policy_unknown
        return cls(
            check=str(found.incident.check),
            target=str(target),
            uid=target.uid,
            decided=decision.decided,
            message=decision.message,
            words=outlook.words,
            standing=memory.standing,
            order_lines=tuple(order_lines(memory.standing, memory.orders, now)),
            approval=approval_words(memory),
            goes_on=goes_on(found.decision, now),
            state=observation.state,
            reason=found.verdict.reason,
            deadline=found.verdict.deadline,
            holds=_holds_now(found),
            conditions=tuple(map(ConditionView.of, found.conditions)),
            threshold=ThresholdView.of(found.allowance) if found.allowance else None,
            limits=tuple(
                LimitsView(limits=limit.limits, chosen_by=limit.chosen_by, in_flight=limit.in_flight)
                for limit in found.limits
            ),
            maintenance_windows=_windows(found),
            leases=tuple(
                HolderView(lease=holder.lease, holder=holder.identity, until=holder.until)
                for holder in found.holders
            ),
            back_off=_back_off(found.back_off),
            steps=tuple(_step(found)),
            requests=decision.requests,
            is_shadow=found.is_shadow,
            incident=found.incident.workflow_id,
            is_policy_unknown=is_policy_unknown,
            begun=min((request.created for request in observation.requests), default=None),
            is_held_by_person=decision.ordered is not None,
            if_it_failed=SupposedView.of(found.supposed, is_policy_unknown=is_policy_unknown)
            if found.supposed
            else None,
        )


def _holds_now(found: Explanation) -> tuple[HoldView, ...]:
    decision = found.decision
    outlook, is_policy_unknown = decision.outlook, decision.is_policy_unknown
    if found.is_healthy:
        return ()
    first = outlook.hold or decision.observation.hold
    return _holds(first, found.holds, is_policy_unknown=is_policy_unknown, memory=outlook.memory)


NEW = Memory()
_GOES_ON = frozenset({Decided.REMEDIATING, Decided.CLEANING_UP, Decided.EXHAUSTED})
"""A timer alone ends these waits too; `Decision` has the end of any other."""


def goes_on(decision: TargetDecision, now: datetime) -> str:
    outlook = decision.outlook
    transition = outlook.next_transition
    is_by_timer = outlook.decision.otherwise is BY_A_CHANGE and decision.decided not in _GOES_ON
    if decision.unknown or is_by_timer or transition is BY_A_CHANGE:
        return ""
    return f"{in_time(transition.at, now)}: {transition.what}" if transition.at else transition.what


def _holds(
    first: Hold | None, all_holds: tuple[Hold, ...], *, is_policy_unknown: bool, memory: Memory = NEW
) -> tuple[HoldView, ...]:
    """The hold that the incident is answered with, and the others that would hold it after that one.

    The detector knows the question to people as it was last asked; `memory` knows what became of it.
    """
    found = [as_known(hold, memory) for hold in (first, *all_holds) if hold is not None]
    known = (hold for hold in found if not (is_policy_unknown and is_by_the_policy(hold)))
    return tuple(dict.fromkeys(map(HoldView.of, known)))


def _windows(found: Explanation) -> str:
    if found.decision.is_policy_unknown:
        return "unknown"
    if not found.has_windows:
        return "none"
    return f"closed: {found.windows}" if found.windows else "open"


def _back_off(back_off: RemediationBackOff) -> str:
    if not back_off.limit:
        return "off"
    if back_off.unread:
        return back_off.unread
    if back_off.latest is None:
        return "no earlier remediation"
    latest = back_off.latest
    return f"remediation {latest.number} in a row ended {latest.ended:%Y-%m-%d %H:%M:%SZ}"


def _step(found: Explanation) -> list[str]:
    target = found.incident.target
    return [
        step.order_for(target)
        + (
            f", for at most {in_words(timedelta(seconds=step.timeout_seconds))}"
            if step.timeout_seconds
            else ""
        )
        for step in found.steps
    ]
