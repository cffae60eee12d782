"""Observes one upgrade: the paused checks, and the writes of our worker to them."""

import asyncio
from pathlib import Path

from temporalio.client import WorkflowHandle

from health.check.annotated_hold import PAUSED
from kube.resource import Object
from tests.support.story.audit import WORKER, writes
from tests.support.story.machine_check import CHECKS, Check
from tests.support.story.world import World
from workflows.upgrade_contracts import UpgradePauseResult, upgrade_pause_id

MARK = "machine.openshift.io/paused-for-upgrade"
NOBODY: Object = {"matchLabels": {"selects": "nobody"}}
DONE = 200


class Upgrade:
    def __init__(self, world: World, audit_log: Path) -> None:
        self._world = world
        self._audit_log = audit_log

    @property
    def workflow(self) -> WorkflowHandle[object, UpgradePauseResult]:
        return self._world.temporal.get_workflow_handle(
            upgrade_pause_id(self._world.cluster), result_type=UpgradePauseResult
        )

    async def result(self) -> UpgradePauseResult:
        """Wait for the upgrade pause to end, and return its result."""
        async with asyncio.timeout(self._world.patience.total_seconds()):
            return await self.workflow.result()

    async def until_annotated(self, check: Check, *keys: str) -> None:
        """Wait until the check has exactly these of the two annotations."""

        async def is_so() -> bool:
            annotations = (await check.get())["metadata"].get("annotations") or {}
            return annotations.keys() & {PAUSED, MARK} == {*keys}

        await self._world.until(is_so, f"{check.name} never had just {keys}")

    def patches(self, check: Check) -> int:
        """How often our worker changed the check; conflicts do not count."""
        wanted = (WORKER, "patch", f"{CHECKS.plural}/{check.name}", DONE)
        return writes(self._audit_log, self._world.name).count(wanted)
