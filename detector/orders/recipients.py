"""The incidents that an order by annotation is for."""

from collections.abc import Iterable

from detector.state.cluster_state import ClusterState
from health.model.node import NODES
from health.model.order_annotations import AnnotatedObject, AnnotatedOrderKey
from health.model.references import IncidentReference
from health.runbook.annotated_order import TURNED_OFF, no_incident
from objects.clusters import MANAGEMENT_CLUSTER
from workflows.annotated_order_contracts import MOST_RECIPIENTS, Recipients


def recipients_of(
    key: AnnotatedOrderKey, open_incidents: Iterable[IncidentReference], cluster_state: ClusterState
) -> Recipients:
    """The open incidents of the object, in the order of their ids.

    These are the incidents of a Node or Machine, of a Machine whose Node has the annotation, or of a check.
    """
    policy = cluster_state.cluster_context.policy
    if policy.hold is not None:
        return Recipients(refused=policy.hold.message)
    if not policy.policy.orders_by_annotation:
        return Recipients(refused=TURNED_OFF)
    found = [one for one in open_incidents if _is_about(one, key.subject, cluster_state)]
    if not found:
        return Recipients(refused=no_incident(key))
    found.sort(key=lambda one: one.workflow_id)
    return Recipients(incidents=tuple(found[:MOST_RECIPIENTS]), left_out=max(0, len(found) - MOST_RECIPIENTS))


def _is_about(incident: IncidentReference, subject: AnnotatedObject, cluster_state: ClusterState) -> bool:
    named = (subject.group_kind, subject.namespace, subject.name)
    target, check = incident.target, incident.check
    if (check.group_kind, check.namespace, check.name) == named:
        return True
    if (target.group_kind, target.namespace, target.name) == named:
        return target.uid == subject.uid
    if subject.group_kind != NODES.group_kind:
        return False
    seen = cluster_state.targets.get(check, target.name)
    is_here = seen is not None and seen.node_cluster == MANAGEMENT_CLUSTER
    return seen is not None and is_here and seen.node_name == subject.name and seen.metadata.uid == target.uid
