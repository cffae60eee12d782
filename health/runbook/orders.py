"""The orders of people to an incident: one row for each. Pure.

The workflow's handlers, the command, `paramedic show` and the history read this table. An order is recorded
in the memory when it arrives, and the runbook obeys it at its next step: it reads the `blocks` of standing
orders, and never their names.

A standing order ends at its own time, by a second one of the same name, or by the order in `ended_by`.
The rows refuse a second hold or abort with an earlier end.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import Field

from health.model.approval import ApprovalAnswer
from health.model.moves import Phase
from health.model.observation import HoldReason, TargetState
from health.model.order import Blocks, OrderMessage, OrderRecord, Refusal, StandingOrder, StepOrder
from health.model.references import Action
from health.runbook import approvals, skips
from health.runbook.escalation import meant_by, short_name
from health.runbook.order_spec import OrderSpec, Situation, sooner
from health.runbook.state import Memory, NewStart
from objects.short_text import PersonText


class AbortOrder(StandingOrder):
    """Clean up and leave the target alone: until it recovers, for a time, or until `resume`."""


class HoldOrder(StandingOrder):
    """Do nothing new for the target, for a time or until `resume`, and keep existing requests."""


class ResumeOrder(StepOrder):
    """Handle the target again, at once: ends `abort`, `hold` and a wait between two attempts.

    If all steps were tried, or with a `step`, all requests are deleted and the steps are taken again.
    """

    step: PersonText = Field(
        default="", description="Delete all requests and start again at the step of this template."
    )
    """The template of the first step to take; "": the first step of the check."""


class SkipOrder(StepOrder):
    """End the running step of an escalation now, and take the next one when it is admitted.

    It names the step that it ends: sent twice, or after that step has ended, it ends no other.
    """

    step: PersonText = Field(
        default="", description="The template of the step to end; by default the step that runs."
    )


class ApproveOrder(StepOrder):
    """Approve one step that waits for a person. The incident takes it when it is admitted."""

    step: PersonText = Field(
        default="", description="The template of the step; by default the step that waits."
    )


class RejectOrder(StepOrder):
    """Reject one step that waits for a person: it is not taken until `resume`, or for this failure."""

    step: PersonText = Field(
        default="", description="The template of the step; by default the step that waits."
    )


class ClaimOrder(OrderMessage):
    """Say that a person looks at the incident. It blocks nothing, and the next claim replaces it."""


class UnclaimOrder(OrderMessage):
    """End the claim, by any person; the incident goes on as before."""


Answer = TypeVar("Answer", ApproveOrder, RejectOrder)


def _resumed(memory: Memory, order: ResumeOrder) -> Memory:
    is_new_start = bool(order.step) or memory.is_exhausted
    starts_over = NewStart(first_step=order.step) if is_new_start else memory.starts_over
    changes = {"skips_back_off": True, "failing": None, "starts_over": starts_over}
    if memory.is_rejected:
        changes["approval"] = None
    return memory.model_copy(update=changes)


def _unknown_step(order: ResumeOrder, situation: Situation) -> Refusal | None:
    templates = situation.templates
    meant = meant_by(order.step, templates)
    if not order.step or not templates or len(meant) == 1:
        return None
    names = ", ".join(short_name(template, templates) for template in dict.fromkeys(templates))
    problem = f"names {len(meant)} steps" if meant else "is the template of no step"
    return Refusal(f"{order.step!r} {problem}; the templates are {names}", field="step")


def _sooner_refused(order: StandingOrder, situation: Situation) -> Refusal | None:
    return sooner(situation.memory, spec_of(order).record(order, situation.now))


_HOLD = {Phase.WAITING, Phase.HELD, Phase.ACTING, Phase.REMEDIATING}
_ABORT = {*_HOLD, Phase.EXHAUSTED, Phase.HEALTHY_DELAY}
_RESUME = {Phase.LEFT_ALONE, Phase.EXHAUSTED}
_RESUME_AT_A_STEP = {Phase.HELD, Phase.REMEDIATING, Phase.EXHAUSTED}


def _ends_something(situation: Situation) -> bool:
    """True if `resume` ends a standing order, a rejection, a back-off or an exhausted escalation."""
    memory = situation.memory
    is_stopped = situation.phase in _RESUME or memory.is_blocked or memory.is_rejected
    return is_stopped or _waits_to_act(situation)


def _waits_to_act(situation: Situation) -> bool:
    observation = situation.observation
    if situation.phase is not Phase.HELD or observation is None:
        return False
    return observation.hold is None or observation.hold.reason is HoldReason.BACK_OFF


def _first_steps(situation: Situation) -> Sequence[str]:
    if situation.phase not in _RESUME_AT_A_STEP or situation.observation is None:
        return ()
    requests = (step for step in situation.observation.steps if step.action is Action.REQUEST)
    found = tuple(dict.fromkeys(step.template for step in requests))
    return tuple(short_name(template, found) for template in found) if len(found) > 1 else ()


def _skip_refused(order: SkipOrder, situation: Situation) -> Refusal | None:
    observation, memory, now = situation.observation, situation.memory, situation.now
    if observation is None or observation.state is TargetState.UNKNOWN:
        return skips.why_blocked(memory)  # the next observation decides the rest
    result = skips.skip(memory, SKIP.record(order, now), observation, now)
    return result if isinstance(result, Refusal) else None


def _skip_completed(order: SkipOrder, situation: Situation | None) -> SkipOrder | Refusal:
    if order.step:
        return order
    if (
        situation is None
        or situation.observation is None
        or situation.observation.state is TargetState.UNKNOWN
    ):
        return Refusal("its running step is unknown now; name the step with --step")
    running = skips.skippable(situation.memory, situation.observation, situation.now)
    if isinstance(running, Refusal):
        return running
    young = skips.just_begun(running, situation.now)
    return young or order.model_copy(update={"step": running.name})


def _runs_a_step(situation: Situation) -> bool:
    if situation.observation is None:
        return False
    running = skips.skippable(situation.memory, situation.observation, situation.now)
    return not isinstance(running, Refusal)


def _answer_refused(order: Answer, situation: Situation) -> Refusal | None:
    spec = spec_of(order)
    record = spec.record(order, situation.now)
    result = spec.decide(situation.memory, record) if spec.decide else None
    return result if isinstance(result, Refusal) else None


def _answer_completed(order: Answer, situation: Situation | None) -> Answer | Refusal:
    if order.step:
        return order
    if situation is None:
        return Refusal("the incident does not say now which step waits; name the step with --step")
    approval = approvals.waiting(situation.memory)
    if isinstance(approval, Refusal):
        return approval
    young = approvals.just_asked(situation.memory, approval, situation.now)
    return young or order.model_copy(update={"step": approval.name})


def _waits_for_an_answer(situation: Situation) -> bool:
    return not isinstance(approvals.waiting(situation.memory), Refusal)


def claim_of(memory: Memory) -> OrderRecord | None:
    return next((order for order in memory.standing if order.order == CLAIM.name), None)


RESUME = OrderSpec(
    name="resume",
    message=ResumeOrder,
    help=(
        "Handle the target again, at once.\n\n"
        "It ends abort, hold and back-off. An exhausted escalation starts again."
    ),
    answer="takes care of {target} again",
    effect=_resumed,
    refuse=_unknown_step,
    is_offered=_ends_something,
    steps=_first_steps,
)
SKIP = OrderSpec(
    name="skip",
    message=SkipOrder,
    help="End the running step of an escalation.\n\nThe next one is taken when it is admitted.",
    answer=(
        "ends the step {order.step} of {target} with the next answer of the detector, "
        "and takes the next one when it is admitted"
    ),
    obey=skips.skip,
    refuse=_skip_refused,
    complete=_skip_completed,
    is_offered=_runs_a_step,
)
HOLD = OrderSpec(
    name="hold",
    message=HoldOrder,
    help="Do nothing new for the target.\n\nUntil the time is over or resume; existing requests stay.",
    answer="does nothing new for {target} and keeps what exists",
    label="Hold",
    blocks=Blocks.STEPS,
    refuse=_sooner_refused,
    is_offered=lambda situation: situation.phase in _HOLD and not situation.memory.held,
)
ABORT = OrderSpec(
    name="abort",
    message=AbortOrder,
    help="Clean up and leave the target alone.\n\nUntil it has recovered, the time is over, or resume.",
    answer="cleans up and leaves {target} alone",
    label="Left alone",
    blocks=Blocks.REMEDIATION,
    refuse=_sooner_refused,
    is_offered=lambda situation: situation.phase in _ABORT and not situation.memory.left_alone,
)
APPROVE = OrderSpec(
    name="approve",
    message=ApproveOrder,
    help="Approve the step that waits for a person.\n\nIt is taken when it is admitted.",
    answer="approves the step {order.step} of {target}, which is taken when it is admitted",
    decide=lambda memory, order: approvals.answered(memory, order, ApprovalAnswer.APPROVED),
    refuse=_answer_refused,
    complete=_answer_completed,
    is_offered=_waits_for_an_answer,
)
REJECT = OrderSpec(
    name="reject",
    message=RejectOrder,
    help="Reject the step that waits for a person.\n\nIt is not taken until resume, or for this failure.",
    answer="rejects the step {order.step} of {target}, which is not taken until resume",
    decide=lambda memory, order: approvals.answered(memory, order, ApprovalAnswer.REJECTED),
    refuse=_answer_refused,
    complete=_answer_completed,
    is_offered=_waits_for_an_answer,
)
CLAIM = OrderSpec(
    name="claim",
    message=ClaimOrder,
    is_note=True,
    help="Say that you look at the incident.\n\nIt goes on; the next claim replaces yours.",
    answer="shows your claim on {target} until unclaim, and goes on",
    label="Claimed",
    ended_by="unclaim",
    is_offered=lambda situation: situation.phase is not Phase.ENDED and not claim_of(situation.memory),
)
UNCLAIM = OrderSpec(
    name="unclaim",
    message=UnclaimOrder,
    is_note=True,
    help="End the claim of an incident.",
    answer="shows no claim on {target}",
    refuse=lambda _, situation: None if claim_of(situation.memory) else Refusal("it is not claimed"),
    is_offered=lambda situation: claim_of(situation.memory) is not None,
)
ORDERS: Mapping[str, OrderSpec[Any]] = MappingProxyType(
    {spec.name: spec for spec in (ABORT, HOLD, SKIP, RESUME, APPROVE, REJECT, UNCLAIM, CLAIM)}
)
"""Each order by its name, the one with the largest effect first."""


def spec_of(order: OrderMessage) -> OrderSpec[Any]:
    """The row of a message; every message class has one."""
    return next(spec for spec in ORDERS.values() if spec.message is type(order))


def ended_by(order: OrderRecord) -> str:
    """The name of the order that ends this one while it stands."""
    spec = ORDERS.get(order.order)
    return spec.ended_by if spec else RESUME.name
