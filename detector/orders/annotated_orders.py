"""AnnotatedOrders: starts the workflow of each order by annotation, and answers which incidents it is for."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta

from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy

from detector.answers.answering import NotLeading
from detector.dispatching.open_workflows import OpenWorkflows
from detector.dispatching.reconciler import Reconciler, ReconcilerDependencies
from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from health.model.node import NODES
from health.model.order_annotations import AnnotatedObject, AnnotatedOrderKey
from health.model.references import CheckReference, IncidentReference
from health.policy.shadow import is_in_shadow
from health.runbook.annotated_order import TURNED_OFF, no_incident
from kube.time_slice import TimeSlice
from objects.clusters import MANAGEMENT_CLUSTER
from runtime import search_attributes
from workflows.annotated_order_contracts import (
    ANNOTATED_ORDER,
    FIND_RECIPIENTS,
    MOST_RECIPIENTS,
    WAKE_ANNOTATED_ORDER,
    AnnotatedOrderInput,
    FindRecipientsInput,
    Recipients,
)
from workflows.contracts import worker_queue

RPC_TIMEOUT = timedelta(seconds=5)


class OrderWorkflows:
    """The workflows of one cluster; an observation is the digest of the value, "" without an annotation."""

    def __init__(self, client: Callable[[], Client], cluster_state: ClusterState) -> None:
        """`client` is called for each request, and raises RPCError while there is no connection."""
        self._client = client
        self._cluster_state = cluster_state

    def all_wanted(self) -> Iterable[AnnotatedOrderKey]:
        cluster = self._cluster_state.cluster
        for subject, order in self._cluster_state.annotated.all():
            key = AnnotatedOrderKey(cluster=cluster, subject=subject, order=order)
            if self.is_wanted(key):
                yield key

    def is_wanted(self, key: AnnotatedOrderKey) -> bool:
        return bool(self.observe(key))

    def observe(self, key: AnnotatedOrderKey) -> str:
        digest = self._cluster_state.annotated.digest(key.subject, key.order)
        return "" if digest and self._is_in_shadow(key) else digest

    def may_wait_seconds(self, observation: str) -> float:  # noqa: ARG002  all are as urgent
        return 0.0

    def needs_wake_up(self, key: AnnotatedOrderKey, last: str, observation: str) -> bool:  # noqa: ARG002
        """True if there is another value; a removed annotation is noticed by the workflow itself."""
        return bool(observation) and observation != last

    def must_be_open(self, observation: str) -> bool:
        return bool(observation)

    def has_appeared(self, last: str, observation: str) -> bool:
        return observation != last

    async def start(self, key: AnnotatedOrderKey, observation: str) -> None:  # noqa: ARG002  it reads by itself
        """Start it, or wake it if it is open, in one call without a race."""
        await self._client().start_workflow(
            ANNOTATED_ORDER,
            AnnotatedOrderInput(key=key),
            id=key.workflow_id,
            task_queue=worker_queue(key.cluster),
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            start_signal=WAKE_ANNOTATED_ORDER,
            search_attributes=search_attributes.of_cluster(key.cluster),
            static_summary=f"{key.annotation} on {key.subject}",
            rpc_timeout=RPC_TIMEOUT,
        )

    async def wake(self, key: AnnotatedOrderKey, observation: str) -> None:  # noqa: ARG002  it reads by itself
        """Wake it; raises RPCError NOT_FOUND if it has ended."""
        await self.wake_unidentified(key.workflow_id)

    async def wake_unidentified(self, workflow_id: str) -> None:
        """Wake the open workflow with this id; raises RPCError NOT_FOUND without one."""
        handle: WorkflowHandle[object, object] = self._client().get_workflow_handle(workflow_id)
        await handle.signal(WAKE_ANNOTATED_ORDER, rpc_timeout=RPC_TIMEOUT)

    async def running(self) -> Mapping[str, AnnotatedOrderKey | None]:
        """The open workflows of existing annotations; Temporal is not asked while there is none.

        The workflow of an annotation that is gone ends by itself, so it is left out.
        """
        wanted = {key.workflow_id: key for key in self.all_wanted()}
        if not wanted:
            return {}
        query = (
            f"WorkflowType = '{ANNOTATED_ORDER}' AND ExecutionStatus = 'Running'"
            f" AND {search_attributes.CLUSTER.name} = '{self._cluster_state.cluster}'"
        )
        found, time_slice = dict[str, AnnotatedOrderKey | None](), TimeSlice()
        async for execution in self._client().list_workflows(query, rpc_timeout=RPC_TIMEOUT):
            if execution.id in wanted:
                found[execution.id] = wanted[execution.id]
            await time_slice.yield_if_over()
        return found

    def has_closed(self, key: AnnotatedOrderKey) -> None:
        """Do nothing: this class remembers nothing of a workflow."""

    def _is_in_shadow(self, key: AnnotatedOrderKey) -> bool:
        """True if nothing may be written for the object: it is a check in shadow, or a target of such."""
        context = self._cluster_state.cluster_context
        concerned = [
            check_state
            for reference, check_state in self._cluster_state.checks.items()
            if _concerns(reference, check_state, key.subject)
        ]
        if concerned:
            return all(check_state.is_shadow_in(context) for check_state in concerned)
        return is_in_shadow({}, context.policy)


def _concerns(reference: CheckReference, check: CheckState, subject: AnnotatedObject) -> bool:
    """True if the object is this check, or one of its targets."""
    if reference.namespace != subject.namespace:
        return False
    if reference.group_kind == subject.group_kind:
        return reference.name == subject.name
    return check.kind.targets.group_kind == subject.group_kind and subject.name in check.selected


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
    found.sort(key=lambda incident: incident.workflow_id)
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
    observed_target = cluster_state.targets.get(check, target.name)
    is_here = observed_target is not None and observed_target.node_cluster == MANAGEMENT_CLUSTER
    return (
        observed_target is not None
        and is_here
        and observed_target.node_name == subject.name
        and observed_target.metadata.uid == target.uid
    )


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
        self._in_shadow: set[CheckReference] = set()

    def changed(self, subject: AnnotatedObject, order: str) -> None:
        """Start or wake the workflow of this annotation, or note that it is gone."""
        cluster = self._cluster_state.cluster
        self._reconciler.consider(AnnotatedOrderKey(cluster=cluster, subject=subject, order=order))

    def context_changed(self) -> None:
        """Consider all: the policy may have ended the shadow."""
        for key in self._workflows.all_wanted():
            self._reconciler.consider(key)

    def check_changed(self, check: CheckReference, target: str | None) -> None:
        """Consider all once the check has left the shadow, or was deleted in it."""
        if target is not None:
            return
        check_state = self._cluster_state.checks.get(check)
        if check_state is not None and check_state.is_shadow_in(self._cluster_state.cluster_context):
            self._in_shadow.add(check)
        elif check in self._in_shadow:
            self._in_shadow.discard(check)
            self.context_changed()

    async def lead(self) -> None:
        await self._reconciler.lead()

    @activity.defn(name=FIND_RECIPIENTS.name)
    async def find_recipients(self, question: FindRecipientsInput) -> Recipients:
        """Return the open incidents that get the order, or why none gets it."""
        if not self._dependencies.is_leader():
            raise NotLeading
        return recipients_of(question.key, self._open_incidents(), self._cluster_state)
