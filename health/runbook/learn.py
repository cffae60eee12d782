"""Learn: how an answer of the detector changes the memory of an incident. Pure.

Objects of the incident in the cluster are remembered and cleaned up, whether or not this run made them. The
same observation a second time adds nothing.

Recovery: the target is healthy since the incident first saw it so, with the same boot ID and the same time of
the latest transition of a relevant condition. A change of either is a gap, whether or not the incident saw
the unhealthy state. The kubelet's timestamps only reveal gaps and measure no time, because the clock of a
machine that has just booted may be off.

A remediation by order (ADR 51): a boot of the Node fulfils the order, and the detector then sees the target
healthy. The incident ends the order earlier, by the first row that matches; an ended order stays ended, and
the clean-up removes it from the target. A target that conditions call unhealthy is remediated as any other.

| state                                             | the order                          |
|---------------------------------------------------|------------------------------------|
| `abort` stands                                    | is over                            |
| the order has expired, or begins in the future    | is over                            |
| a request made since the order reports success    | is over, whether or not it booted  |

Relapse (rule 64): with `paramedic.dev/relapse` a failure that comes back within that time goes on with the
step after those that the earlier remediation took; a relapse of a relapse with the step after that one. A
step counts as taken if the check still lists its template. The failure lasts until the target is healthy,
whatever its condition is meanwhile. With no step left it is exhausted after its duration, and counts as a
remediation once the target recovers. An order to remediate is no failure, and begins with the first step; so
does the failure after an abort. A classic remediation has one step, and no relapse. Without the annotation,
remediations that take the same first steps alone are counted, and said from the third one on.

Shadow (ADR 31): a step is recorded instead of taken. Actions of others, above all of the present controller,
are recorded and not adopted. Steps of an earlier shadow do not count in a later one.

Approvals: the incident asks for one step of one failure. The question, and so its answer, is over when that
step was taken, the target recovers or fails in another way, another step is next, the check needs no approval
any more, or in shadow. It is also over after an edit of the check or of the template, and an approval after
the time that an answer has, an hour by default: the incident asks again. The time for an answer runs only
while nothing else holds the step, and starts again after each other hold, so no default acts when a freeze
ends. The default of the check answers a question that expired, unless a person's order blocks steps then. An
edit of the check that extends the time of an expired question opens it again. A rejected step is not taken
until `resume`, which asks again, or until the failure is over. `resume --step` begins with another step.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from health.check.ordered import is_by_order
from health.model.approval import Approval, ApprovalAnswer, ApprovalDefault
from health.model.incident_result import (
    IN_A_ROW,
    MOST_RECORDS,
    RequestRecord,
    ShadowRecord,
    ShadowStep,
    recorded,
)
from health.model.observation import ENDED, HoldReason, Observation, TargetState
from health.model.order import OrderRecord
from health.model.references import Action
from health.model.verdict import CountedFact
from health.runbook.escalation import Plan, is_classic, lease_duration, meant_by
from health.runbook.incident import with_proof, without_others
from health.runbook.memory_parts import Disruption, LeaseState, RecoveryMemory
from health.runbook.orders import APPROVE, REJECT, REMEDIATE, obeyed
from health.runbook.state import Memory
from health.runbook.step_orders import with_answer
from objects.durations import in_words

_SEEN = frozenset({TargetState.HEALTHY, TargetState.WAITING, TargetState.EXPIRED})
"""States that come from looking at the target itself."""
BY_DEFAULT = "paramedic.dev/approval-default"
"""The identity of an order that the annotation of the check gave."""
_DEFAULTS: Mapping[str, ApprovalAnswer] = {
    ApprovalDefault.APPROVE: ApprovalAnswer.APPROVED,
    ApprovalDefault.REJECT: ApprovalAnswer.REJECTED,
}


def learned(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The memory after an observation; the order of the stages matters."""
    # Shadow begins or ends; an unknown state of it changes nothing.
    if observation.is_shadow is not None and observation.is_shadow != memory.is_shadow:
        memory = replace(_with_new_shadow(memory), is_shadow=observation.is_shadow)
    # The target as it is.
    delays = memory.delays.observed(
        observation,
        now,
        is_blocked=memory.is_blocked,
        is_before_the_first_step=memory.is_before_the_first_step,
    )
    recovery = _recovery(memory.recovery, observation, now)
    memory = replace(
        memory,
        recovery=recovery,
        delays=delays,
        counted=_counted(memory, observation),
        holds=observation.holds_after(memory.holds),
    )
    # In shadow the incident records the acts of others without adopting them.
    if memory.is_shadow:
        memory = _with_acts_of_others(memory, observation, now)
        if memory.starts_over and not memory.owns_something:
            memory = _with_new_shadow(memory)
        observation = without_others(observation, memory)
    # The order to remediate, and the boot before the first step, decide how the target counts.
    memory = _with_order_on_target(memory, observation, now)
    memory = _with_boot_before(memory, observation)
    observation = with_proof(observation, memory)
    # The acts of this incident, whether or not it knows their results.
    memory = _with_lost_deletion(memory, observation, now)
    memory = _with_mark(memory, observation, now)
    memory = _with_requests(memory, observation, now)
    memory = _with_findings(memory, observation)
    # The orders of people, and the steps that are left after them.
    memory = obeyed(memory, observation, now)
    memory = _with_steps(memory, observation, now)
    memory = _started_over(memory, observation)
    memory = _with_relapse(memory, observation)
    memory = _with_approval(memory, observation, now)
    if observation.state is TargetState.UNKNOWN:
        return memory
    is_tried = observation.state not in ENDED and bool(observation.requests or memory.tried)
    is_exhausted = memory.plan(observation).progress(observation.requests, now).is_exhausted
    waits = waits_in_relapse(memory, observation)
    return replace(memory, is_exhausted=is_tried and not waits and is_exhausted)


def _recovery(before: RecoveryMemory, observation: Observation, now: datetime) -> RecoveryMemory:
    """The health of the target; an unknown state changes nothing."""
    if observation.state is TargetState.UNKNOWN:
        return before
    if observation.state is not TargetState.HEALTHY:
        gone = now if observation.state is TargetState.GONE else None
        return replace(before, healthy_since=None, boot_id=None, last_transition=None, gone_at=gone)
    boot, transition = observation.boot_id or None, observation.last_transition
    if before.healthy_since is not None and (before.boot_id, before.last_transition) == (boot, transition):
        return before
    return replace(before, healthy_since=now, boot_id=boot, last_transition=transition)


def _counted(memory: Memory, observation: Observation) -> CountedFact | None:
    """The failure that the next detector goes on counting; an unknown state says nothing about it."""
    if observation.state is TargetState.UNKNOWN:
        return memory.counted
    fact, counted_from = observation.fact, observation.counted_from
    if fact is None or counted_from is None or observation.seen_at is None:
        return None
    signs = observation.signs_seen
    return CountedFact(fact=fact, counted_from=counted_from, as_of=observation.seen_at, signs=signs)


def _with_new_shadow(memory: Memory) -> Memory:
    """The same without recorded steps that count as taken."""
    before = memory.shadow
    shadow = ShadowRecord(steps=before.steps, spent=len(before.steps), others=before.others)
    return replace(memory, shadow=shadow)


def _with_acts_of_others(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The same with the current actions of others: each request, and a deletion or mark in progress."""
    own = {request.uid for request in memory.requests}
    requests = [request for request in observation.requests if request.uid not in own]
    others, under_way = recorded(memory.shadow.others, requests, (), now), observation.under_way
    if under_way and not memory.has_acted:
        started = next((other.started for other in others if other.uid == under_way), now)
        new = RequestRecord(request=under_way, uid=under_way, template="", started=started)
        others = (*(other for other in others if other.uid != under_way), new)[-MOST_RECORDS:]
    before = memory.shadow
    return replace(memory, shadow=ShadowRecord(steps=before.steps, spent=before.spent, others=others))


def with_recorded_step(memory: Memory, number: int, observation: Observation, now: datetime) -> Memory:
    """The memory in shadow once the step with that index would have been taken."""
    step, record = observation.steps[number], memory.shadow
    new = ShadowStep(
        number=number + 1, action=step.action, template=step.template, at=now, why=observation.reason
    )
    kept = (*record.steps, new)[-MOST_RECORDS:]
    forgotten = len(record.steps) + 1 - len(kept)
    shadow = ShadowRecord(steps=kept, spent=max(0, record.spent - forgotten), others=record.others)
    return replace(memory, shadow=shadow, skips_back_off=False)


def _with_order_on_target(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The same with the order to remediate, recorded once, and with its end."""
    order = observation.order
    if order is None:
        return memory
    if memory.order is None or memory.order.given != order.given:
        record = OrderRecord(
            order=REMEDIATE,
            reason=order.reason,
            identity=order.identity,
            given=order.given,
            until=order.until,
            is_forced=order.is_forced,
        )
        memory = replace(memory.with_order(record, stands=False), order=order, order_ended=None)
    ended, since = memory.order_ended, order.given.replace(microsecond=0)
    if ended is None and memory.left_alone is not None:
        ended = "a person aborted it"
    ended = ended or order.why_over(now) or None
    if any(request.succeeded and request.created >= since for request in observation.requests):
        ended = ended or "its remediator reports success"
    return replace(memory, order_ended=ended)


def _with_boot_before(memory: Memory, observation: Observation) -> Memory:
    """The same with the boot ID of the oldest request.

    A request that was just cleaned up may still be visible, and is ignored.
    """
    made = [
        request
        for request in observation.requests
        if not request.is_being_deleted and request.uid not in memory.cleaned_up
    ]
    first = min(made, key=lambda request: request.created, default=None)
    if first is None:
        return memory
    recovery = memory.recovery.begun(first.boot_id, is_first=memory.is_before_the_first_step)
    return replace(memory, recovery=recovery)


def _with_lost_deletion(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """A deletion that was ordered and whose answer was lost was ours if the target disappears."""
    is_gone = observation.state is TargetState.GONE and not observation.is_replaced
    if not memory.disruption.may_have_deleted or not (observation.under_way or is_gone):
        return memory
    deletion, attempt = Disruption(action=Action.DELETE, at=now), memory.attempt_of(observation)
    return replace(memory, has_acted=True, disruption=deletion, attempt=attempt)


def _with_mark(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """Any mark counts as ours (rule 39); its removal while the target is unhealthy ends an attempt.

    The incident that set it may not know, because the answer of an act is lost when its worker dies.
    """
    if observation.is_marked == memory.is_marked or observation.state not in _SEEN:
        return memory
    disruption = Disruption() if memory.disruption.marked_at else memory.disruption
    memory = replace(memory, is_marked=observation.is_marked, disruption=disruption, has_acted=True)
    if observation.is_marked:  # the boot ID before another controller's mark is unknown
        return replace(memory, recovery=memory.recovery.begun(None, is_first=False))
    is_unhealthy = observation.state is TargetState.EXPIRED
    return memory.after_loss((), observation, now) if is_unhealthy else memory


def _with_requests(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The same with the visible requests, which the incident adopts, and with their Lease."""
    lease, acquired = memory.lease, observation.lease_acquired_at
    if observation.requests:
        requests = {request.uid: request for request in memory.requests}
        requests |= {request.uid: request.reference for request in observation.requests}
        plan = Plan(observation.steps)
        # Without a step the check does not list the template of the latest request. The end of the Lease of a
        # request that was found is unknown.
        step = plan.step_of(plan.latest(observation.requests).reference)
        lease = replace(
            lease,
            state=lease.state if lease.state is LeaseState.RELEASED else LeaseState.HELD,
            duration_seconds=lease_duration(step).total_seconds() if step else lease.duration_seconds,
            renew_at=lease.renew_at or now,
        )
        memory = replace(
            memory,
            requests=tuple(requests.values()),
            has_acted=True,
            attempt=memory.attempt_of(observation),
        )
    # The next renewal verifies another acquisition time than the known ones.
    if acquired is not None and acquired not in (lease.acquired_at, lease.observed_at):
        lease = replace(lease, observed_at=acquired, renew_at=now)
    own = {request.uid for request in memory.requests}
    return replace(memory, lease=lease, records=recorded(memory.records, observation.requests, own, now))


def _with_findings(memory: Memory, observation: Observation) -> Memory:
    """The same without the finding of an act for an earlier failure, and without a row that is over.

    The row of failed acts is over when the next act would have other inputs: the next question asks to act.
    """
    if observation.state not in (TargetState.EXPIRED, TargetState.UNKNOWN):
        return replace(memory, found=None)
    failing = memory.failing
    is_over = failing is not None and not failing.goes_on(observation)
    return replace(memory, failing=None) if is_over and observation.state is TargetState.EXPIRED else memory


def _with_steps(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The same with the steps that were taken, and those that are over."""
    plan = memory.plan(observation)
    # Requests that were just cleaned up, or that a finalizer keeps, are of the remediation before.
    present = (request for request in observation.requests if request.uid not in memory.cleaned_up)
    seen = (plan.step_of(request.reference) for request in present)
    taken = memory.with_taken(step for step in seen if step is not None)
    templates = tuple(step.template for step in observation.steps) or memory.steps
    memory = replace(memory, taken=taken, steps=templates)
    if observation.state is not TargetState.EXPIRED:
        return memory
    over = {plan.step_of(request.reference) for request in plan.progress(observation.requests, now).over}
    # A classic remediation has one step, never spent: if its request is deleted, another one is made.
    steps = [step for step in observation.steps if step in over and step.timeout_seconds is not None]
    new = tuple(step.template for step in steps if step.template not in memory.spent)
    return replace(memory, spent=(*memory.spent, *new))


def _started_over(memory: Memory, observation: Observation) -> Memory:
    """The same once nothing of the earlier steps is left; the new steps need a proof of recovery too."""
    start, recovery = memory.starts_over, memory.recovery
    if not start or not observation.steps or memory.owns_something or observation.requests:
        return memory
    templates = [step.template for step in observation.steps]
    wanted = meant_by(start.first_step, templates) if start.first_step else frozenset()
    first = next((number for number, template in enumerate(templates) if template in wanted), 0)
    if observation.state in ENDED:
        recovery = replace(recovery, has_begun=False, boot_id_before=None)
    elif recovery.has_begun:
        recovery = recovery.begun(observation.boot_id, is_first=True)
    return replace(
        memory,
        spent=tuple(templates[:first]),
        patches=(),
        starts_over=None,
        loss=replace(memory.loss, attempt=0) if memory.loss else None,
        taken=(),
        earlier=None,
        relapsed=(),
        recovery=recovery,
    )


def _with_relapse(memory: Memory, observation: Observation) -> Memory:
    """The same with the steps that count as taken, until the first step; the check may change till then.

    An earlier remediation that ended too long ago is forgotten.
    """
    earlier, fact = memory.earlier, observation.fact
    if earlier is None or memory.taken:
        return memory
    if memory.left_alone:
        return replace(memory, earlier=None, relapsed=())
    if observation.state in ENDED:
        recovered = memory.recovery.healthy_since if memory.is_exhausted else None
        over = {"ended": recovered or earlier.ended, "came_back": None}
        return replace(memory, earlier=earlier.model_copy(update=over), relapsed=())
    if fact is None or not observation.is_unhealthy:
        return memory
    if is_by_order(fact):
        return replace(memory, relapsed=())
    earlier = earlier.model_copy(update={"came_back": earlier.came_back or fact.since})
    relapse = timedelta(seconds=observation.relapse_seconds)
    is_relapse = bool(relapse) and earlier.is_within(relapse) and not is_classic(observation)
    is_in_time = earlier.is_within(max(IN_A_ROW, relapse))
    relapsed = earlier.taken if is_relapse else ()
    return replace(memory, earlier=earlier if is_in_time else None, relapsed=relapsed)


def waits_in_relapse(memory: Memory, observation: Observation) -> bool:
    """True for a relapse before the end of its duration: with no step left, it is not exhausted yet."""
    is_new = bool(memory.relapsed) and not memory.taken and not memory.is_exhausted
    return is_new and observation.state is TargetState.WAITING


def _with_approval(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The memory once the question is over, or expired, or its time runs or no longer runs."""
    approval, hold = memory.approval, observation.hold
    if approval is None:
        return memory
    is_open = approval.answer is None
    if observation.state is TargetState.UNKNOWN or _counts_anew(approval, observation):
        paused = approval.model_copy(update={"counts_from": None, "expires_at": None})
        return replace(memory, approval=paused if is_open else approval)
    if _is_over(approval, memory, observation, now):
        return replace(memory, approval=None)
    # A rejection by annotation takes back an approval whose step was not taken.
    for given in observation.answers:
        may_approve = is_open and not memory.is_blocked
        may_reject = approval.answer is not ApprovalAnswer.REJECTED
        if given.question == approval.id and (may_approve if given.is_approval else may_reject):
            answer = ApprovalAnswer.APPROVED if given.is_approval else ApprovalAnswer.REJECTED
            identity = f"an annotation on {given.place}"
            return _with_answer(memory, approval, answer, reason=given.reason, identity=identity, now=now)
    # The time for an answer runs while nothing but the missing answer holds the step.
    is_held = hold is not None and hold.reason not in (HoldReason.APPROVAL_REQUIRED, HoldReason.NO_ADMISSION)
    runs = not is_open or not (is_held or memory.is_blocked)
    counts_from = (approval.counts_from or now) if runs else None
    approval = with_deadline(approval, observation, counts_from)
    is_due = approval.expires_at is not None and now >= approval.expires_at
    approval = approval.model_copy(update={"is_expired": approval.is_expired and is_due})
    if not is_due or not is_open or approval.is_expired or memory.is_blocked:
        return replace(memory, approval=approval)
    # The default of the check answers; an Event reports a default that holds.
    default = _DEFAULTS.get(approval.default)
    if default is None:
        expired = approval.model_copy(update={"is_expired": True, "is_reported": False})
        return replace(memory, approval=expired)
    reason = f"no answer within {in_words(now - (approval.counts_from or approval.asked_at))}"
    return _with_answer(memory, approval, default, reason=reason, identity=BY_DEFAULT, now=now)


def _is_over(approval: Approval, memory: Memory, observation: Observation, now: datetime) -> bool:
    if observation.state is not TargetState.EXPIRED or memory.left_alone or memory.is_shadow:
        return True
    if approval.fact is not None and not approval.fact.same_as(observation.fact):
        return True
    due = memory.plan(observation).progress(observation.requests, now).due_step
    if due is None or observation.under_way or not approval.is_for(observation.steps[due]):
        return True
    if approval.answer is ApprovalAnswer.REJECTED:
        return False
    required = observation.approval
    if required is None or due not in required.steps or approval.generation != observation.generation:
        return True
    if approval.answered_at is not None and now - approval.answered_at >= required.holds_good_for:
        return True
    return bool(approval.version) and required.version_of(due) not in ("", approval.version)


def _counts_anew(approval: Approval, observation: Observation) -> bool:
    """True if the timer of the same failure runs again, for example after a time without a detector."""
    fact = approval.fact
    return observation.state is TargetState.WAITING and fact is not None and fact.same_as(observation.fact)


def with_deadline(approval: Approval, observation: Observation, counts_from: datetime | None) -> Approval:
    """The question whose time runs from then, with the end and the default of the check as it is now."""
    changes: dict[str, object] = {"counts_from": counts_from}
    if (required := observation.approval) is not None:
        changes |= {"expires_at": required.expires_at(counts_from), "default": required.default}
    return approval.model_copy(update=changes)


def _with_answer(  # noqa: PLR0913  an answer has these parts
    memory: Memory, approval: Approval, answer: ApprovalAnswer, *, reason: str, identity: str, now: datetime
) -> Memory:
    """The memory after an answer that came without an order, which is recorded like one."""
    name = APPROVE.name if answer is ApprovalAnswer.APPROVED else REJECT.name
    order = OrderRecord(order=name, reason=reason, identity=identity, given=now, step=approval.name)
    return with_answer(memory.with_order(order, stands=False), order, approval, answer)
