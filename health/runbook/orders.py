"""The orders of people to an incident: one row for each. Pure.

The workflow's handlers, the command, `paramedic show` and the history read this table. An order is recorded
in the memory when it arrives, and the runbook obeys it at its next step: it reads the `blocks` of standing
orders, and never their names.

A standing order ends at its own time, by a second one of the same name, or by the order in `ended_by`.
The rows refuse a second hold or abort with an earlier end.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from pydantic import Field

from health.model.approval import ApprovalAnswer
from health.model.moves import Phase
from health.model.observation import HoldReason, Observation, TargetState
from health.model.order import Blocks, OrderMessage, OrderRecord, Refusal, StandingOrder, StepOrder
from health.model.references import Action, TemplateReference
from health.runbook.escalation import meant_by, short_name
from health.runbook.memory_parts import NewStart
from health.runbook.state import Memory
from health.runbook.step_orders import (
    JUST_BEGUN,
    RunningStep,
    answered,
    running_step,
    skipped,
    waiting_question,
    why_blocked,
)
from objects.durations import in_words
from objects.frozen import OpenEnum
from objects.short_text import PersonText
from objects.timestamps import stamp

REMEDIATE = "remediate"
"""The name of an order to remediate in records of the incident. It is an annotation, so it has no row."""
UNTIL_RESUME = "until resume or its recovery"


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


Message = TypeVar("Message", bound=OrderMessage)


@dataclass(frozen=True, kw_only=True)
class OrderContext:
    """The state of an incident, by which an order is refused, or offered to a person."""

    phase: OpenEnum[Phase]
    memory: Memory
    observation: Observation | None
    """The latest observation; None: unknown while the incident asks the detector."""
    now: datetime
    templates: Sequence[TemplateReference] = ()
    """The templates of the check, as last seen."""


@dataclass(frozen=True, kw_only=True)
class OrderSpec(Generic[Message]):
    """One order: its message, its effect, when it is refused or offered, and its words."""

    name: str
    """The name of its update, of its signal and of its command."""
    message: type[Message]
    help: str
    """The help of its command; the first line stands in the list of commands."""
    answer: str
    """The answer of the update, with the fields of `order`, and followed by the reason if there is one."""
    is_offered: Callable[[OrderContext], bool]
    """True if `paramedic show` proposes the order in this state."""
    label: str | None = None
    """Its line in `paramedic show` while it stands; None: the order does not stand."""
    is_note: bool = False
    """True if it changes what people see and nothing that the incident does."""
    ended_by: str = "resume"
    """The order that ends it while it stands."""
    blocks: Blocks | None = None
    """The restriction while the order stands."""
    effect: Callable[[Memory, Message], Memory] = lambda memory, _: memory
    """Its change of the memory, beside standing and its record."""
    decide: Callable[[Memory, OrderRecord], Memory | Refusal] | None = None
    """Its effect by the memory alone, or its refusal, at once."""
    obey: Callable[[Memory, OrderRecord, Observation, datetime], Memory | Refusal] | None = None
    """Its effect by an observation after the order, where the memory alone is not enough."""
    refuse: Callable[[Message, OrderContext], Refusal | None] = lambda _order, _context: None
    """Why it would have no effect, beside what `decide` and `obey` refuse; None: it would have one."""
    complete: Callable[[Message, OrderContext | None], Message | Refusal] | None = None
    """Adds to the message of a command what the state of the incident supplies; None: an unknown state."""
    steps: Callable[[OrderContext], Sequence[str]] = lambda _context: ()
    """The values of `step` that `paramedic show` proposes."""

    def record(self, order: Message, now: datetime) -> OrderRecord:
        return OrderRecord(
            order=self.name,
            reason=order.reason,
            identity=order.identity,
            order_id=order.order_id,
            given=now,
            until=order.until(now) if isinstance(order, StandingOrder) else None,
            blocks=self.blocks,
            step=order.step if isinstance(order, StepOrder) else "",
            is_pending=self.obey is not None,
        )

    def refused(self, order: Message, context: OrderContext) -> Refusal | None:
        """Why the incident would not obey the order now; None: it would, or the next observation decides."""
        memory, observation, record = context.memory, context.observation, self.record(order, context.now)
        if (refusal := self.refuse(order, context) or _sooner(memory, record)) is not None:
            return refusal
        result: Memory | Refusal | None = None
        if self.decide is not None:
            result = self.decide(memory, record)
        elif self.obey is not None and (observation is None or observation.state is TargetState.UNKNOWN):
            result = why_blocked(memory)
        elif self.obey is not None and observation is not None:
            result = self.obey(memory, record, observation, context.now)
        return result if isinstance(result, Refusal) else None


def end_of(order: OrderRecord) -> str:
    """Until when an order that blocks steps stands, for people."""
    return f"until {stamp(order.until)}" if order.until else UNTIL_RESUME


def _sooner(memory: Memory, order: OrderRecord) -> Refusal | None:
    """The refusal of an order that would end before the standing one of its name, which it would replace."""
    for standing in memory.standing:
        is_replaced = standing.order == order.order and not standing.is_over(order.given)
        if not is_replaced or order.blocks is None or order.until is None:
            continue
        if standing.until is None or order.until < standing.until:
            state = "left alone" if standing.blocks == Blocks.REMEDIATION else "held"
            by = f" by {standing.identity}" if standing.identity else ""
            why = f": {standing.reason}" if standing.reason else ""
            return Refusal(f"it is {state} {end_of(standing)}{by}{why}; resume first to shorten it")
    return None


def _skip_completed(order: SkipOrder, context: OrderContext | None) -> SkipOrder | Refusal:
    if order.step:
        return order
    seen = context.observation if context is not None else None
    if context is None or seen is None or seen.state is TargetState.UNKNOWN:
        return Refusal("its running step is unknown now; name the step with --step")
    running = running_step(context.memory, seen, context.now)
    if isinstance(running, Refusal):
        return running
    if running.is_last:
        return Refusal(f"no step follows {running.name}")
    age = context.now - running.request.created
    if age < JUST_BEGUN:  # the step may have begun after the order was written
        return Refusal(f"{running.name} began only {in_words(age)} ago; name it with --step")
    return order.model_copy(update={"step": running.name})


def _runs_a_step(context: OrderContext) -> bool:
    if context.observation is None:
        return False
    running = running_step(context.memory, context.observation, context.now)
    return isinstance(running, RunningStep) and not running.is_last


Answer = TypeVar("Answer", ApproveOrder, RejectOrder)


def _answer_completed(order: Answer, context: OrderContext | None) -> Answer | Refusal:
    if order.step:
        return order
    if context is None:
        return Refusal("the incident does not say now which step waits; name the step with --step")
    approval = waiting_question(context.memory)
    if isinstance(approval, Refusal):
        return approval
    age = context.now - approval.asked_at
    if age < JUST_BEGUN and context.memory.has_acted:  # it may be meant for an earlier step
        return Refusal(f"{approval.name} waits only since {in_words(age)}; name it with --step")
    return order.model_copy(update={"step": approval.name})


def _waits_for_an_answer(context: OrderContext) -> bool:
    return not isinstance(waiting_question(context.memory), Refusal)


def _resumed(memory: Memory, order: ResumeOrder) -> Memory:
    is_new_start = bool(order.step) or memory.is_exhausted
    return replace(
        memory,
        skips_back_off=True,
        failing=None,
        starts_over=NewStart(first_step=order.step or None) if is_new_start else memory.starts_over,
        approval=None if memory.is_rejected else memory.approval,
    )


def _unknown_step(order: ResumeOrder, context: OrderContext) -> Refusal | None:
    templates = context.templates
    meant = meant_by(order.step, templates)
    if not order.step or not templates or len(meant) == 1:
        return None
    names = ", ".join(short_name(template, templates) for template in dict.fromkeys(templates))
    problem = f"names {len(meant)} steps" if meant else "is the template of no step"
    return Refusal(f"{order.step!r} {problem}; the templates are {names}", field="step")


_HOLD = {Phase.WAITING, Phase.HELD, Phase.ACTING, Phase.REMEDIATING}
_ABORT = {*_HOLD, Phase.EXHAUSTED, Phase.HEALTHY_DELAY}
_RESUME_AT_A_STEP = {Phase.HELD, Phase.REMEDIATING, Phase.EXHAUSTED}


def _ends_something(context: OrderContext) -> bool:
    """True if `resume` ends a standing order, a rejection, a back-off or an exhausted escalation."""
    memory, observation = context.memory, context.observation
    if context.phase in (Phase.LEFT_ALONE, Phase.EXHAUSTED) or memory.is_blocked or memory.is_rejected:
        return True
    if context.phase is not Phase.HELD or observation is None:
        return False
    return observation.hold is None or observation.hold.reason is HoldReason.BACK_OFF


def _first_steps(context: OrderContext) -> Sequence[str]:
    if context.phase not in _RESUME_AT_A_STEP or context.observation is None:
        return ()
    requests = (step for step in context.observation.steps if step.action is Action.REQUEST)
    found = tuple(dict.fromkeys(step.template for step in requests))
    return tuple(short_name(template, found) for template in found) if len(found) > 1 else ()


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
    obey=skipped,
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
    is_offered=lambda context: context.phase in _HOLD and not context.memory.held,
)
ABORT = OrderSpec(
    name="abort",
    message=AbortOrder,
    help="Clean up and leave the target alone.\n\nUntil it has recovered, the time is over, or resume.",
    answer="cleans up and leaves {target} alone",
    label="Left alone",
    blocks=Blocks.REMEDIATION,
    is_offered=lambda context: context.phase in _ABORT and not context.memory.left_alone,
)
APPROVE = OrderSpec(
    name="approve",
    message=ApproveOrder,
    help="Approve the step that waits for a person.\n\nIt is taken when it is admitted.",
    answer="approves the step {order.step} of {target}, which is taken when it is admitted",
    decide=lambda memory, order: answered(memory, order, ApprovalAnswer.APPROVED),
    complete=_answer_completed,
    is_offered=_waits_for_an_answer,
)
REJECT = OrderSpec(
    name="reject",
    message=RejectOrder,
    help="Reject the step that waits for a person.\n\nIt is not taken until resume, or for this failure.",
    answer="rejects the step {order.step} of {target}, which is not taken until resume",
    decide=lambda memory, order: answered(memory, order, ApprovalAnswer.REJECTED),
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
    is_offered=lambda context: context.phase is not Phase.ENDED and not claim_of(context.memory),
)
UNCLAIM = OrderSpec(
    name="unclaim",
    message=UnclaimOrder,
    is_note=True,
    help="End the claim of an incident.",
    answer="shows no claim on {target}",
    refuse=lambda _, context: None if claim_of(context.memory) else Refusal("it is not claimed"),
    is_offered=lambda context: claim_of(context.memory) is not None,
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


def ordered(memory: Memory, order: OrderMessage, now: datetime) -> Memory:
    """The memory after an order given now; a pending clean-up is tried at once.

    The command may send one order twice, as an update and then as a signal. A pending order is recorded once,
    also without an id.
    """
    if is_repeated(order, memory):
        return memory
    spec = spec_of(order)
    record = spec.record(order, now)
    if any(
        earlier.is_pending and earlier.model_copy(update={"given": now}) == record
        for earlier in memory.orders
    ):
        return memory
    if (refusal := _sooner(memory, record)) is not None:
        return _decided(memory.with_order(record, stands=False), -1, refusal, now)
    memory = memory.with_order(record, stands=spec.label is not None)
    standing = tuple(earlier for earlier in memory.standing if ended_by(earlier) != spec.name)
    clean_up_at = memory.clean_up_at if spec.is_note else None
    memory = spec.effect(replace(memory, standing=standing, clean_up_at=clean_up_at), order)
    return memory if spec.decide is None else _decided(memory, -1, spec.decide(memory, record), now)


def answer_to(order: OrderMessage, target: object, before: OrderContext) -> str:
    """The answer to an order given in the state `before`, with its end and the orders that it ends."""
    spec = spec_of(order)
    answer = spec.answer.format(target=target, order=order)
    ended = ", and ".join(_ended(order, before))
    reason = f": {order.reason}" if order.reason else ""
    record, end = spec.record(order, before.now), ""
    if record.blocks is not None:
        remaining = f" (in {in_words(record.until - record.given)})" if record.until else ""
        end = f"; {end_of(record)}{remaining}"
    return f"{answer}{reason}{end}{f'; ended {ended}' if ended else ''}"


def _ended(order: OrderMessage, before: OrderContext) -> Iterator[str]:
    """The standing orders, and the rejection, that the order ends, each with its person and time."""
    memory = before.memory.at(before.now)
    after = ordered(memory, order, before.now)
    for earlier in memory.standing:
        if earlier not in after.standing:
            yield f"the {earlier.words} (of {stamp(earlier.given)})"
    approval = memory.approval
    if approval is not None and approval.answered_at is not None and after.approval is None:
        yield f"the rejection of {approval.name} {approval.answered_by} (of {stamp(approval.answered_at)})"


def is_repeated(order: OrderMessage, memory: Memory) -> bool:
    """True if the incident got this order before, in this run or an earlier one."""
    name, order_id = spec_of(order).name, order.order_id
    return bool(order_id) and any(
        (record.order, record.order_id) == (name, order_id) for record in memory.orders
    )


def _decided(memory: Memory, number: int, result: Memory | Refusal, now: datetime) -> Memory:
    """The memory after the decision about the order at this index."""
    refused = result.why if isinstance(result, Refusal) else ""
    memory = memory if isinstance(result, Refusal) else result
    orders = list(memory.orders)
    is_reported = orders[number].is_reported and not refused
    changes = {"is_pending": False, "refused": refused, "decided": now, "is_reported": is_reported}
    orders[number] = orders[number].model_copy(update=changes)
    return replace(memory, orders=tuple(orders))


def obeyed(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The memory after the pending orders are obeyed or refused; an unknown state decides nothing."""
    if observation.state is TargetState.UNKNOWN:
        return memory
    for number, record in enumerate(memory.orders):
        spec = ORDERS.get(record.order)
        if record.is_pending and spec is not None and spec.obey is not None:
            memory = _decided(memory, number, spec.obey(memory, record, observation, now), now)
    return memory
