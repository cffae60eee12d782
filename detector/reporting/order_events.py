"""The Events about orders to an incident, and about its questions to people.

An order has one Event, and one for a later refusal. A question has one, and one when it expires. They are
on the target.
"""

from health.kinds.registry import CHECK_KINDS
from health.model.approval import Approval
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


def approval_event(incident: IncidentReference, approval: Approval) -> Event:
    """The Event that asks for this approval, or says that the question expired."""
    reason = "ApprovalExpired" if approval.is_expired else "ApprovalRequired"
    expired_at = (stamp(approval.expires_at),) if approval.is_expired and approval.expires_at else ()
    question = (incident.workflow_id, approval.name, approval.asked_at.isoformat())
    return Event(
        seed="\n".join((*question, reason, *expired_at)),
        severity=Severity.WARNING,
        reason=reason,
        message=f"{incident.check}: {approval.words}",
        subject=CHECK_KINDS[incident.check.group_kind].involved(incident.target),
    )
