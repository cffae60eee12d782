"""The entries that moves and orders add to the timeline of an incident. Pure."""

from collections.abc import Iterator
from datetime import datetime

from health.model.moves import (
    AskApproval,
    Move,
    Phase,
    RecordStep,
    RemoveRequests,
    SaveEvidence,
    TakeStep,
    Wait,
)
from health.model.observation import Observation
from health.model.order import OrderRecord
from health.model.references import TargetReference
from health.model.timeline import TimelineEntry
from health.runbook.state import Memory
from health.runbook.task_notes import deleting
from objects.timestamps import stamp


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
            yield TimelineEntry(at=now, phase=phase, what=_ordered(order), who=order.identity or None)


def _ordered(order: OrderRecord) -> str:
    """The order without its person, its end, and whether it is refused."""
    until = f", until {stamp(order.until)}" if order.until else ""
    refused = f"; refused: {order.refused}" if order.refused else ""
    return f"{order.model_copy(update={'identity': ''}).words}{until}{refused}"
