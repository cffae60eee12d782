"""Upgrades: many upgrade pauses that share a detector and a worker, each with a cluster of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from temporalio import activity
from temporalio.testing import WorkflowEnvironment

from health.upgrade.observation import UpgradeObservation
from tests.workflows import workers
from tests.workflows.upgrading import Upgrading
from workflows.upgrade_contracts import (
    OBSERVE_UPGRADE,
    WARN_OF_LONG_UPGRADE,
    WRITE_PAUSES,
    ObserveUpgradeInput,
    WarnOfLongUpgradeInput,
    WarnOfLongUpgradeResult,
    WritePausesInput,
    WritePausesResult,
    upgrade_pause_id,
)
from workflows.upgrade_pause import UpgradePause


class Upgrades:
    """Hands each call to the cluster of its workflow."""

    def __init__(self, environment: WorkflowEnvironment) -> None:
        self._environment = environment
        self._name = f"test-{uuid4().hex[:8]}"
        self._begun: dict[str, Upgrading] = {}

    def begin(self) -> Upgrading:
        """One more, which knows nothing of those before."""
        workflow_id = f"{upgrade_pause_id(self._name)}/{len(self._begun)}"
        self._begun[workflow_id] = Upgrading(self._environment, self._name, workflow_id)
        return self._begun[workflow_id]

    @asynccontextmanager
    async def workers(self) -> AsyncIterator[None]:
        client = self._environment.client
        async with (
            workers.detector(client, self._name, [self.observe]),
            workers.worker(client, self._name, [self.write, self.warn], workflows=[UpgradePause]),
        ):
            yield

    def _asking(self) -> Upgrading:
        return self._begun[activity.info().workflow_id or ""]

    @activity.defn(name=OBSERVE_UPGRADE.name)
    async def observe(self, asked: ObserveUpgradeInput) -> UpgradeObservation:
        return await self._asking().observe(asked)

    @activity.defn(name=WRITE_PAUSES.name)
    async def write(self, asked: WritePausesInput) -> WritePausesResult:
        return await self._asking().write(asked)

    @activity.defn(name=WARN_OF_LONG_UPGRADE.name)
    async def warn(self, asked: WarnOfLongUpgradeInput) -> WarnOfLongUpgradeResult:
        return await self._asking().warn(asked)
