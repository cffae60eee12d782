"""OrderWorkflows: the workflows of orders by annotation, for the Reconciler, and the calls to Temporal."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta

from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy

from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from health.model.order_annotations import AnnotatedObject, AnnotatedOrderKey
from health.model.references import CheckReference
from health.policy.shadow import is_in_shadow
from kube.time_slice import TimeSlice
from runtime import search_attributes
from workflows.annotated_order_contracts import (
    ANNOTATED_ORDER,
    WAKE_ANNOTATED_ORDER,
    AnnotatedOrderInput,
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

    def may_wait_seconds(self, seen: str) -> float:  # noqa: ARG002  all are as urgent
        return 0.0

    def needs_wake_up(self, key: AnnotatedOrderKey, last: str, seen: str) -> bool:  # noqa: ARG002
        """True if there is another value; a removed annotation is noticed by the workflow itself."""
        return bool(seen) and seen != last

    def must_be_open(self, seen: str) -> bool:
        return bool(seen)

    def has_appeared(self, last: str, seen: str) -> bool:
        return seen != last

    async def start(self, key: AnnotatedOrderKey, seen: str) -> None:  # noqa: ARG002  it reads by itself
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

    async def wake(self, key: AnnotatedOrderKey, seen: str) -> None:  # noqa: ARG002  it reads by itself
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
            one
            for reference, one in self._cluster_state.checks.items()
            if _concerns(reference, one, key.subject)
        ]
        if concerned:
            return all(one.is_shadow_in(context) for one in concerned)
        return is_in_shadow({}, context.policy)


def _concerns(reference: CheckReference, check: CheckState, subject: AnnotatedObject) -> bool:
    """True if the object is this check, or one of its targets."""
    if reference.namespace != subject.namespace:
        return False
    if reference.group_kind == subject.group_kind:
        return reference.name == subject.name
    return check.kind.targets.group_kind == subject.group_kind and subject.name in check.selected
