"""Approvals: when a step waits for a person, what answers the question, and when the question is over. Pure.

The incident asks once its next step is due and nothing else of check, target and incident holds it. It asks
for one step of one failure: the question, and so its answer, is over when that step was taken, the target
recovers or fails in another way, another step is next, the check needs no approval any more, or in shadow. It
is also over after an edit of the check or of the template, and an approval after the time that an answer has,
an hour by default: the incident asks again. An approval is no admission: the detector decides about limits
and holds after it, and the act revalidates.

The time for an answer runs only while nothing else holds the step, and starts again after each other hold. So
no default acts at the moment at which a freeze ends.

A rejected step is not taken until `resume`, which asks again, or until the failure is over. `resume --step`
begins with another step.

The first row that matches refuses an order:

| state                                      | why                                                    |
|--------------------------------------------|--------------------------------------------------------|
| a person's order blocks steps, or shadow   | an approval is no `resume`                             |
| no step waits                              | an approval is for one question, and none was asked    |
| the order names no step, or another one    | it must not answer the question about a later step     |
| the question was answered by a rejection   | `resume` asks again, and the answer says so            |
| the question has another answer            | the first answer counts                                |

The default of the check answers a question that expired, unless a person's order blocks steps then. An edit
of the check that extends the time of an expired question opens it again.
"""

from collections.abc import Mapping
from datetime import datetime

from health.model.annotations import AnnotatedAnswer
from health.model.approval import Approval, ApprovalAnswer, ApprovalDefault, names_of, question_id
from health.model.observation import HoldReason, Observation, TargetState
from health.model.order import OrderRecord, Refusal
from health.runbook.incident import Incident
from health.runbook.skips import JUST_BEGUN, why_blocked
from health.runbook.state import Memory
from objects.durations import in_words

BY_DEFAULT = "paramedic.dev/approval-default"
"""The identity of an order that the annotation of the check gave."""
_ORDER: Mapping[ApprovalAnswer, str] = {ApprovalAnswer.APPROVED: "approve", ApprovalAnswer.REJECTED: "reject"}
"""The name of the order that gives this answer."""
_DEFAULTS: Mapping[str, ApprovalAnswer] = {
    ApprovalDefault.APPROVE: ApprovalAnswer.APPROVED,
    ApprovalDefault.REJECT: ApprovalAnswer.REJECTED,
}


def waiting(memory: Memory) -> Approval | Refusal:
    """The question that waits for an answer, or why an order would answer none."""
    if refusal := why_blocked(memory):
        return refusal
    approval = memory.approval
    if approval is None:
        return Refusal("no step waits for an approval")
    if approval.answer is ApprovalAnswer.REJECTED:
        return Refusal(f"it needs resume first, which asks again: {approval.words}")
    return approval if approval.answer is None else Refusal(approval.words)


def just_asked(memory: Memory, approval: Approval, now: datetime) -> Refusal | None:
    """The refusal of an order without a name if it may be meant for an earlier step."""
    age = now - approval.asked_at
    if age >= JUST_BEGUN or not memory.has_acted:
        return None
    return Refusal(f"{approval.name} waits only since {in_words(age)}; name it with --step")


def question(incident: Incident) -> Approval:
    observation, number = incident.observation, incident.next_step
    step, required = observation.steps[number], observation.approval
    version = required.version_of(number) if required else ""
    approval = Approval(
        id=question_id(observation.subject, step, incident.now, observation.generation, version),
        resource=required.resource if required else "",
        step=step,
        names=names_of(step, observation.steps),
        asked_at=incident.now,
        counts_from=incident.now,
        fact=observation.fact,
        generation=observation.generation,
        version=version,
    )
    return _by_check(approval, observation)


def is_missing(incident: Incident) -> bool:
    """True if the next step needs an approval and is neither approved nor rejected."""
    required, approval = incident.observation.approval, _asked(incident)
    if required is None or incident.next_step not in required.steps or incident.memory.is_shadow:
        return False
    return approval is None or approval.answer not in (ApprovalAnswer.APPROVED, ApprovalAnswer.REJECTED)


def is_asked(incident: Incident) -> bool:
    """True if the incident has asked for the approval of the next step."""
    return _asked(incident) is not None


def is_rejected(incident: Incident) -> bool:
    approval = _asked(incident)
    return approval is not None and approval.answer is ApprovalAnswer.REJECTED


def followed(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The memory once the question is over, or expired, or its time runs or no longer runs."""
    approval = memory.approval
    if approval is None:
        return memory
    if observation.state is TargetState.UNKNOWN or _counts_anew(approval, observation):
        paused = approval.model_copy(update={"counts_from": None, "expires_at": None})
        return memory.model_copy(update={"approval": paused if approval.answer is None else approval})
    if _is_over(approval, memory, observation, now):
        return memory.model_copy(update={"approval": None})
    for given in observation.answers:
        if given.question == approval.id and _counts(given, approval, memory):
            answer = ApprovalAnswer.APPROVED if given.is_approval else ApprovalAnswer.REJECTED
            identity = f"an annotation on {given.place}"
            return _recorded(memory, approval, answer, reason=given.reason, identity=identity, now=now)
    runs = approval.answer is not None or _holds_alone(memory, observation)
    counts_from = (approval.counts_from or now) if runs else None
    approval = _by_check(approval.model_copy(update={"counts_from": counts_from}), observation)
    is_due = approval.expires_at is not None and now >= approval.expires_at
    approval = approval.model_copy(update={"is_expired": approval.is_expired and is_due})
    memory = memory.model_copy(update={"approval": approval})
    is_open = approval.answer is None and not approval.is_expired and not memory.is_blocked
    return _expired(memory, approval, now) if is_open and is_due else memory


def _asked(incident: Incident) -> Approval | None:
    """The question, if it is about the next step."""
    approval = incident.memory.approval
    return (
        approval
        if approval is not None and approval.is_for(incident.observation.steps[incident.next_step])
        else None
    )


def _holds_alone(memory: Memory, observation: Observation) -> bool:
    """True if nothing but the missing answer holds the step."""
    hold = observation.hold
    is_held = hold is not None and hold.reason not in (HoldReason.APPROVAL_REQUIRED, HoldReason.NO_ADMISSION)
    return not is_held and not memory.is_blocked


def _is_over(approval: Approval, memory: Memory, observation: Observation, now: datetime) -> bool:
    if observation.state is not TargetState.EXPIRED or memory.left_alone or memory.is_shadow:
        return True
    if approval.fact is not None and not approval.fact.same_as(observation.fact):
        return True
    due = memory.plan(observation).course(observation.requests, now).due_step
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


def _by_check(approval: Approval, observation: Observation) -> Approval:
    """The question with the end and the default of the check as it is now."""
    required = observation.approval
    if required is None:
        return approval
    ends = {"expires_at": required.expires_at(approval.counts_from), "default": required.default}
    return approval.model_copy(update=ends)


def _expired(memory: Memory, approval: Approval, now: datetime) -> Memory:
    """The memory after the default of the check; with a default that holds, an Event reports it."""
    answer = _DEFAULTS.get(approval.default)
    if answer is None:
        expired = approval.model_copy(update={"is_expired": True, "is_reported": False})
        return memory.model_copy(update={"approval": expired})
    reason = f"no answer within {in_words(now - (approval.counts_from or approval.asked_at))}"
    return _recorded(memory, approval, answer, reason=reason, identity=BY_DEFAULT, now=now)


def _counts_anew(approval: Approval, observation: Observation) -> bool:
    """True if the timer of the same failure runs again, for example after a time without a detector."""
    fact = approval.fact
    return observation.state is TargetState.WAITING and fact is not None and fact.same_as(observation.fact)


def _counts(given: AnnotatedAnswer, approval: Approval, memory: Memory) -> bool:
    """True if it answers the open question; a rejection takes back an approval whose step was not taken."""
    if given.is_approval:
        return approval.answer is None and not memory.is_blocked
    return approval.answer is not ApprovalAnswer.REJECTED


def _recorded(  # noqa: PLR0913  an answer has these parts
    memory: Memory, approval: Approval, answer: ApprovalAnswer, *, reason: str, identity: str, now: datetime
) -> Memory:
    """The memory after an answer that came without an order, which is recorded like one."""
    order = OrderRecord(order=_ORDER[answer], reason=reason, identity=identity, given=now, step=approval.name)
    return _with_answer(memory.having_been_ordered(order, stands=False), order, approval, answer)


def answered(memory: Memory, order: OrderRecord, answer: ApprovalAnswer) -> Memory | Refusal:
    """The memory after an order that gives this answer, or why it answers no question."""
    approval = waiting(memory)
    if isinstance(approval, Refusal):
        return approval
    if not order.step:
        return Refusal(f"an order to {order.order} names the step; {approval.name} waits", field="step")
    if order.step not in approval.names:
        return Refusal(f"the step {order.step!r} does not wait; {approval.name} does", field="step")
    return _with_answer(memory, order, approval, answer)


def _with_answer(memory: Memory, order: OrderRecord, approval: Approval, answer: ApprovalAnswer) -> Memory:
    by = order.identity or "a person"
    words = f"by {by}{f': {order.reason}' if order.reason else ''}"
    return memory.model_copy(update={"approval": approval.answered(answer, words, order.given)})
