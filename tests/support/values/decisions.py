"""A decision about a target, as `check`, `explain` and `simulate` get it."""

from detector.inspection.preview import TargetPreview
from health.model.observation import Hold, Observation
from health.model.order import OrderMessage
from health.model.references import IncidentReference
from health.runbook.decide import as_reported, preview
from health.runbook.orders import ordered
from health.runbook.state import Memory
from tests.support.values.builders import INCIDENT, MINUTE, NOW


def decision(
    observation: Observation,
    *orders: OrderMessage,
    incident: IncidentReference = INCIDENT,
    found: Hold | None = None,
    is_unheard: bool = False,
) -> TargetPreview:
    """The decision now; the orders were given a minute ago and reported, and no slot was asked for."""
    memory = Memory()
    for order in orders:
        memory = ordered(memory, order, NOW - MINUTE)
    unasked = observation.model_copy(update={"admission": None})
    return TargetPreview(
        incident=incident,
        observation=unasked,
        outlook=preview(unasked, as_reported(memory.progress), NOW),
        found=found,
        is_unheard=is_unheard,
    )
