"""MarkMachine: what a MachineHealthCheck of Cluster API does to a Machine itself: it asks its owner.

The owner (a MachineSet, a control plane) goes by two conditions: that the health check failed, and that it is
asked to remediate, so both are written at once. It takes the second one off, when it has deleted the Machine
or that is healthy again; we never do (CAPI B.2.5).

Others write conditions of a Machine all the time, so a write that meets another one is made again, with all
that admitted it read anew: a Machine that changed meanwhile is judged as it is then.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from activities.clusterapi.target import machine_of
from activities.kind_activities import ActionDependencies
from activities.revalidation import Confirmed, not_true
from activities.step_result import StepResult
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.machine import MACHINES, MachineTarget
from health.kinds.clusterapi.machine_conditions import asked_of_owner, status_patch
from kube.errors import Conflict, KindUnknown, NotFound
from kube.resource import Object
from workflows.contracts import ActInput, ActResult

TRIES = 4


@dataclass(frozen=True)
class MarkMachine:
    """What Action.MARK does."""

    dependencies: ActionDependencies

    async def take(self, asked: ActInput) -> StepResult:
        """Ask its owner, unless that was asked.

        Raises:
            Held: nothing was done.
            KubernetesError: the API server could not be asked, or refused.

        """
        for _ in range(TRIES - 1):
            try:
                return await self._take_once(asked)
            except Conflict:
                continue
        try:
            return await self._take_once(asked)
        except Conflict as error:
            raise not_true(f"{asked.incident.target.name} changes all the time") from error

    async def _take_once(self, asked: ActInput) -> StepResult:
        _, revalidation, lease_guard = self.dependencies
        began = lease_guard.begin()
        confirmed = await revalidation.confirm(asked)
        target = machine_of(confirmed)
        if target.machine.is_going or target.is_marked:
            return StepResult(ActResult.disrupted())
        patch = await self._patch(asked, confirmed)
        async with lease_guard.lease(asked, target, began) as acquired:
            await self._write(target, patch)
        return StepResult(ActResult.disrupted(acquired))

    async def _patch(self, asked: ActInput, confirmed: Confirmed) -> Object:
        """The conditions of the Machine as it was confirmed, and ours; raises Conflict if it changed."""
        target, client = machine_of(confirmed), self.dependencies.connection.client
        resource = await self.dependencies.connection.discovery.first_served(MACHINES)
        found = await client.get(resource, target.metadata.name, target.metadata.namespace)
        if found["metadata"]["resourceVersion"] != target.metadata.resource_version:
            raise Conflict(f"{target.metadata.name} changed since the revalidation")
        now = self._now(asked)
        failed = _check_of(confirmed).failure(target, now, confirmed.context)
        if failed is None or asked.step not in confirmed.check.steps_for(target):
            raise not_true(f"{asked.incident.check} no longer asks the owner of {target.metadata.name}")
        return status_patch(found.get("status") or {}, found["apiVersion"], asked_of_owner(failed), now)

    def _now(self, asked: ActInput) -> datetime:
        """No earlier than the detector saw the time of the Machine to be over."""
        now = self.dependencies.connection.server_clock.now()
        return now if asked.seen_at is None else max(now, asked.seen_at)

    async def _write(self, target: MachineTarget, status: Object) -> None:
        known, connection = target.metadata, self.dependencies.connection
        body = {"metadata": {"uid": known.uid, "resourceVersion": known.resource_version}, "status": status}
        resource = await connection.discovery.first_served(MACHINES)
        try:
            await connection.client.merge_patch(
                resource, known.name, body, known.namespace, subresource="status"
            )
        except KindUnknown:
            raise
        except NotFound as error:
            raise not_true(f"{known.name} is gone") from error


def _check_of(confirmed: Confirmed) -> MachineHealthCheck:
    return cast("MachineHealthCheck", confirmed.check)
