"""ObservationBuilder: builds the answer to one incident from the cluster state at one moment.

The first of these that applies decides: kind not handled here, state too old, check gone, invalid or fully
paused, target or its Node undecodable, target gone, target not selected; else the verdict of the check and
the admission. A clock that is off makes every verdict unknown that depends on time.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from detector.answers.storms import Storms
from detector.context.sources_of_checks import CheckFreshness
from detector.limits.remediation_limits import Limiting, LimitQuestion, RemediationLimits, nothing_is_limited
from detector.state.cluster_state import ClusterState
from detector.state.facts import TargetMoment, check_holds
from detector.state.state_view import StateView
from health.check.annotated_hold import answers_on
from health.check.health_check import HealthCheck
from health.check.ordered import is_by_order, order_on, with_allowed_force
from health.check.same_boot import same_boot, what_tells_a_boot
from health.check.template_validity import version_of
from health.cluster.cluster_context import ClusterContext
from health.gate.admission import Question, admission, holds
from health.gate.back_off import NO_BACK_OFF, RemediationBackOff
from health.gate.check_holds import stale_cache
from health.model.incident_result import IN_A_ROW
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import CheckReference, IncidentReference
from health.model.request_snapshot import RequestSnapshot
from health.model.target import Target, TargetName, facts_of_node
from health.model.verdict import Fact, Health
from objects.durations import JUST_AFTER

_STATES = {
    Health.HEALTHY: TargetState.HEALTHY,
    Health.WAITING: TargetState.WAITING,
    Health.EXPIRED: TargetState.EXPIRED,
}


@dataclass(frozen=True, kw_only=True)
class ObservationBuilder:
    """Builds one observation of one incident, from values of one moment."""

    cluster_state: StateView
    incident: IncidentReference
    freshness: CheckFreshness
    now: datetime
    storm: Hold | None = None
    """The storm of the check, if it holds new requests."""
    back_off: RemediationBackOff = NO_BACK_OFF
    """The latest remediation of the target."""
    clock: Hold | None = None
    """Why deadlines cannot be judged; None if the clock is right."""
    limits: Limiting = nothing_is_limited
    """Returns the limit that the remediation would break."""

    def observation(self) -> Observation:
        """The state of the target, whether the incident may act, and what applies to it in any state."""
        receivers = self._context.policy.policy.notifications
        always = {"is_shadow": self._is_shadow, "notifies": tuple(receiver.wanted for receiver in receivers)}
        return self._observation().model_copy(update=always)

    def holds(self) -> tuple[Hold, ...]:
        """Every hold of a selected target now, in the order of precedence."""
        moment = self._moment
        if moment is None:
            return ()
        since, fact = moment.verdict.failed(self.now), moment.verdict.fact
        question = LimitQuestion(incident=self.incident, target=moment.target, since=since, due=self.now)
        return tuple(holds(replace(self._question(moment, fact), limit=self.limits(question))))

    @property
    def _context(self) -> ClusterContext:
        return self.cluster_state.cluster_context

    @cached_property
    def _target(self) -> Target | None:
        """The target with the name of the incident's; it may have another uid."""
        return self.cluster_state.targets.get(self.incident.check, self.incident.target.name)

    @cached_property
    def _moment(self) -> TargetMoment | None:
        """The check with that target; None if one of them is gone, or the check is invalid."""
        check_state, target = self.cluster_state.checks.get(self.incident.check), self._target
        if check_state is None or target is None or check_state.check is None:
            return None
        return TargetMoment(self.cluster_state, check_state.check, target, self.now)

    @property
    def _is_shadow(self) -> bool | None:
        check = self.cluster_state.checks.get(self.incident.check)
        if check is None:  # its annotations went with it
            return self._context.policy.is_shadow or None
        return check.is_shadow_in(self._context)

    def _observation(self) -> Observation:
        if not self.freshness.is_handled:
            message = (
                f"a setting excludes checks of the kind {self.incident.check.kind_name} from this detector"
            )
            return self._unknown(Hold(reason=HoldReason.NOT_HANDLED, message=message))
        hold = stale_cache(self.freshness.unread) or self.freshness.unreachable
        if hold is not None:
            return self._unknown(hold)
        check = self.cluster_state.checks.get(self.incident.check)
        if check is None:
            return self._released(f"{self.incident.check} is gone")
        if check.check is None:
            message = f"{self.incident.check} cannot be read: {check.parsed.problem}"
            return self._unknown(Hold(reason=HoldReason.INVALID_CHECK, message=message))
        pause = check.check.hold_in(self._context)
        if pause is not None and check.check.is_fully_paused_in(self._context):
            paused = self._unknown(pause)
            return paused.model_copy(update={"replaced_by": self._replaced_by(check.check)})
        return self._of_target()

    def _replaced_by(self, check: HealthCheck) -> str:
        """The owner that replaces the target after the check's step; "" if there is none.

        A target that is left to a remediator is not replaced, so its attempts do not count for others.
        """
        target = self._target
        is_same = target is not None and target.metadata.uid == self.incident.target.uid
        return target.replaced_by if target and is_same and check.replaces(target) else ""

    def _of_target(self) -> Observation:
        target, moment = self.incident.target, self._moment
        problem = self.cluster_state.targets.problem(target)
        if problem is not None:
            return self._unknown(Hold(reason=HoldReason.INVALID_TARGET, message=problem))
        if moment is None:
            return self._ended(TargetState.GONE, f"{target} is gone")
        is_selected = moment.check.selects(moment.target)
        if moment.target.metadata.uid != target.uid:
            # Another object with its name is a replacement only if the check selects it (NHC 2.1/12).
            words = "has another uid now"
            if not is_selected:
                words = "is gone; the new object of its name is not selected"
            gone = self._ended(TargetState.GONE, f"{target} {words}")
            return gone.model_copy(update={"is_replaced": is_selected})
        if not is_selected:
            return self._released(f"{self.incident.check} no longer selects {target}")
        return self._judged(moment)

    def _judged(self, moment: TargetMoment) -> Observation:
        unjudged = moment.check.unjudged_in(self._context)
        if unjudged is not None:
            return self._unknown(unjudged)
        if moment.verdict.deadline is None:
            return self._provable(moment, self._healthy(moment.check, moment.target))
        if self._clock is not None:
            return self._unknown(self._clock)
        return self._provable(moment, self._unhealthy(moment, moment.verdict.deadline))

    def _unhealthy(self, moment: TargetMoment, deadline: datetime) -> Observation:
        check, target, verdict = moment.check, moment.target, moment.verdict
        failed, policy = verdict.failed(self.now), self._context.policy.policy
        relapse = check.choices.relapse or timedelta()
        return Observation(
            state=_STATES[verdict.health],
            subject=str(self.incident.target),
            reason="; ".join(filter(None, (verdict.reason, facts_of_node(target).shared_name))),
            remaining_seconds=(max(timedelta(), deadline - self.now) + JUST_AFTER).total_seconds(),
            fact=verdict.fact,
            deadline=deadline,
            counted_from=verdict.counted_from,
            signs_seen=tuple(policy.held_nodes.signs_seen_on(target)),
            hold=self._hold(moment, deadline),
            steps=moment.steps,
            under_way=check.under_way(target),
            is_marked=target.is_marked,
            requests=self._requests,
            lease_acquired_at=moment.lease_acquired_at,
            earlier_attempts=self.back_off.earlier(failed),
            back_off_limit_seconds=self.back_off.limit.total_seconds(),
            relapse_seconds=relapse.total_seconds(),
            is_new=failed - target.metadata.creation_timestamp <= max(IN_A_ROW, relapse),
            generation=check.generation,
            replaced_by=self._replaced_by(check),
            templates=self._templates(moment),
            evidence=check.choices.evidence,
            passed_signs=tuple(work.sign for work in moment.owners.passed),
            answers=answers_on(target, policy),
            order=order_on(check.reference, target),
            # For an order that the incident ends: the target then counts as healthy.
            healthy_delay_seconds=check.healthy_delay.total_seconds() if is_by_order(verdict.fact) else 0,
            approval=moment.required_approval,
            seen_at=self.now,
        )

    def _provable(self, moment: TargetMoment, observation: Observation) -> Observation:
        """`observation` with the values by which the incident proves recovery, if the check asks for proof.

        A healthy target that has not booted may be remediated, so the observation has the values of an
        unhealthy one.
        """
        target = moment.target
        boot = what_tells_a_boot(moment.check, target)
        if not boot or observation.state is not TargetState.HEALTHY:
            return observation.model_copy(update=boot)
        unproven = {
            "subject": str(self.incident.target),
            "reason": "; ".join(filter(None, ("healthy", facts_of_node(target).shared_name))),
            "fact": same_boot(moment.check, target),
            # The incident waits by itself if the request or mark of its last step was removed.
            "hold": self._clock or admission(self._question(moment, None)),
            "steps": moment.steps,
            "lease_acquired_at": moment.lease_acquired_at,
            "back_off_limit_seconds": self.back_off.limit.total_seconds(),
            "templates": self._templates(moment),
            "approval": moment.required_approval,
            "answers": answers_on(target, self._context.policy.policy),
            "passed_signs": tuple(work.sign for work in moment.owners.passed),
        }
        return observation.model_copy(update=boot | unproven)

    def _hold(self, moment: TargetMoment, deadline: datetime) -> Hold | None:
        """Why it may not act; limits are checked only if at most back-off holds the next remediation."""
        target, verdict = moment.target, moment.verdict
        question = self._question(moment, verdict.fact)
        hold = admission(question)
        is_under_way = self._requests or target.is_marked or moment.check.under_way(target)
        if is_under_way or self._is_shadow or (hold is not None and hold.reason is not HoldReason.BACK_OFF):
            return hold
        limit_question = LimitQuestion(
            incident=self.incident,
            target=target,
            since=verdict.failed(self.now),
            due=deadline if hold is None else self.now + timedelta(seconds=hold.ask_again_seconds),
            may_skip_its_wait=hold is not None,
        )
        limit = self.limits(limit_question)
        return hold if limit is None else admission(replace(question, limit=limit))

    def _templates(self, moment: TargetMoment) -> str:
        return version_of([step.template for step in moment.steps], self.cluster_state.template_kinds)

    def _question(self, moment: TargetMoment, fact: Fact | None) -> Question:
        """The question to the gate; `fact` is None for a healthy target."""
        check, target = moment.check.reference, moment.target
        order = order_on(check, target) if is_by_order(fact) else None
        is_under_way = bool(self._requests) or target.is_marked
        return Question(
            of_check=check_holds(
                self.cluster_state,
                check,
                self.now,
                target=target,
                unseen=self.freshness.inputs,
                allowance=self.cluster_state.allowance(check),
                storm=self.storm,
            ),
            target=moment.facts,
            order=order and with_allowed_force(order, self._context.policy.policy),
            back_off=self.back_off.hold(fact.since, self.now, is_under_way=is_under_way) if fact else None,
        )

    @property
    def _clock(self) -> Hold | None:
        return self.clock or self.freshness.clock

    @cached_property
    def _requests(self) -> tuple[RequestSnapshot, ...]:
        return tuple(entry.snapshot for entry in self.cluster_state.own_requests(self.incident))

    def _healthy(self, check: HealthCheck, target: Target) -> Observation:
        return Observation(
            state=TargetState.HEALTHY,
            reason=f"{self.incident.target} is healthy",
            requests=self._requests,
            healthy_delay_seconds=check.healthy_delay.total_seconds(),
            counts_as_healthy=check.counts_as_healthy(target, self._context),
            # For a deletion without an answer: a deleted Machine is not unhealthy once its Node is gone.
            under_way=check.under_way(target),
            is_marked=target.is_marked,
            is_confirmed=target.is_confirmed_healthy,
            generation=check.generation,
            order=order_on(check.reference, target),
            seen_at=self.now,
        )

    def _ended(self, state: TargetState, reason: str) -> Observation:
        return Observation(state=state, reason=reason, requests=self._requests, seen_at=self.now)

    def _released(self, reason: str) -> Observation:
        """The answer if the check does not select the target, whose order is then removed."""
        target = self._target
        is_same = target is not None and target.metadata.uid == self.incident.target.uid
        order = order_on(self.incident.check, target) if target is not None and is_same else None
        return self._ended(TargetState.RELEASED, reason).model_copy(update={"order": order})

    def _unknown(self, hold: Hold) -> Observation:
        return Observation(
            state=TargetState.UNKNOWN,
            reason=str(self.incident.target),
            hold=hold,
            requests=self._requests,
            seen_at=self.now,
        )


@dataclass(frozen=True, kw_only=True)
class Observer:
    """Collects the values of one moment from the parts of a detector, and builds the observation."""

    cluster_state: ClusterState
    freshness: Callable[[CheckReference], CheckFreshness]
    storms: Storms
    back_off: Callable[[TargetName, Target | None], RemediationBackOff]
    clock_hold: Callable[[], Hold | None]
    limits: RemediationLimits
    now: Callable[[], datetime]

    def observe(self, incident: IncidentReference) -> Observation:
        """The observation of one incident now; first brings the storm of its check up to date."""
        self.storms.advance(incident.check)
        with self._queued(incident) as limits:
            return self.over(self.cluster_state, incident, limits).observation()

    def over(self, state: StateView, incident: IncidentReference, limits: Limiting) -> ObservationBuilder:
        """The builder for one incident by `state`, which may be a copy; changes nothing."""
        check, target = incident.check, incident.target
        observed_target = state.targets.get(check, target.name)
        return ObservationBuilder(
            cluster_state=state,
            incident=incident,
            freshness=self.freshness(check),
            now=self.now(),
            storm=self.storms.hold(check),
            back_off=self.back_off(TargetName.of(target), observed_target),
            clock=self.clock_hold(),
            limits=limits,
        )

    @contextmanager
    def _queued(self, incident: IncidentReference) -> Iterator[Limiting]:
        """The limits to check; an incident for which they are not checked leaves the queue."""
        is_asked = False

        def enqueue(question: LimitQuestion) -> Hold | None:
            nonlocal is_asked
            is_asked = True
            return self.limits.enqueue(question)

        try:
            yield enqueue
        finally:
            if not is_asked:
                self.limits.dequeue(incident)
