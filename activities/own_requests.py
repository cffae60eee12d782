"""OwnRequests: changes the remediation requests of one incident, and no other object (rule 52, ADR 42).

The input of an activity comes through Temporal, where other clients may write. So each request is read right
before it is changed, and the change carries the uid and the resourceVersion of that read. A request is the
incident's own if one of these is true:

- It belongs to the check and names the incident, as each request that `act` makes does.
- The check, as it is read now, owns it by uid. The NodeHealthCheck operator makes such requests.
- The operator of its kind made it for the target, which the check selects, from a template of the check.

Requests of the last two forms are adopted: the incident writes its name on them. Targets, checks and
built-in kinds are never requests, with any annotations.
"""

from pydantic import ValidationError

from activities.attempt import InputRefused
from activities.live_objects import LiveObjects
from activities.live_requests import LiveRequests
from health.kinds.registry import CHECK_KINDS
from health.kinds.request_kinds import why_no_request
from health.model.invalid_check import InvalidCheckError
from health.model.moves import AnnotationPatch
from health.model.references import IncidentReference, RequestReference
from health.model.remediation_request import INCIDENT, RemediationRequest
from health.runbook.escalation import Plan
from health.runbook.task_notes import WRITTEN
from kube.errors import none_if_absent
from kube.resource import Object
from kube.retry_on_conflict import retry_on_conflict
from objects.field_problem import FieldProblem

TRIES = 5
"""Remediators often write to their requests; after this many conflicts the change is tried again later."""


class NotOwn(InputRefused):
    """The object is not a request of the incident."""


class OwnRequests:
    """Finds, deletes and annotates. No method raises NotFound: a request that is gone is None."""

    def __init__(self, live: LiveRequests, objects: LiveObjects) -> None:
        self._live = live
        self._objects = objects

    async def delete(self, reference: RequestReference, incident: IncidentReference) -> Object | None:
        """Delete the request, and return the answer of the API server; None: it is gone.

        Raises:
            NotOwn: nothing was done.
            KubernetesError: it was not deleted, or the result is unknown; Conflict: it changed in each try.

        """

        async def delete_once() -> Object | None:
            found = await self.find(reference, incident)
            return None if found is None else await self._live.delete(reference, _version(found))

        return await retry_on_conflict(delete_once, TRIES)

    async def annotate(self, patch: AnnotationPatch, incident: IncidentReference) -> Object | None:
        """The request with these annotations, without those with the value None; None: it is gone.

        Raises:
            Refusal: nothing was done; the request is another owner's, or we do not write this annotation.
            KubernetesError: it was not written, or the result is unknown; Conflict: it changed in each try.

        """
        if foreign := sorted(patch.annotations.keys() - WRITTEN):
            raise InputRefused(f"requests get no annotation {foreign[0]} from us")
        texts = {**patch.annotations, **({INCIDENT: incident.full_id} if patch.adopts else {})}

        async def annotate_once() -> Object | None:
            found = await self.find(patch.request, incident)
            return None if found is None else await self._live.annotate(patch.request, texts, _version(found))

        return await retry_on_conflict(annotate_once, TRIES)

    async def find(self, reference: RequestReference, incident: IncidentReference) -> Object | None:
        """The request as it is now; None: it is gone.

        Raises:
            NotOwn: the object is not a request of the incident.
            KubernetesError: the API server could not be asked.

        """
        if why := why_no_request(reference.api_version, reference.kind):
            raise NotOwn(f"{reference} is not a request: {why}")
        found = await self._live.find(reference)
        if found is not None and not await self._is_own(found, reference, incident):
            raise NotOwn(f"{reference} is not a request of {incident.workflow_id}")
        return found

    async def _is_own(self, found: Object, reference: RequestReference, incident: IncidentReference) -> bool:
        # Parse only its metadata: an invalid status may be the reason why the detector does not see it.
        request = RemediationRequest.model_validate({"metadata": found["metadata"]})
        kind = CHECK_KINDS[incident.check.group_kind]
        if kind.owner_of(request) == incident.check and request.names(incident):
            return True
        check = await none_if_absent(self._objects.check(incident.check))
        if check is None:
            return False
        if check["metadata"]["uid"] in {owner.uid for owner in request.metadata.owner_references}:
            return request.target_name == incident.target.name
        is_of_operator = kind.is_unsigned_for(request, incident.target)
        return is_of_operator and await self._would_make(check, reference, incident)

    async def _would_make(
        self, raw: Object, reference: RequestReference, incident: IncidentReference
    ) -> bool:
        """True if the check names a template of the request and selects the target.

        Raises:
            Refusal: the check or the target cannot be read.
            KubernetesError: the API server could not be asked; NotFound: the target is gone.

        """
        try:
            check = CHECK_KINDS[incident.check.group_kind].parse(raw)
            if Plan(check.steps).step_of(reference) is None:
                return False
            context = await self._objects.context(check)
            target = await none_if_absent(self._objects.target(incident, context))
        except InvalidCheckError as error:
            raise InputRefused(f"{incident.check} cannot be read: {error}") from error
        except ValidationError as error:
            problem = FieldProblem.of(error)
            raise InputRefused(f"{incident.target} or its context cannot be read: {problem}") from error
        return target is not None and target.metadata.uid == incident.target.uid and check.selects(target)


def _version(found: Object) -> str:
    return str(found["metadata"]["resourceVersion"])
