"""Words: a move of the runbook with the words for its readers, and the entries of the timeline. Pure.

No code reads these words back.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from health.gate.back_off import after_a_loss
from health.model.details import HELD_BY_PERSON, Details, HoldWords
from health.model.incident_result import TimelineEntry
from health.model.moves import (
    AnnotateRequests,
    Blocked,
    Deadline,
    End,
    Move,
    NextEvent,
    Phase,
    RecordStep,
    ReleaseLease,
    RemoveRequests,
    RenewLease,
    SaveEvidence,
    TakeStep,
    Wait,
)
from health.model.observation import HoldReason, Observation
from health.model.references import Action, Step, TargetReference
from health.model.remediation_order import REMEDIATE
from health.model.request_snapshot import EXISTS, RequestSnapshot
from health.runbook.failures import deleting
from health.runbook.incident import Incident, proof_time
from health.runbook.rows import Decision, Reason
from health.runbook.state import Memory
from objects.durations import JUST_AFTER, in_words
from objects.short_text import Brief
from objects.timestamps import stamp

NO_WORD_OF_ADMISSION = "the detector is of another version: its answer neither admits the step nor holds it"
NOTHING_TO_ACT_ON = "the answer of the detector names no step, or no fact to act on"
IN_SHADOW = "in shadow"
HANGS = "hangs on a finalizer"


def as_move(decision: Decision, incident: Incident) -> Move:
    """The move of a decision, with the words for its readers."""
    details = _DETAILS[decision.reason](incident)
    if decision.phase is Phase.CLEANING_UP and decision.act is None and incident.hanging_requests:
        details = details.and_also(f"{', '.join(map(str, incident.hanging_requests))} {HANGS}")
    followed = {
        deadline.event: words
        for deadline in decision.until
        if deadline.event is not None and (words := _followed(deadline, incident)) is not None
    }
    wait = Wait(
        phase=decision.phase,
        details=details,
        until=decision.until,
        words=followed,
        otherwise=decision.otherwise,
        brief=_brief(decision, details, incident),
        blocked=_BLOCKED.get(decision.reason) or _BLOCKED.get(decision.phase),
    )
    match decision.act:
        case None:
            return wait
        case AnnotateRequests() | RenewLease() | ReleaseLease() as task:
            return replace(task, phase=wait.phase, details=details, next_transition=wait.next_transition)
        case SaveEvidence(before=step):
            return SaveEvidence(replace(step, details=details), details)
        case act:
            return replace(act, details=details)


_BLOCKED: Mapping[Reason | Phase, Blocked] = MappingProxyType(
    {
        Reason.APPROVAL_MISSING: Blocked.APPROVAL_REQUIRED,
        Phase.HELD: Blocked.HELD,
        Phase.EXHAUSTED: Blocked.EXHAUSTED,
        Phase.LEFT_ALONE: Blocked.LEFT_ALONE,
    }
)


def _followed(deadline: Deadline, incident: Incident) -> str | None:
    """The event at this deadline with the step or the default that follows it; None: nothing follows."""
    event, running, approval = deadline.event, incident.progress.running, incident.memory.approval
    match event:
        case NextEvent.STEP_TIMES_OUT:
            step = running and incident.plan.step_of(running.reference)
            times_out = f"the step {_named(step)} times out" if step else "its step times out"
            following = incident.step_at(deadline.at + JUST_AFTER)
            if following is None:
                return f"{times_out}, and no template is left to try"
            return f"{times_out}{_next(following)}{' once the hold ends' if incident.memory.held else ''}"
        case NextEvent.DELAY_ENDS | NextEvent.RECOVERY_IS_PROVEN if incident.kept_requests:
            return f"{event}, and the requests are deleted"
        case NextEvent.DEADLINE_PASSES if running is None:
            return f"{event}{_next(incident.step_at(deadline.at))}"
        case NextEvent.APPROVAL_EXPIRES if approval is not None and approval.default_words:
            return f"{event}, and {approval.default_words}"
        case NextEvent.STOP_IS_GIVEN_UP:
            return f"{event}{_next(incident.step_at(incident.now))}"
    return None


def _next(step: Step | None) -> str:
    """The next step, as the end of a sentence."""
    return f", and {_named(step)} is next" if step else ""


def _named(step: Step) -> str:
    """A step in words: people know it by its template."""
    if step.action is Action.REQUEST:
        return f"{step.template.kind}/{step.template.name}"
    return "its deletion" if step.action is Action.DELETE else "a mark for another controller"


def _brief(decision: Decision, details: Details, incident: Incident) -> Brief:
    """The difference from other waits: a hold, else the state of a request, else the condition."""
    observation, plan = incident.observation, incident.plan
    if decision.phase is Phase.CLEANING_UP and (hanging := incident.hanging_requests):
        return Brief(name=str(hanging[0]), after=HANGS)
    if details.differing:
        return Brief(details.differing)
    if observation.requests:
        request = observation.requests[-1]
        report, step = _report_of(request, incident.memory), plan.step_of(request.reference)
        if step is None or len(plan.steps) == 1:
            return Brief(name=str(request.reference), after=report or EXISTS)
        # In an escalation people know a request by the number and the template of its step.
        place = f"step {list(plan.steps).index(step) + 1} of {len(plan.steps)},"
        return Brief(place, step.template.name, report or "")
    if observation.is_unhealthy and observation.fact is not None:
        return Brief(f"{observation.fact.condition} is {observation.fact.status}")
    return Brief(observation.reason)


def _report_of(request: RequestSnapshot, memory: Memory) -> str | None:
    """The state of a request; a skipped one is annotated as timed out, although no time has passed.

    None: it exists, and no report is known.
    """
    is_skipped = request.uid in memory.skipped and not request.is_being_deleted
    return "was skipped" if is_skipped else request.report


def words_of(request: RequestSnapshot, memory: Memory) -> str:
    return f"{request.reference} {_report_of(request, memory) or EXISTS}"


def recovery_words(observation: Observation, memory: Memory, now: datetime) -> str | None:
    """The progress of the proof of recovery at `now`; None: it is complete, or not running."""
    incident = Incident.of(observation, memory, now)
    if incident.proven_at is None:
        return None
    lasted = in_words(now - (memory.recovery.healthy_since or now))
    return f"{_with_which_boot(incident)} for {lasted} of {in_words(proof_time(observation))}"


def _with_which_boot(incident: Incident) -> str:
    if not incident.observation.boot_id:
        return "healthy, with no boot ID to tell whether it booted,"
    if not incident.memory.recovery.boot_id_before:
        return "healthy, with no boot ID known from before the step,"
    return "healthy with a new boot ID"


def _details(  # noqa: PLR0913  details have these parts
    incident: Incident,
    *more: str,
    reason: str | None = None,
    requests: str | None = None,
    order: str | None = None,
    holds: Iterable[HoldWords | None] = (),
    ask_again_seconds: float | None = None,
) -> Details:
    """The target as the detector sees it, with these parts; a hold that is None is left out.

    In shadow with the steps that would have been taken, and without the requests of others.
    """
    observation, memory, shadow = incident.observation, incident.memory, None
    if memory.is_shadow:
        uids = {request.uid for request in memory.requests}
        requests = ", ".join(str(request) for request in observation.requests if request.uid in uids)
        would = ", ".join(f"{step} at {stamp(step.at)}" for step in memory.shadow.current)
        shadow = f"{IN_SHADOW}, would have taken: {would}" if would else IN_SHADOW
    return Details(
        subject=observation.subject or None,
        reason=observation.reason if reason is None else reason,
        requests=requests or None,
        shadow=shadow,
        order=order,
        holds=tuple(hold for hold in holds if hold is not None),
        more=more,
        ask_again_seconds=ask_again_seconds,
    )


def _status(incident: Incident, *more: str, holds: Iterable[HoldWords] = ()) -> Details:
    """The state of the target and its requests, with a person's hold before other `holds`."""
    requests = ", ".join(words_of(request, incident.memory) for request in incident.observation.requests)
    return _details(incident, *more, requests=requests, holds=(_by_person(incident), *holds))


def _by_person(incident: Incident) -> HoldWords | None:
    """The hold of a person; None: no person holds it."""
    held = incident.memory.held
    return HoldWords(short=HELD_BY_PERSON, full=held.reason or None, since=held.given) if held else None


def _recovering(incident: Incident) -> Details:
    requests, delay, reason = incident.observation.requests, incident.delay, None
    is_kept = any(delay.is_running(request, incident.now) for request in requests)
    if incident.proven_at is not None:  # for a reader at any later time
        since = stamp(incident.memory.recovery.healthy_since or incident.now)
        proven = f"proven after {in_words(proof_time(incident.observation))}"
        reason = f"{_with_which_boot(incident)} since {since}, {proven}"
    return _details(incident, *((str(delay),) if is_kept else ()), reason=reason)


def _why_disrupted(incident: Incident) -> str:
    if incident.observation.under_way:
        return incident.observation.under_way
    if incident.memory.disruption.deleted_at is not None:
        return "it was deleted, and is not gone yet"
    if incident.is_mark_unseen:
        return "it was marked, and the mark is not visible yet"
    return "but it does not count as healthy yet"


def _left_alone(incident: Incident) -> Details:
    """The order; with the state of the target once nothing is left to clean up."""
    order = incident.memory.left_alone
    words = f"left alone: {order.reason}" if order and order.reason else "left alone" if order else None
    details = _details(incident, order=words)
    if not incident.has_objects:
        return details
    return Details(requests=details.requests, shadow=details.shadow, order=words)


def _held_by_detector(incident: Incident) -> Details:
    hold = incident.observation.hold
    if hold is None:
        return _details(incident)
    return _details(incident, holds=(hold.words,), ask_again_seconds=hold.ask_again_seconds)


def _state_unknown(incident: Incident) -> Details:
    """A hold of a person decides before the hold of the detector, and both are shown."""
    hold = incident.observation.hold
    return _status(incident, holds=() if hold is None else (hold.words,))


def _stop_awaited(incident: Incident) -> Details:
    until = incident.step_waits_until
    why = "for the stop annotation of the previous request"
    return _status(incident, f"the next step waits until {stamp(until)} {why}" if until else "")


def _request_lost(incident: Incident) -> Details:
    due, step = incident.due_after_loss, incident.observation.steps[incident.next_step]
    lost, loss = "mark" if step.action is Action.MARK else "request", incident.memory.loss
    held = after_a_loss(due, lost, since=loss.at if loss else None) if due else None
    return _details(incident, holds=(held,))


def _requests_of_others(incident: Incident) -> Details:
    others = ", ".join(str(other.reference) for other in incident.others)
    return _details(incident, f"waits until the requests of others are gone: {others}")


def _approval_missing(incident: Incident) -> Details:
    approval = incident.memory.approval
    full, since = (approval.words, approval.asked_at) if approval else (None, None)
    words = HoldWords(short=HoldReason.APPROVAL_REQUIRED, full=full, since=since, is_question=True)
    return _details(incident, holds=(words,))


def _rejected(incident: Incident) -> Details:
    approval = incident.memory.approval
    full, since = (approval.words, approval.answered_at) if approval else (None, None)
    return _details(incident, holds=(HoldWords(short=HoldReason.STEP_REJECTED, full=full, since=since),))


def _acts_fail(incident: Incident) -> Details:
    failing = incident.memory.failing
    if failing is None:
        return _details(incident)
    row = f"{failing.count} times in a row, " if failing.count > 1 else ""
    full = f"{failing.hold.message} ({row}the next attempt is due at {stamp(failing.next_act)})"
    return _details(incident, holds=(HoldWords(short=failing.hold.reason, full=full, since=failing.since),))


_DETAILS: Mapping[Reason, Callable[[Incident], Details]] = MappingProxyType(
    {
        Reason.NOT_NEEDED: _details,
        Reason.NODE_DELETION_EXPECTED: lambda incident: _details(
            incident, "its remediator expects that, and is not done yet"
        ),
        Reason.RECOVERING: _recovering,
        Reason.DISRUPTED: lambda incident: _details(incident, _why_disrupted(incident)),
        Reason.LEFT_ALONE: _left_alone,
        Reason.STARTS_OVER: lambda incident: _details(
            incident, order="starts over by order", holds=(_by_person(incident),)
        ),
        Reason.STATE_UNKNOWN: _state_unknown,
        Reason.REQUEST_RUNS: _status,
        Reason.EXHAUSTED: lambda incident: _status(incident, "no template left to try"),
        Reason.MAINTAINED: _status,
        Reason.OVERDUE: lambda incident: _status(incident, "overdue"),
        Reason.HELD_BY_PERSON: _status,
        Reason.HELD_BY_DETECTOR: _held_by_detector,
        Reason.TIMER_RUNS: _status,
        Reason.STOP_AWAITED: _stop_awaited,
        Reason.NOTHING_TO_ACT_ON: lambda incident: _details(incident, NOTHING_TO_ACT_ON),
        Reason.ACTS_FAIL: _acts_fail,
        Reason.REQUEST_LOST: _request_lost,
        Reason.ADMISSION_MISSING: lambda incident: _details(incident, NO_WORD_OF_ADMISSION),
        Reason.APPROVAL_MISSING: _approval_missing,
        Reason.STEP_REJECTED: _rejected,
        Reason.STEP_DUE: _details,
        Reason.STEP_RECORDED: _details,
        Reason.REQUESTS_OF_OTHERS: _requests_of_others,
        Reason.ORDER_REMAINS: lambda incident: _details(
            incident, f"waits until the annotation {REMEDIATE} is removed"
        ),
    }
)
"""The details of each reason."""


def entry_of(
    move: Move, observation: Observation, target: TargetReference, now: datetime, *, is_first: bool
) -> TimelineEntry | None:
    """The effect of the move and its reason; None for a renewal and other tasks, and for the end.

    The first entry is that of any move: no hold may have begun before it.
    """
    match move:
        case End():
            return None
        case AnnotateRequests() | RenewLease() | ReleaseLease() if not is_first:
            return None
        case TakeStep(step=number):
            words = f"{observation.steps[number].order_for(target)}; {observation.reason}"
        case RecordStep(step=number):
            words = f"would {observation.steps[number].order_for(target)}; {observation.reason}"
        case SaveEvidence(before=due):
            words = f"save evidence before: {observation.steps[due.step].order_for(target)}"
        case RemoveRequests(details=details):
            deletes = ", ".join(deleting(request.reference) for request in observation.requests)
            words = "; ".join(filter(None, (deletes, details.reason)))
        case _:
            words = move.details.beside_subject.with_notes(()).lasting
    return TimelineEntry(at=now, phase=move.phase, what=words)


def new_orders(memory: Memory, before: Memory, now: datetime) -> Iterator[TimelineEntry]:
    """An entry for each order, and each refusal, that `before` did not have."""
    phase = memory.timeline.phase or Phase.WAITING
    known = {(order.order, order.given, order.refused) for order in before.orders}
    for order in memory.orders:
        if (order.order, order.given, order.refused) not in known:
            until = f", until {stamp(order.until)}" if order.until else ""
            refused = f"; refused: {order.refused}" if order.refused else ""
            what = f"{order.model_copy(update={'identity': ''}).words}{until}{refused}"
            yield TimelineEntry(at=now, phase=phase, what=what, who=order.identity or None)
