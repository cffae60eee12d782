"""MarkMachine: marks a Machine for external remediation, whose consumer takes the mark off (rule 28).

The patch carries the uid and the resourceVersion that were revalidated, as a deletion does (rule 2).
"""

from activities.lease_guard import LeaseGuard
from activities.machine_step import attempt_of, judged, machine_of, refuse_other_step
from activities.outcome import StepResult
from activities.revalidation import Revalidation, not_true
from health.kinds.openshift.machine import EXTERNAL_REMEDIATION, MachineTarget
from health.kinds.openshift.target_events import marked, marking_failed
from kube.client import Client
from kube.errors import KindUnknown, NotFound
from kube.resource import MACHINES, Object
from workflows.contracts import ActInput, ActResult


class MarkMachine:
    """What Action.MARK does."""

    def __init__(self, client: Client, revalidation: Revalidation, taking: LeaseGuard) -> None:
        self._client = client
        self._revalidation = revalidation
        self._taking = taking

    async def take(self, asked: ActInput) -> StepResult:
        """Mark it, unless it is marked.

        Raises:
            Held: nothing was done.
            KubernetesError: the API server could not be asked, or refused.

        """
        began = self._taking.begin()
        confirmed = await self._revalidation.confirm(asked)
        target = machine_of(confirmed)
        if target.machine.is_marked:
            return StepResult(ActResult(is_done=True))
        refuse_other_step(asked, confirmed)
        async with self._taking.lease(asked, target, began) as acquired:
            await self._mark(asked, target)
        result = ActResult(is_done=True, lease_acquired_at=acquired)
        return StepResult(result, marked(attempt_of(asked), target))

    async def _mark(self, asked: ActInput, target: MachineTarget) -> None:
        known = target.metadata
        annotations = {EXTERNAL_REMEDIATION: ""}
        metadata = {"uid": known.uid, "resourceVersion": known.resource_version, "annotations": annotations}
        body: Object = {"metadata": metadata}
        try:
            with judged(asked, target, marking_failed):
                await self._client.merge_patch(MACHINES, known.name, body, known.namespace)
        except KindUnknown:
            raise
        except NotFound as error:
            raise not_true(f"{known.name} is gone") from error
