"""Ends of the standing orders hold and abort, and the refusal of a second order with an earlier end. Pure."""

from health.model.order import Blocks, OrderRecord, Refusal
from health.runbook.state import Memory
from objects.timestamps import stamp

UNTIL_RESUME = "until resume or its recovery"


def end_of(order: OrderRecord) -> str:
    """Until when an order that blocks steps stands, for people."""
    return f"until {stamp(order.until)}" if order.until else UNTIL_RESUME


def sooner(memory: Memory, order: OrderRecord) -> Refusal | None:
    """The refusal of an order that would end before the standing one of its name, which it would replace."""
    for standing in memory.standing:
        is_replaced = standing.order == order.order and not standing.is_over(order.given)
        if is_replaced and order.blocks and _ends_before(order, standing):
            return Refusal(f"{_state(standing)}; resume first to shorten it")
    return None


def _ends_before(order: OrderRecord, standing: OrderRecord) -> bool:
    return order.until is not None and (standing.until is None or order.until < standing.until)


def _state(standing: OrderRecord) -> str:
    state = "left alone" if standing.blocks == Blocks.REMEDIATION else "held"
    by = f" by {standing.identity}" if standing.identity else ""
    return f"it is {state} {end_of(standing)}{by}{f': {standing.reason}' if standing.reason else ''}"
