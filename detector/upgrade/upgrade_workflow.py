"""UpgradeWorkflow: the one upgrade pause of a cluster, as a Reconciler asks for it, and its calls.

Temporal is asked for it by its id, which no list can miss.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError, RPCStatusCode

from health.upgrade.observation import UpgradeObservation
from health.upgrade.wake_up import has_appeared, is_wanted, needs_wake_up
from runtime import search_attributes
from workflows.contracts import worker_queue
from workflows.upgrade_contracts import UPGRADE_PAUSE, WAKE_UPGRADE_PAUSE, UpgradePauseInput, upgrade_pause_id

RPC_TIMEOUT = timedelta(seconds=5)


@dataclass(frozen=True)
class UpgradeKey:
    """Names the upgrade pause of a cluster."""

    cluster: str

    @property
    def workflow_id(self) -> str:
        """Its id in Temporal."""
        return upgrade_pause_id(self.cluster)


class UpgradeWorkflow:
    """That of one cluster."""

    def __init__(
        self,
        key: UpgradeKey,
        client: Callable[[], Client],
        observe: Callable[[], UpgradeObservation],
    ) -> None:
        """`client` is asked for each call, and raises RPCError while there is no connection."""
        self._key = key
        self._client = client
        self._observe = observe

    def all_wanted(self) -> Iterable[UpgradeKey]:
        """It alone, if it is wanted now."""
        return (self._key,) if self.is_wanted(self._key) else ()

    def is_wanted(self, key: UpgradeKey) -> bool:  # noqa: ARG002  there is one
        """Whether there should be one now."""
        return is_wanted(self._observe())

    def observe(self, key: UpgradeKey) -> UpgradeObservation:  # noqa: ARG002
        """What it would be answered now."""
        return self._observe()

    def may_wait_seconds(self, seen: UpgradeObservation) -> float:  # noqa: ARG002  there is one
        """At once."""
        return 0.0

    def needs_wake_up(self, key: UpgradeKey, last: UpgradeObservation, seen: UpgradeObservation) -> bool:  # noqa: ARG002
        """Whether the answer is another."""
        return needs_wake_up(last, seen)

    def must_be_open(self, seen: UpgradeObservation) -> bool:
        """Whether an upgrade goes on: then one that somebody terminated is started by the next change.

        Without any, it is missed by the next reconciliation only: nothing is to be done meanwhile, and to ask
        Temporal more often would be a call a minute for each cluster.
        """
        return seen.is_under_way

    def has_appeared(self, last: UpgradeObservation, seen: UpgradeObservation) -> bool:
        """Whether it is wanted for what one that knew of `last` did not know."""
        return has_appeared(last, seen)

    async def start(self, key: UpgradeKey, seen: UpgradeObservation) -> None:
        """Start it, or wake it if it is open: one call, no race."""
        since = "" if seen.since is None else f" since {seen.since.isoformat()}"
        await self._client().start_workflow(
            UPGRADE_PAUSE,
            UpgradePauseInput(cluster=key.cluster),
            id=key.workflow_id,
            task_queue=worker_queue(key.cluster),
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            start_signal=WAKE_UPGRADE_PAUSE,
            search_attributes=search_attributes.of_cluster(key.cluster),
            static_summary=f"{seen.sign or seen.phase}{since}",
            rpc_timeout=RPC_TIMEOUT,
        )

    async def wake(self, key: UpgradeKey, seen: UpgradeObservation) -> None:  # noqa: ARG002  it asks
        """Wake it; NOT_FOUND if it has ended."""
        await self.wake_unidentified(key.workflow_id)

    async def wake_unidentified(self, workflow_id: str) -> None:
        """Wake what is open under an id."""
        handle: WorkflowHandle[object, object] = self._client().get_workflow_handle(workflow_id)
        await handle.signal(WAKE_UPGRADE_PAUSE, rpc_timeout=RPC_TIMEOUT)

    async def running(self) -> Mapping[str, UpgradeKey | None]:
        """It, if it is open."""
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
        """Nothing is kept of it."""
