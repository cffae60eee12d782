"""Orders of people that an incident accepts, and the change of each in its memory. Pure.

An order is only recorded when it arrives; the runbook obeys it at its next step.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from temporalio.exceptions import ApplicationError

from health.model.incident_result import OrderRecord
from health.runbook.memory import Memory, NewStart
from workflows.kit.standing_orders import StandingOrder
from workflows.messages import UNKNOWN_STEP, AbortOrder, HoldOrder, ResumeOrder

Order = AbortOrder | HoldOrder | ResumeOrder
NAMES: Mapping[type[Order], str] = MappingProxyType(
    {AbortOrder: "abort", HoldOrder: "hold", ResumeOrder: "resume"}
)


def ordered(memory: Memory, order: Order, now: datetime) -> Memory:
    """The memory after an order given now; a pending clean-up is tried at once."""
    until = order.until(now) if isinstance(order, StandingOrder) else None
    record = OrderRecord(order=NAMES[type(order)], reason=order.reason, given=now, until=until)
    changes = _changes(memory, order, record) | {"clean_up_at": None}
    return memory.having_been_ordered(record).model_copy(update=changes)


def refuse_unknown_step(order: ResumeOrder, templates: Sequence[str]) -> None:
    """Refuse a first step that none of the known templates has, if any are known.

    Raises:
        ApplicationError: no step uses that template; its type is UNKNOWN_STEP.

    """
    if order.step and templates and order.step not in templates:
        known = ", ".join(templates)
        message = f"no step uses the template {order.step!r}; the templates are {known}"
        raise ApplicationError(message, type=UNKNOWN_STEP)


def _changes(memory: Memory, order: Order, record: OrderRecord) -> dict[str, object]:
    match order:
        case AbortOrder():
            return {"left_alone": record}
        case HoldOrder():
            return {"held": record}
        case ResumeOrder(step=step):
            is_new_start = bool(step) or memory.is_exhausted
            steps = {"starts_over": NewStart(first_step=step)} if is_new_start else {}
            return {"left_alone": None, "held": None, "skips_back_off": True, "failing": None, **steps}
