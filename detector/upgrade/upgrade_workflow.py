"""UpgradeWorkflow: the one upgrade pause of a cluster, for the Reconciler, and the calls to Temporal.

Temporal is asked for it by its id, so lagging visibility does not matter.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError, RPCStatusCode

from health.upgrade.observation import UpgradeObservation, has_appeared, is_wanted, needs_wake_up
from runtime import search_attributes
from workflows.contracts import worker_queue
from workflows.upgrade_contracts import UPGRADE_PAUSE, WAKE_UPGRADE_PAUSE, UpgradePauseInput, upgrade_pause_id

RPC_TIMEOUT = timedelta(seconds=5)


@dataclass(frozen=True)
class UpgradeKey:
    """The key of the upgrade pause of a cluster."""

    cluster: str

    @property
    def workflow_id(self) -> str:
        return upgrade_pause_id(self.cluster)


class UpgradeWorkflow:
    """The upgrade pause of one cluster, for the `Reconciler`."""

    def __init__(
        self,
        key: UpgradeKey,
        client: Callable[[], Client],
        observe: Callable[[], UpgradeObservation],
    ) -> None:
        """`client` is called for each request, and raises RPCError while there is no connection."""
        self._key = key
        self._client = client
        self._observe = observe

    def all_wanted(self) -> Iterable[UpgradeKey]:
        """The key, if the workflow should be open now."""
        return (self._key,) if self.is_wanted(self._key) else ()

    def is_wanted(self, key: UpgradeKey) -> bool:  # noqa: ARG002  there is one
        return is_wanted(self._observe())

    def observe(self, key: UpgradeKey) -> UpgradeObservation:  # noqa: ARG002
        return self._observe()

    def may_wait_seconds(self, observation: UpgradeObservation) -> float:  # noqa: ARG002  there is one
        """Zero, as there is only one workflow."""
        return 0.0

    def needs_wake_up(
        self,
        key: UpgradeKey,  # noqa: ARG002  there is one
        last: UpgradeObservation,
        observation: UpgradeObservation,
    ) -> bool:
        return needs_wake_up(last, observation)

    def must_be_open(self, observation: UpgradeObservation) -> bool:
        """True if an upgrade is under way: then the next change starts a terminated workflow again.

        Without an upgrade, only the next reconciliation notices the termination: nothing has to be done
        before, and asking Temporal more often would cost a call a minute for each cluster.
        """
        return observation.is_under_way

    def has_appeared(self, last: UpgradeObservation, observation: UpgradeObservation) -> bool:
        """True if there is a reason to run that a workflow started from `last` could not have seen."""
        return has_appeared(last, observation)

    async def start(self, key: UpgradeKey, observation: UpgradeObservation) -> None:
        """Start it, or wake it if it is open, in one call without a race."""
        since = "" if observation.since is None else f" since {observation.since.isoformat()}"
        await self._client().start_workflow(
            UPGRADE_PAUSE,
            UpgradePauseInput(cluster=key.cluster),
            id=key.workflow_id,
            task_queue=worker_queue(key.cluster),
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            start_signal=WAKE_UPGRADE_PAUSE,
            search_attributes=search_attributes.of_cluster(key.cluster),
            static_summary=f"{observation.sign or observation.phase}{since}",
            rpc_timeout=RPC_TIMEOUT,
        )

    async def wake(self, key: UpgradeKey, observation: UpgradeObservation) -> None:  # noqa: ARG002  it asks
        """Wake it; raises RPCError NOT_FOUND if it has ended."""
        await self.wake_unidentified(key.workflow_id)

    async def wake_unidentified(self, workflow_id: str) -> None:
        """Wake the open workflow with this id; raises RPCError NOT_FOUND without one."""
        handle: WorkflowHandle[object, object] = self._client().get_workflow_handle(workflow_id)
        await handle.signal(WAKE_UPGRADE_PAUSE, rpc_timeout=RPC_TIMEOUT)

    async def running(self) -> Mapping[str, UpgradeKey | None]:
        """The workflow under its id, if it is open."""
        handle: WorkflowHandle[object, object] = self._client().get_workflow_handle(self._key.workflow_id)
        try:
            described = await handle.describe(rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return {}
            raise
        is_open = described.status is WorkflowExecutionStatus.RUNNING
        return {self._key.workflow_id: self._key} if is_open else {}

    def has_closed(self, key: UpgradeKey) -> None:
        """Do nothing: this class remembers nothing of the workflow."""
