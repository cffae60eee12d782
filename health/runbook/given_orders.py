"""Changes the memory of an incident by an order, and answers it, as the table of orders says. Pure."""

from collections.abc import Iterator
from datetime import datetime

from health.model.observation import Observation, TargetState
from health.model.order import OrderMessage, Refusal
from health.runbook.order_spec import Situation, end_of, sooner
from health.runbook.orders import ORDERS, ended_by, spec_of
from health.runbook.state import Memory
from objects.durations import in_words
from objects.timestamps import stamp


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
    if (refusal := sooner(memory, record)) is not None:
        return _decided(memory.having_been_ordered(record, stands=False), -1, refusal, now)
    memory = memory.having_been_ordered(record, stands=bool(spec.label))
    standing = tuple(earlier for earlier in memory.standing if ended_by(earlier) != spec.name)
    clean_up_at = memory.clean_up_at if spec.is_note else None
    memory = memory.model_copy(update={"standing": standing, "clean_up_at": clean_up_at})
    memory = spec.effect(memory, order)
    return memory if spec.decide is None else _decided(memory, -1, spec.decide(memory, record), now)


def answer_to(order: OrderMessage, target: object, before: Situation) -> str:
    """The answer to an order given in the situation `before`, with its end and the orders that it ends."""
    spec = spec_of(order)
    answer = spec.answer.format(target=target, order=order)
    ended = ", and ".join(_ended(order, before))
    reason = f": {order.reason}" if order.reason else ""
    record, end = spec.record(order, before.now), ""
    if record.blocks is not None:
        remaining = f" (in {in_words(record.until - record.given)})" if record.until else ""
        end = f"; {end_of(record)}{remaining}"
    return f"{answer}{reason}{end}{f'; ended {ended}' if ended else ''}"


def _ended(order: OrderMessage, before: Situation) -> Iterator[str]:
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
    if isinstance(result, Refusal):
        return memory.having_decided(number, now, result.why)
    return result.having_decided(number, now)


def obeyed(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The memory after the pending orders are obeyed or refused; an unknown state decides nothing."""
    if observation.state is TargetState.UNKNOWN:
        return memory
    for number, record in enumerate(memory.orders):
        spec = ORDERS.get(record.order)
        if record.is_pending and spec is not None and spec.obey is not None:
            memory = _decided(memory, number, spec.obey(memory, record, observation, now), now)
    return memory
