"""The Event of a person's order to an incident, on the target; one for the order, one for a later refusal."""

from health.kinds.registry import CHECK_KINDS
from health.model.order import OrderRecord
from health.model.references import IncidentReference
from objects.event import Event, Severity
from objects.timestamps import stamp


def order_event(incident: IncidentReference, order: OrderRecord) -> Event:
    """The Event of this order; its seed is the same in every question that has the order."""
    until = f", until {stamp(order.until)}" if order.until else ""
    refused = f"; refused: {order.refused}" if order.refused else ""
    of_order = (incident.workflow_id, order.order, order.step, order.given.isoformat())
    return Event(
        seed="\n".join((*of_order, "refused" if order.refused else "given")),
        severity=Severity.WARNING if order.refused else Severity.NORMAL,
        reason="OrderRefused" if order.refused else "OrderReceived",
        message=f"{incident.check}: {order.words}{until}{refused}",
        subject=CHECK_KINDS[incident.check.group_kind].involved(incident.target),
    )
