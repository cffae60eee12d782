"""AnnotatedOrders: starts the workflow of each order by annotation, and answers which incidents it is for."""

from collections.abc import Callable, Iterable

from temporalio import activity

from detector.answers.answering import NotLeading
from detector.dispatching.open_workflows import OpenWorkflows
from detector.dispatching.reconciler import Reconciler, ReconcilerDependencies
from detector.orders.order_workflows import OrderWorkflows
from detector.orders.recipients import recipients_of
from detector.state.cluster_state import ClusterState
from health.model.order_annotations import AnnotatedObject, AnnotatedOrderKey
from health.model.references import IncidentReference
from workflows.annotated_order_contracts import FIND_RECIPIENTS, FindRecipientsInput, Recipients


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
    async def find_recipients(self, asked: FindRecipientsInput) -> Recipients:
        """Return the open incidents that get the order, or why none gets it."""
        if not self._dependencies.is_leader():
            raise NotLeading("this detector is no longer the leader")
        return recipients_of(asked.key, self._open_incidents(), self._cluster_state)
