"""ObservationBuilder: builds the answer to one incident from the cluster state at one time.

The first of these that applies decides: kind not handled here, state too old, check gone, invalid or fully
paused, target or its Node undecodable, target gone, target not selected; else the verdict of the check and
the admission. A clock that is off makes every verdict unknown that depends on time.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from detector.answers.judged_target import JudgedTarget
from detector.answers.storms import Storms
from detector.context.sources_of_checks import CheckFreshness
from detector.limits.remediation_limits import Limiting, LimitQuestion, RemediationLimits, nothing_is_limited
from detector.state.cluster_state import ClusterState
from detector.state.state_view import StateView
from health.check.annotated_hold import answers_on
from health.check.ordered import is_by_order, order_on
from health.check.same_boot import same_boot, what_tells_a_boot
from health.gate.admission import admission, holds
from health.gate.back_off import NO_BACK_OFF, RemediationBackOff
from health.gate.check_holds import stale_cache
from health.model.incident_result import IN_A_ROW
from health.model.node import facts_of_node
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import CheckReference, IncidentReference
from health.model.remediation_order import RemediationOrder
from health.model.request_snapshot import RequestSnapshot
from health.model.target import Target, TargetName
from health.model.verdict import Health
from objects.durations import JUST_AFTER


@dataclass(frozen=True, kw_only=True)
class ObservationBuilder:
    """Builds one observation of one incident, from values of one time."""

    cluster_state: StateView
    incident: IncidentReference
    freshness: CheckFreshness
    now: datetime
    storm: Hold | None = None
    """The storm of the check, if it holds new requests."""
    back_off: RemediationBackOff = NO_BACK_OFF
    """The latest remediation of the target."""
    limits: Limiting = nothing_is_limited
    """Returns the limit that the remediation would break."""

    @cached_property
    def judged(self) -> JudgedTarget | None:
        """The target with the name of the incident's; it may have another uid, and may not be selected.

        None if it or the check is gone, or if the check is invalid.
        """
        check, name = self.incident.check, self.incident.target.name
        entry, target = self.cluster_state.checks.get(check), self.cluster_state.targets.get(check, name)
        if entry is None or target is None or entry.check is None:
            return None
        return JudgedTarget(
            self.cluster_state,
            entry.check,
            target,
            self.now,
            unseen=self.freshness.inputs,
            storm=self.storm,
            back_off=self.back_off,
        )

    def holds(self) -> tuple[Hold, ...]:
        """Every hold of a selected target now, in the order of precedence."""
        judged = self.judged
        if judged is None:
            return ()
        since = judged.verdict.failed(self.now)
        question = LimitQuestion(incident=self.incident, target=judged.target, since=since, due=self.now)
        return tuple(holds(replace(judged.question, limit=self.limits(question))))

    def observation(self) -> Observation:
        """The state of the target, whether the incident may act, and what applies to it in any state."""
        receivers = self.cluster_state.cluster_context.policy.policy.notifications
        return self._of_check().seen(
            self.now,
            requests=self._requests,
            is_shadow=self._is_shadow,
            notifies=tuple(receiver.wanted for receiver in receivers),
        )

    def _of_check(self) -> Observation:
        check, context = self.incident.check, self.cluster_state.cluster_context
        if not self.freshness.is_handled:
            message = f"a setting excludes checks of the kind {check.kind_name} from this detector"
            return self._unknown(Hold(reason=HoldReason.NOT_HANDLED, message=message))
        hold = stale_cache(self.freshness.unread) or self.freshness.unreachable
        if hold is not None:
            return self._unknown(hold)
        entry = self.cluster_state.checks.get(check)
        if entry is None:
            return Observation(state=TargetState.RELEASED, reason=f"{check} is gone", order=self._order)
        if entry.check is None:
            message = f"{check} cannot be read: {entry.parsed.problem}"
            return self._unknown(Hold(reason=HoldReason.INVALID_CHECK, message=message))
        pause = entry.check.hold_in(context)
        if pause is not None and entry.check.is_fully_paused_in(context):
            return self._unknown(pause, replaced_by=self._replaced_by)
        return self._of_target()

    def _of_target(self) -> Observation:
        target, judged = self.incident.target, self.judged
        problem = self.cluster_state.targets.problem(target)
        if problem is not None:
            return self._unknown(Hold(reason=HoldReason.INVALID_TARGET, message=problem))
        if judged is None:
            return Observation(state=TargetState.GONE, reason=f"{target} is gone")
        is_selected = judged.check.selects(judged.target)
        if judged.target.metadata.uid != target.uid:
            # Another object with its name is a replacement only if the check selects it (NHC 2.1/12).
            words = "has another uid now"
            if not is_selected:
                words = "is gone; the new object of its name is not selected"
            reason = f"{target} {words}"
            return Observation(state=TargetState.GONE, reason=reason, is_replaced=is_selected)
        if not is_selected:
            reason = f"{self.incident.check} no longer selects {target}"
            return Observation(state=TargetState.RELEASED, reason=reason, order=self._order)
        unjudged = judged.check.unjudged_in(self.cluster_state.cluster_context)
        if unjudged is not None:
            return self._unknown(unjudged)
        if judged.verdict.deadline is None:
            return self._healthy(judged)
        if self.freshness.clock is not None:
            return self._unknown(self.freshness.clock)
        return self._unhealthy(judged, judged.verdict.deadline)

    def _unknown(self, hold: Hold, *, replaced_by: str = "") -> Observation:
        reason = str(self.incident.target)
        return Observation(state=TargetState.UNKNOWN, reason=reason, hold=hold, replaced_by=replaced_by)

    def _unhealthy(self, judged: JudgedTarget, deadline: datetime) -> Observation:
        check, target, verdict = judged.check, judged.target, judged.verdict
        failed, policy = verdict.failed(self.now), self.cluster_state.cluster_context.policy.policy
        relapse = check.choices.relapse or timedelta()
        return Observation(
            state=TargetState.EXPIRED if verdict.health is Health.EXPIRED else TargetState.WAITING,
            subject=str(self.incident.target),
            reason="; ".join(filter(None, (verdict.reason, facts_of_node(target).shared_name))),
            remaining_seconds=(max(timedelta(), deadline - self.now) + JUST_AFTER).total_seconds(),
            fact=verdict.fact,
            deadline=deadline,
            counted_from=verdict.counted_from,
            signs_seen=tuple(policy.held_nodes.signs_seen_on(target)),
            hold=self._hold(judged, deadline),
            steps=judged.steps,
            under_way=check.under_way(target),
            is_marked=target.is_marked,
            lease_acquired_at=judged.lease_acquired_at,
            earlier_attempts=self.back_off.earlier(failed),
            back_off_limit_seconds=self.back_off.limit.total_seconds(),
            relapse_seconds=relapse.total_seconds(),
            is_new=failed - target.metadata.creation_timestamp <= max(IN_A_ROW, relapse),
            generation=check.generation,
            replaced_by=self._replaced_by,
            templates=judged.templates,
            evidence=check.choices.evidence,
            passed_signs=tuple(work.sign for work in judged.owners.passed),
            answers=answers_on(target, policy),
            order=order_on(check.reference, target),
            # For an order that the incident ends: the target then counts as healthy.
            healthy_delay_seconds=check.healthy_delay.total_seconds() if is_by_order(verdict.fact) else 0,
            approval=judged.required_approval,
            **what_tells_a_boot(check, target),
        )

    def _hold(self, judged: JudgedTarget, deadline: datetime) -> Hold | None:
        """Why it may not act; limits are checked only if at most back-off holds the next remediation."""
        target, hold = judged.target, admission(judged.question)
        is_under_way = self._requests or target.is_marked or judged.check.under_way(target)
        if is_under_way or self._is_shadow or (hold is not None and hold.reason is not HoldReason.BACK_OFF):
            return hold
        question = LimitQuestion(
            incident=self.incident,
            target=target,
            since=judged.verdict.failed(self.now),
            due=deadline if hold is None else self.now + timedelta(seconds=hold.ask_again_seconds),
            may_skip_its_wait=hold is not None,
        )
        limit = self.limits(question)
        return hold if limit is None else admission(replace(judged.question, limit=limit))

    def _healthy(self, judged: JudgedTarget) -> Observation:
        check, target, context = judged.check, judged.target, self.cluster_state.cluster_context
        boot = what_tells_a_boot(check, target)
        observation = Observation(
            state=TargetState.HEALTHY,
            reason=f"{self.incident.target} is healthy",
            healthy_delay_seconds=check.healthy_delay.total_seconds(),
            counts_as_healthy=check.counts_as_healthy(target, context),
            # For a deletion without an answer: a deleted Machine is not unhealthy once its Node is gone.
            under_way=check.under_way(target),
            is_marked=target.is_marked,
            is_confirmed=target.is_confirmed_healthy,
            generation=check.generation,
            order=order_on(check.reference, target),
            **boot,
        )
        if not boot:
            return observation
        # A healthy target that has to prove a new boot may be remediated, so the incident learns the values
        # of an unhealthy one. It waits by itself if the request or mark of its last step was removed.
        unproven = {
            "subject": str(self.incident.target),
            "reason": "; ".join(filter(None, ("healthy", facts_of_node(target).shared_name))),
            "fact": same_boot(check, target),
            "hold": self.freshness.clock or admission(judged.question),
            "steps": judged.steps,
            "lease_acquired_at": judged.lease_acquired_at,
            "back_off_limit_seconds": self.back_off.limit.total_seconds(),
            "templates": judged.templates,
            "approval": judged.required_approval,
            "answers": answers_on(target, context.policy.policy),
            "passed_signs": tuple(work.sign for work in judged.owners.passed),
        }
        return observation.model_copy(update=unproven)

    @cached_property
    def _requests(self) -> tuple[RequestSnapshot, ...]:
        return tuple(entry.snapshot for entry in self.cluster_state.own_requests(self.incident))

    @property
    def _is_shadow(self) -> bool | None:
        context = self.cluster_state.cluster_context
        check = self.cluster_state.checks.get(self.incident.check)
        if check is None:  # its annotations went with it
            return context.policy.is_shadow or None
        return check.is_shadow_in(context)

    @property
    def _own_target(self) -> Target | None:
        """The target of the incident; None if it is gone, or another object has its name."""
        target = self.cluster_state.targets.get(self.incident.check, self.incident.target.name)
        return target if target is not None and target.metadata.uid == self.incident.target.uid else None

    @property
    def _order(self) -> RemediationOrder | None:
        """The order on the target, which is removed when the check does not select it."""
        target = self._own_target
        return None if target is None else order_on(self.incident.check, target)

    @property
    def _replaced_by(self) -> str:
        """The owner that replaces the target after the check's step; "" if there is none.

        A target that is left to a remediator is not replaced, so its attempts do not count for others.
        """
        target, judged = self._own_target, self.judged
        return target.replaced_by if target and judged and judged.check.replaces(target) else ""


@dataclass(frozen=True, kw_only=True)
class Observer:
    """Collects the values of one time from the parts of a detector, and builds the observation."""

    cluster_state: ClusterState
    freshness: Callable[[CheckReference], CheckFreshness]
    storms: Storms
    back_off: Callable[[TargetName, Target | None], RemediationBackOff]
    limits: RemediationLimits
    now: Callable[[], datetime]

    def observe(self, incident: IncidentReference) -> Observation:
        """The observation of one incident now; first brings the storm of its check up to date.

        An incident for which no limit is checked leaves the queue.
        """
        self.storms.advance(incident.check)
        is_asked = False

        def enqueue(question: LimitQuestion) -> Hold | None:
            nonlocal is_asked
            is_asked = True
            return self.limits.enqueue(question)

        try:
            return self.over(self.cluster_state, incident, enqueue).observation()
        finally:
            if not is_asked:
                self.limits.dequeue(incident)

    def over(self, state: StateView, incident: IncidentReference, limits: Limiting) -> ObservationBuilder:
        """The builder for one incident by `state`, which may be a copy; changes nothing."""
        check, target = incident.check, incident.target
        return ObservationBuilder(
            cluster_state=state,
            incident=incident,
            freshness=self.freshness(check),
            now=self.now(),
            storm=self.storms.hold(check),
            back_off=self.back_off(TargetName.of(target), state.targets.get(check, target.name)),
            limits=limits,
        )
