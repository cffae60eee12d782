"""AnnotatedOrders: starts the workflow of each order by annotation, and answers which incidents it is for."""

from collections.abc import Callable, Iterable

from temporalio import activity

from detector.answers.answering import NotLeading
from detector.dispatching.open_workflows import OpenWorkflows
from detector.dispatching.reconciler import Reconciler, ReconcilerDependencies
from detector.orders.order_workflows import OrderWorkflows
from detector.state.cluster_state import ClusterState
from health.model.node import NODES
from health.model.order_annotations import AnnotatedObject, AnnotatedOrderKey
from health.model.references import IncidentReference
from health.runbook.annotated_order import TURNED_OFF, no_incident
from objects.clusters import MANAGEMENT_CLUSTER
from workflows.annotated_order_contracts import (
    FIND_RECIPIENTS,
    MOST_RECIPIENTS,
    FindRecipientsInput,
    Recipients,
)


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
    found = [incident for incident in open_incidents if _is_about(incident, key.subject, cluster_state)]
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


class AnnotatedOrders:
    """The orders by annotation of one cluster, while this detector is the leader."""

    def __init__(
        self,
        workflows: OrderWorkflows,
        cluster_state: ClusterState,
        open_incidents: Callable[[], Iterable[IncidentReference]],
        dependencies: ReconcilerDependencies,
    ) -> None:
        self._workflows = workflows
        self._cluster_state = cluster_state
        self._open_incidents = open_incidents
        self._dependencies = dependencies
        self._reconciler = Reconciler(
            workflows,
            OpenWorkflows[AnnotatedOrderKey, str](lambda key: key),
            dependencies,
            part="orders by annotation",
            listed="orders by annotation",
        )

    def changed(self, subject: AnnotatedObject, order: str) -> None:
        """Start or wake the workflow of this annotation, or note that it is gone."""
        cluster = self._cluster_state.cluster
        self._reconciler.consider(AnnotatedOrderKey(cluster=cluster, subject=subject, order=order))

    def context_changed(self) -> None:
        """Consider all: the policy may have ended the shadow."""
        for key in self._workflows.all_wanted():
            self._reconciler.consider(key)

    async def lead(self) -> None:
        await self._reconciler.lead()

    @activity.defn(name=FIND_RECIPIENTS.name)
    async def find_recipients(self, question: FindRecipientsInput) -> Recipients:
        """Return the open incidents that get the order, or why none gets it."""
        if not self._dependencies.is_leader():
            raise NotLeading("this detector is no longer the leader")
        return recipients_of(question.key, self._open_incidents(), self._cluster_state)
