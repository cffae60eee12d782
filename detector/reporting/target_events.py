"""Events on targets: about orders to an incident, its questions to people, and shared names of Nodes.

An order has one Event, and one for a later refusal. A question has one, and one when it expires. Two machines
use the name of one Node if a boot came back after another one.
"""

from detector.reporting.own_status import EmitEvents
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.kinds.registry import CHECK_KINDS
from health.model.approval import Approval
from health.model.order import OrderRecord
from health.model.references import CheckReference, IncidentReference
from health.model.target import Target, facts_of_node
from objects.event import Event, InvolvedObject, Severity
from objects.timestamps import stamp


def involved(check: CheckReference, target: Target) -> InvolvedObject:
    """The target as the object of an Event."""
    reference = place_of(check).reference(target.metadata.name, target.metadata.uid)
    return CHECK_KINDS[check.group_kind].involved(reference)


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


class SharedNames:
    """Emits the Event when it becomes true, and not again while it stays true."""

    def __init__(self, cluster_state: ClusterState, emit: EmitEvents) -> None:
        self._cluster_state = cluster_state
        self._emit = emit
        self._reported: set[tuple[CheckReference, str]] = set()

    def changed(self, check: CheckReference, target: str | None) -> None:
        """Report a target whose Node has changed; a detector that does not lead emits nothing."""
        check_state = self._cluster_state.checks.get(check)
        if target is None or check_state is None:
            return
        found, key = self._cluster_state.targets.get(check, target), (check, target)
        if found is None or target not in check_state.selected or not facts_of_node(found).shared_name:
            self._reported.discard(key)
            return
        if key in self._reported or check_state.is_shadow_in(self._cluster_state.cluster_context):
            return
        event = Event(
            seed=f"{found.metadata.uid}\n{facts_of_node(found).boot_id}\nshared name",
            severity=Severity.WARNING,
            reason="NameUsedTwice",
            message=facts_of_node(found).shared_name,
            subject=involved(check, found),
        )
        if self._emit(check, [event]):
            self._reported.add(key)
