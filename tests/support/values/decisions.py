"""A decision about a target, as `check`, `explain` and `simulate` get it."""

from detector.inspection.decisions import TargetDecision
from health.model.observation import Observation
from health.model.order import OrderMessage
from health.model.references import TargetReference
from health.runbook.obeying import ordered
from health.runbook.outlook import outlook
from health.runbook.state import Memory
from tests.support.values.builders import INCIDENT, MINUTE, NOW


def decision(
    observation: Observation,
    *orders: OrderMessage,
    target: TargetReference = INCIDENT.target,
    unknown: str = "",
    is_policy_unknown: bool = False,
) -> TargetDecision:
    """The decision now; the orders were given a minute ago, and no slot was asked for."""
    memory = Memory()
    for order in orders:
        memory = ordered(memory, order, NOW - MINUTE)
    unasked = observation.model_copy(update={"admission": None})
    return TargetDecision(
        target=target,
        observation=unasked,
        outlook=outlook(unasked, memory, NOW),
        unknown=unknown,
        is_policy_unknown=is_policy_unknown,
    )
