"""Approving: when a step waits for a person, what answers the question, and when the question is over. Pure.

The incident asks once its next step is due and nothing else of check, target and incident holds it. It asks
for one step of one failure: the question, and so its answer, is over when that step was taken, the target
recovers or fails in another way, another step is next, the check needs no approval any more, or in shadow. An
approval is no admission: the detector decides about limits and holds after it, and the act revalidates.

A rejected step is not taken until `resume`, which asks again, or until the failure is over. `resume --step`
begins with another step.

The first row that matches refuses an order:

| state                                      | why                                                    |
|--------------------------------------------|--------------------------------------------------------|
| a person's order blocks steps, or shadow   | an approval is no `resume`                             |
| no step waits                              | an approval is for one question, and none was asked    |
| the order names no step, or another one    | it must not answer the question about a later step     |
| the question has another answer            | the first answer counts                                |

The default of the check answers a question that expired, unless a person's order blocks steps then.
"""

from collections.abc import Mapping
from datetime import datetime

from health.model.approval import Approval, ApprovalAnswer, ApprovalDefault, names_of
from health.model.observation import Observation, TargetState
from health.model.order import OrderRecord, Refusal
from health.model.references import Step
from health.runbook.incident import Incident
from health.runbook.skipping import JUST_BEGUN, why_blocked
from health.runbook.state import Memory
from objects.durations import in_words

BY_DEFAULT = "paramedic.dev/approval-default"
"""The identity of an order that the annotation of the check gave."""
_DEFAULTS: Mapping[str, tuple[str, ApprovalAnswer]] = {
    ApprovalDefault.APPROVE: ("approve", ApprovalAnswer.APPROVED),
    ApprovalDefault.REJECT: ("reject", ApprovalAnswer.REJECTED),
}


def approved(memory: Memory, order: OrderRecord) -> Memory | Refusal:
    """The memory after an order `approve`, or why it answers no question."""
    return _answered(memory, order, ApprovalAnswer.APPROVED)


def rejected(memory: Memory, order: OrderRecord) -> Memory | Refusal:
    """The memory after an order `reject`, or why it answers no question."""
    return _answered(memory, order, ApprovalAnswer.REJECTED)


def waiting(memory: Memory) -> Approval | Refusal:
    """The question that waits for an answer, or why an order would answer none."""
    if refusal := why_blocked(memory):
        return refusal
    asked = memory.approval
    if asked is None:
        return Refusal("no step waits for an approval")
    return asked if asked.answer is None else Refusal(asked.words)


def just_asked(memory: Memory, asked: Approval, now: datetime) -> Refusal | None:
    """The refusal of an order without a name if it may be meant for an earlier step."""
    age = now - asked.asked_at
    if age >= JUST_BEGUN or not memory.has_acted:
        return None
    return Refusal(f"{asked.name} waits only since {in_words(age)}; name it with --step")


def question(incident: Incident) -> Approval:
    steps = incident.observation.steps
    step = steps[incident.next_step]
    asked = Approval(
        step=step, names=names_of(step, steps), asked_at=incident.now, fact=incident.observation.fact
    )
    return _by_check(asked, incident.observation)


def is_missing(incident: Incident) -> bool:
    """True if the next step needs an approval and is neither approved nor rejected."""
    required, asked = incident.observation.approval, _asked(incident)
    if required is None or incident.next_step not in required.steps or incident.memory.is_shadow:
        return False
    return asked is None or asked.answer not in (ApprovalAnswer.APPROVED, ApprovalAnswer.REJECTED)


def is_asked(incident: Incident) -> bool:
    """True if the incident has asked for the approval of the next step."""
    return _asked(incident) is not None


def is_rejected(incident: Incident) -> bool:
    asked = _asked(incident)
    return asked is not None and asked.answer is ApprovalAnswer.REJECTED


def followed(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The memory once the question is over, or expired, by an observation that knows the state."""
    asked = memory.approval
    if asked is None or observation.state is TargetState.UNKNOWN:
        return memory
    if _is_over(asked, memory, observation, now):
        return memory.model_copy(update={"approval": None})
    asked = _by_check(asked, observation)
    memory = memory.model_copy(update={"approval": asked})
    is_open = asked.answer is None and not asked.is_expired and not memory.is_blocked
    if not is_open or asked.expires_at is None or now < asked.expires_at:
        return memory
    return _expired(memory, asked, now)


def _asked(incident: Incident) -> Approval | None:
    """The question, if it is about the next step."""
    asked = incident.memory.approval
    return asked if asked is not None and asked.is_for(_next(incident)) else None


def _next(incident: Incident) -> Step:
    return incident.observation.steps[incident.next_step]


def _is_over(asked: Approval, memory: Memory, observation: Observation, now: datetime) -> bool:
    if observation.state is not TargetState.EXPIRED or memory.left_alone or memory.is_shadow:
        return True
    if asked.fact is not None and not asked.fact.same_as(observation.fact):
        return True
    due = memory.plan(observation).course(observation.requests, now).due_step
    if due is None or observation.under_way or not asked.is_for(observation.steps[due]):
        return True
    required = observation.approval
    is_required = required is not None and due in required.steps
    return not is_required and asked.answer is not ApprovalAnswer.REJECTED


def _by_check(asked: Approval, observation: Observation) -> Approval:
    """The question with the end and the default of the check as it is now."""
    required = observation.approval
    if required is None:
        return asked
    ends = {"expires_at": required.expires_at(asked.asked_at), "default": required.default}
    return asked.model_copy(update=ends)


def _expired(memory: Memory, asked: Approval, now: datetime) -> Memory:
    """The memory after the default of the check; with a default that holds, an Event reports it."""
    known = _DEFAULTS.get(asked.default)
    if known is None:
        expired = asked.model_copy(update={"is_expired": True, "is_reported": False})
        return memory.model_copy(update={"approval": expired})
    name, answer = known
    reason = f"no answer within {in_words(now - asked.asked_at)}"
    order = OrderRecord(order=name, reason=reason, identity=BY_DEFAULT, given=now, step=asked.name)
    return _with_answer(memory.having_been_ordered(order, stands=False), order, asked, answer)


def _answered(memory: Memory, order: OrderRecord, answer: ApprovalAnswer) -> Memory | Refusal:
    asked = waiting(memory)
    if isinstance(asked, Refusal):
        return asked
    if not order.step:
        return Refusal(f"an order to {order.order} names the step; {asked.name} waits", field="step")
    if order.step not in asked.names:
        return Refusal(f"the step {order.step!r} does not wait; {asked.name} does", field="step")
    return _with_answer(memory, order, asked, answer)


def _with_answer(memory: Memory, order: OrderRecord, asked: Approval, answer: ApprovalAnswer) -> Memory:
    by = order.identity or "a person"
    words = f"by {by}{f': {order.reason}' if order.reason else ''}"
    return memory.model_copy(update={"approval": asked.answered(answer, words, order.given)})
