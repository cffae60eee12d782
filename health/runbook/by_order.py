"""ByOrder: the remediation that a person ordered of a target that its check finds healthy (ADR 51). Pure.

The detector counts such a target as unhealthy while the order is on it. A boot of the Node fulfils the order,
and the detector then sees the target healthy. The incident ends the order earlier, by the first row that
matches; an ended order stays ended, and the clean-up removes it from the target.

| state                                             | the order                          |
|---------------------------------------------------|------------------------------------|
| `abort` stands                                    | is over                            |
| the order has expired, or begins in the future    | is over                            |
| a request made since the order reports success    | is over, whether or not it booted  |

A target that conditions call unhealthy is remediated as any other, with and without an order.
"""

from datetime import datetime

from health.check.ordered import is_by_order
from health.model.observation import ENDED, Observation, TargetState
from health.model.order import OrderRecord
from health.model.remediation_order import RemediationOrder
from health.runbook.state import Memory

REMEDIATE = "remediate"
"""The name of the order in records of the incident."""


def taken(memory: Memory, observation: Observation, now: datetime) -> Memory:
    """The memory with the order on the target, recorded once, and with its end."""
    order = observation.order
    if order is None:
        return memory
    if memory.order is None or memory.order.given != order.given:
        memory = memory.having_been_ordered(_record(order), stands=False)
        memory = memory.model_copy(update={"order": order, "order_ended": ""})
    ended = memory.order_ended or _why_over(order, observation, memory, now)
    return memory.model_copy(update={"order_ended": ended})


def without_ended_order(observation: Observation, memory: Memory) -> Observation:
    """The observation, in which a target that only an ended order makes unhealthy counts as healthy."""
    if observation.state in ENDED or not is_by_order(observation.fact) or _is_in_force(observation, memory):
        return observation
    ended = f": {memory.order_ended}" if memory.order_ended else ""
    reason = f"healthy, and the order to remediate it is over{ended}"
    return observation.model_copy(update={"state": TargetState.HEALTHY, "reason": reason})


def expires_at(observation: Observation, memory: Memory) -> datetime | None:
    """When the order that alone makes the target unhealthy expires; None: there is none."""
    order = observation.order
    is_alone = is_by_order(observation.fact) and observation.state not in ENDED
    return order.until if order is not None and is_alone and _is_in_force(observation, memory) else None


def _is_in_force(observation: Observation, memory: Memory) -> bool:
    if observation.order is None:  # it was just removed
        return False
    is_known = memory.order is not None and memory.order.given == observation.order.given
    return not (is_known and memory.order_ended)


def _why_over(order: RemediationOrder, observation: Observation, memory: Memory, now: datetime) -> str:
    """Why the order is over; "": it is not."""
    if memory.left_alone is not None:
        return "a person aborted it"
    if over := order.why_over(now):
        return over
    since = order.given.replace(microsecond=0)
    if any(request.succeeded and request.created >= since for request in observation.requests):
        return "its remediator reports success"
    return ""


def _record(order: RemediationOrder) -> OrderRecord:
    return OrderRecord(
        order=REMEDIATE,
        reason=order.reason,
        identity=order.identity,
        given=order.given,
        until=order.until,
        is_forced=order.is_forced,
    )
