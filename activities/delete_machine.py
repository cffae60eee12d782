"""DeleteMachine: deletes a Machine, whose controller makes another one.

The deletion carries the uid and the resourceVersion that were revalidated: a Machine that changed since in
whatever way is not deleted, and the incident asks anew (rule 2).
"""

from activities.held import ASK_AGAIN_SECONDS, Held
from activities.lease_guard import LeaseGuard
from activities.machine_step import attempt_of, judged, machine_of, refuse_other_step
from activities.outcome import StepResult
from activities.revalidation import Revalidation
from health.kinds.openshift.machine import MachineTarget
from health.kinds.openshift.target_events import deleted, deletion_failed
from health.model.observation import HoldReason
from kube.client import Client
from kube.errors import KindUnknown, NotFound
from kube.resource import MACHINES
from workflows.contracts import ActInput, ActResult


class DeleteMachine:
    """What Action.DELETE does."""

    def __init__(self, client: Client, revalidation: Revalidation, taking: LeaseGuard) -> None:
        self._client = client
        self._revalidation = revalidation
        self._taking = taking

    async def take(self, asked: ActInput) -> StepResult:
        """Delete it, unless somebody else did.

        Raises:
            Held: nothing was done.
            KubernetesError: the API server could not be asked, or refused.

        """
        began = self._taking.begin()
        confirmed = await self._revalidation.confirm(asked)
        target = machine_of(confirmed)
        if target.machine.is_going:
            return StepResult(ActResult(is_done=True))
        _refuse_without_controller(target)
        refuse_other_step(asked, confirmed)
        async with self._taking.lease(asked, target, began) as acquired:
            was_there = await self._delete(asked, target)
        if was_there:
            result = ActResult(is_done=True, lease_acquired_at=acquired)
            return StepResult(result, deleted(attempt_of(asked), target))
        await self._taking.give_back(asked, target)
        return StepResult(ActResult(is_done=True))

    async def _delete(self, asked: ActInput, target: MachineTarget) -> bool:
        """Answers whether it was there."""
        known = target.metadata
        version = known.resource_version
        try:
            with judged(asked, target, deletion_failed):
                await self._client.delete(
                    MACHINES, known.name, known.namespace, uid=known.uid, resource_version=version
                )
        except KindUnknown:
            raise
        except NotFound:
            return False
        return True


def _refuse_without_controller(target: MachineTarget) -> None:
    if target.machine.controller is None:
        message = f"no controller owns {target.metadata.name}: nobody would replace it"
        raise Held.because(HoldReason.NO_CONTROLLER, message, ask_again_seconds=ASK_AGAIN_SECONDS)
