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
    AskApproval,
    Blocked,
    Moment,
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
from health.runbook.decision import Decision, Reason
from health.runbook.incident import Incident
from health.runbook.recovery import lasting_words
from health.runbook.state import Memory
from health.runbook.task_notes import deleting
from objects.brief import Brief
from objects.durations import JUST_AFTER
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
    details = _in_shadow(details, incident)
    wait = Wait(
        phase=decision.phase,
        details=details,
        until=decision.until,
        words=dict(_followed_events(decision.until, incident)),
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


def _followed_events(until: Iterable[Moment], incident: Incident) -> Iterator[tuple[NextEvent, str]]:
    """The events that a step or a default follows, with it."""
    for moment in until:
        match moment.event:
            case NextEvent.STEP_TIMES_OUT as event:
                running = incident.course.running
                step = running and incident.plan.step_of(running.reference)
                words = f"the step {_named(step)}" if step else "its step"
                yield event, f"{words} times out{_after_timeout(moment.at, incident)}"
            case NextEvent.DELAY_ENDS | NextEvent.RECOVERY_IS_PROVEN as event if incident.kept_requests:
                yield event, f"{event}, and the requests are deleted"
            case NextEvent.DEADLINE_PASSES as event if incident.course.running is None:
                yield event, f"{event}{_followed(incident.step_at(moment.at))}"
            case NextEvent.APPROVAL_EXPIRES as event:
                follows = incident.memory.approval.default_words if incident.memory.approval else ""
                yield event, f"{event}, and {follows}" if follows else event
            case NextEvent.STOP_IS_GIVEN_UP as event:
                yield event, f"{event}{_followed(incident.step_at(incident.now))}"


def _after_timeout(at: datetime, incident: Incident) -> str:
    step = incident.step_at(at + JUST_AFTER)
    if step is None:
        return ", and no template is left to try"
    return f"{_followed(step)}{' once the hold ends' if incident.memory.held else ''}"


def _followed(step: Step | None) -> str:
    """The next step, as the end of a sentence."""
    return f", and {_named(step)} is next" if step else ""


def _named(step: Step) -> str:
    """A step in words: people know it by its template."""
    if step.action is Action.REQUEST:
        return f"{step.template.kind}/{step.template.name}"
    return "its deletion" if step.action is Action.DELETE else "a mark for another controller"


def _brief(decision: Decision, details: Details, incident: Incident) -> Brief:
    """The difference from other waits: a hold, else the state of a request, else the condition."""
    observation = incident.observation
    if decision.phase is Phase.CLEANING_UP and (hanging := incident.hanging_requests):
        return Brief(name=str(hanging[0]), after=HANGS)
    if details.differing:
        return Brief(details.differing)
    if observation.requests:
        return _brief_of_request(observation.requests[-1], incident)
    if observation.is_unhealthy and observation.fact is not None:
        return Brief(f"{observation.fact.condition} is {observation.fact.status}")
    return Brief(observation.reason)


def _brief_of_request(request: RequestSnapshot, incident: Incident) -> Brief:
    """The state of a request; in an escalation under the number and the template of its step."""
    state = incident.memory.words_of(request).removeprefix(f"{request.reference} ")
    plan, step = incident.plan, incident.plan.step_of(request.reference)
    if step is None or len(plan.steps) == 1:
        return Brief(name=str(request.reference), after=state)
    place = f"step {plan.steps.index(step) + 1} of {len(plan.steps)},"
    return Brief(place, step.template.name, "" if state == EXISTS else state)


def _observed(incident: Incident) -> Details:
    return incident.observation.details()


def _by_person(incident: Incident) -> HoldWords | None:
    """The hold of a person; None: no person holds it."""
    held = incident.memory.held
    return HoldWords(short=HELD_BY_PERSON, full=held.reason or None, since=held.given) if held else None


def _status(incident: Incident) -> Details:
    """The state of the target and its requests, with a person's hold."""
    requests = ", ".join(incident.memory.words_of(request) for request in incident.observation.requests)
    details = incident.observation.details(holds=(_by_person(incident),))
    return details.with_requests(requests)


def _recovering(incident: Incident) -> Details:
    is_kept = any(
        incident.delay.is_running(request, incident.now) for request in incident.observation.requests
    )
    details = incident.observation.details(*((str(incident.delay),) if is_kept else ()))
    if incident.proven_at is None:
        return details
    lasting = lasting_words(incident.observation, incident.memory, incident.now)
    return details.model_copy(update={"reason": lasting})


def _why_disrupted(incident: Incident) -> str:
    if incident.observation.under_way:
        return incident.observation.under_way
    if incident.memory.disruption.has_deleted:
        return "it was deleted, and is not gone yet"
    if incident.is_mark_unseen:
        return "it was marked, and the mark is not visible yet"
    return "but it does not count as healthy yet"


def _left_alone(incident: Incident) -> Details:
    """The order; with the state of the target once nothing is left to clean up."""
    order = incident.memory.left_alone
    words = f"left alone: {order.reason}" if order and order.reason else "left alone" if order else ""
    return Details(order=words) if incident.has_objects else incident.observation.details(order=words)


def _held_by_detector(incident: Incident) -> Details:
    hold = incident.observation.hold
    if hold is None:
        return _observed(incident)
    again = {"ask_again_seconds": hold.ask_again_seconds}
    return incident.observation.details(holds=(hold.words,)).model_copy(update=again)


def _state_unknown(incident: Incident) -> Details:
    """A hold of a person decides before the hold of the detector, and both are shown."""
    details, hold = _status(incident), incident.observation.hold
    return details.model_copy(update={"holds": (*details.holds, hold.words)}) if hold else details


def _stop_awaited(incident: Incident) -> Details:
    until = incident.step_waits_until
    why = "for the stop annotation of the previous request"
    return _status(incident).and_also(f"the next step waits until {stamp(until)} {why}" if until else "")


def _acts_fail(incident: Incident) -> Details:
    failing = incident.memory.failing
    if failing is None:
        return _observed(incident)
    row = f"{failing.count} times in a row, " if failing.count > 1 else ""
    full = f"{failing.hold.message} ({row}the next attempt is due at {stamp(failing.next_act)})"
    words = HoldWords(short=failing.hold.reason, full=full, since=failing.since)
    return incident.observation.details(holds=(words,))


def _request_lost(incident: Incident) -> Details:
    due, step = incident.due_after_loss, incident.observation.steps[incident.next_step]
    lost, loss = "mark" if step.action is Action.MARK else "request", incident.memory.loss
    held = after_a_loss(due, lost, since=loss.at if loss else None) if due else None
    return incident.observation.details(holds=(held,))


def _requests_of_others(incident: Incident) -> Details:
    others = ", ".join(str(other.reference) for other in incident.others)
    return _observed(incident).and_also(f"waits until the requests of others are gone: {others}")


def _with(words: str) -> Callable[[Incident], Details]:
    return lambda incident: incident.observation.details(words)


def _approval_missing(incident: Incident) -> Details:
    approval = incident.memory.approval
    full, since = (approval.words, approval.asked_at) if approval else (None, None)
    words = HoldWords(short=HoldReason.APPROVAL_REQUIRED, full=full, since=since, is_question=True)
    return incident.observation.details(holds=(words,))


def _rejected(incident: Incident) -> Details:
    approval = incident.memory.approval
    full, since = (approval.words, approval.answered_at) if approval else (None, None)
    words = HoldWords(short=HoldReason.STEP_REJECTED, full=full, since=since)
    return incident.observation.details(holds=(words,))


def _status_with(words: str) -> Callable[[Incident], Details]:
    return lambda incident: _status(incident).and_also(words)


_DETAILS: Mapping[Reason, Callable[[Incident], Details]] = MappingProxyType(
    {
        Reason.NOT_NEEDED: _observed,
        Reason.NODE_DELETION_EXPECTED: _with("its remediator expects that, and is not done yet"),
        Reason.RECOVERING: _recovering,
        Reason.DISRUPTED: lambda incident: incident.observation.details(_why_disrupted(incident)),
        Reason.LEFT_ALONE: _left_alone,
        Reason.STARTS_OVER: lambda incident: incident.observation.details(
            order="starts over by order", holds=(_by_person(incident),)
        ),
        Reason.STATE_UNKNOWN: _state_unknown,
        Reason.REQUEST_RUNS: _status,
        Reason.EXHAUSTED: _status_with("no template left to try"),
        Reason.MAINTAINED: _status,
        Reason.OVERDUE: _status_with("overdue"),
        Reason.HELD_BY_PERSON: _status,
        Reason.HELD_BY_DETECTOR: _held_by_detector,
        Reason.TIMER_RUNS: _status,
        Reason.STOP_AWAITED: _stop_awaited,
        Reason.NOTHING_TO_ACT_ON: _with(NOTHING_TO_ACT_ON),
        Reason.ACTS_FAIL: _acts_fail,
        Reason.REQUEST_LOST: _request_lost,
        Reason.ADMISSION_MISSING: _with(NO_WORD_OF_ADMISSION),
        Reason.APPROVAL_MISSING: _approval_missing,
        Reason.STEP_REJECTED: _rejected,
        Reason.STEP_DUE: _observed,
        Reason.STEP_RECORDED: _observed,
        Reason.REQUESTS_OF_OTHERS: _requests_of_others,
        Reason.ORDER_REMAINS: lambda incident: _observed(incident).and_also(
            f"waits until the annotation {REMEDIATE} is removed"
        ),
    }
)
"""The details of each reason."""


def _in_shadow(details: Details, incident: Incident) -> Details:
    """The same; in shadow with the steps that would have been taken, and without the requests of others."""
    if not incident.memory.is_shadow:
        return details
    uids = {request.uid for request in incident.memory.requests}
    own = ", ".join(str(request) for request in incident.observation.requests if request.uid in uids)
    would = ", ".join(f"{step} at {stamp(step.at)}" for step in incident.memory.shadow.current)
    words = f"{IN_SHADOW}, would have taken: {would}" if would else IN_SHADOW
    return details.model_copy(update={"requests": own, "shadow": words})


def entry_of(
    move: Move, observation: Observation, target: TargetReference, now: datetime
) -> TimelineEntry | None:
    """The effect of the move and its reason; None for a renewal and other tasks, and for the end."""
    match move:
        case Wait(details=details) | AskApproval(details=details):
            words = details.beside_subject.with_notes(()).lasting
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
            return None
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
