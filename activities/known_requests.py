"""KnownRequests: requests that the incident made before and that the detector does not see.

Their kind may no longer be watched: the check may have lost the template since, and a MachineHealthCheck
does not list its requests. While such a request exists its remediator is working, and nothing else is done
to the target in any step (rule 10). If it is gone (activities/live_requests.py defines that), another actor
deleted it, which counts as an attempt and is reported (rule 14), unless the incident says that its end is
not a loss: then the step is taken. Check and target are read only for that Event and never delay the answer:
if that fails, or takes longer than half a second, no Event is written.
"""

import asyncio

from pydantic import ValidationError
from temporalio import activity

from activities.event_recorder import LONGEST
from activities.live_objects import LiveObjects
from activities.live_requests import LiveRequests
from activities.step_result import StepResult
from health.cluster.cluster_context import ClusterContext
from health.gate.back_off import LostRequest
from health.kinds.registry import CHECK_KINDS
from health.model.references import IncidentReference, RequestReference
from health.model.remediation_request import RemediationRequest
from health.model.request_snapshot import RequestSnapshot
from kube.errors import KubernetesError
from objects.event import Event
from objects.field_problem import FieldProblem
from workflows.contracts import ActInput, ActResult


def is_own(request: RemediationRequest, incident: IncidentReference) -> bool:
    """True if it belongs to the check of the incident, or its operator made it for the target (rule 39)."""
    kind = CHECK_KINDS[incident.check.group_kind]
    return kind.owner_of(request) == incident.check or kind.is_unsigned_for(request, incident.target)


class LossEvents:
    """Reports the loss of a request, in the words of the kind of check."""

    def __init__(self, live: LiveObjects) -> None:
        self._live = live

    async def of(self, act: ActInput) -> Event | None:
        """The Event of a loss; None: the next request is due at once, or the check cannot be read."""
        if act.due_after_loss is None:
            return None
        try:
            async with asyncio.timeout(LONGEST.total_seconds()):
                check_uid, node_name = await asyncio.gather(self._check_uid(act), self._node_name(act))
        except (KubernetesError, ValidationError, TimeoutError) as error:
            why = FieldProblem.of(error) if isinstance(error, ValidationError) else error
            activity.logger.warning("Event not written", extra={"reason": str(why) or "it took too long"})
            return None
        uids = tuple(request.uid for request in act.known)
        lost = LostRequest(
            incident=act.incident,
            run_id=act.run_id,
            uids=uids,
            due=act.due_after_loss,
            check_uid=check_uid,
            node_name=node_name,
        )
        return CHECK_KINDS[act.incident.check.group_kind].request_lost(lost)

    async def _check_uid(self, act: ActInput) -> str:
        uid: str = (await self._live.check(act.incident.check))["metadata"]["uid"]
        return uid

    async def _node_name(self, act: ActInput) -> str:
        return (await self._live.target(act.incident, ClusterContext())).node_name


class KnownRequests:
    """Looks for known requests in the API server."""

    def __init__(self, live: LiveRequests, loss_events: LossEvents) -> None:
        self._live = live
        self._loss_events = loss_events

    async def answer(self, act: ActInput) -> StepResult | None:
        """The answer for a request that exists or was lost; None: there is neither.

        Raises:
            KubernetesError: the API server could not be asked.

        """
        for request in act.known:
            found = await self._still_there(request)
            if found is not None:
                return StepResult(ActResult.requested(found))
        if all(request.uid in act.settled for request in act.known):
            return None
        return StepResult(ActResult.lost(), await self._loss_events.of(act))

    async def _still_there(self, reference: RequestReference) -> RequestSnapshot | None:
        found = await self._live.find(reference)
        if found is None:
            return None
        return RemediationRequest.model_validate(found).snapshot(reference.api_version, reference.kind)
